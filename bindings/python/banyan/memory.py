# SPDX-License-Identifier: Apache-2.0
"""Arrays in memory that the ranks of a host reach in place.

    gradient = banyan.empty(1 << 20)             # float32, zeros at first
    comm.allreduce(gradient, out=gradient)       # nothing is copied from process to process
"""

import ctypes
import math
import weakref

from .library import byref, check, lib


def empty(shape, dtype="float32"):
    """A new NumPy array. Its memory lives as long as the array and its views; make few large ones rather than many small."""
    import numpy

    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = math.prod(shape) * numpy.dtype(dtype).itemsize
    address = ctypes.c_void_p()
    check(lib.banyan_mem_alloc(byref(address), size))
    holder = (ctypes.c_char * max(size, 1)).from_address(address.value)
    weakref.finalize(holder, lib.banyan_mem_free, address).atexit = False  # the system has it back by then
    return numpy.frombuffer(holder, dtype, math.prod(shape)).reshape(shape)
