# SPDX-License-Identifier: Apache-2.0
"""libbanyan.so: where it is, and what its functions take. Nothing is compiled; this is `banyan/banyan.h` in the
words of ctypes.

The library is looked for, in this order: the file BANYAN_LIBRARY; beside this package (a wheel may carry it); the
prefix that this package is installed in; the build folder of the source tree that this package lies in; wherever
the system's loader finds it.
"""

import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

from .errors import Unsupported, VersionMismatch, error_of

VERSION = (0, 2)  # of the header that this file follows; minor versions may differ in what they have

DATATYPES = {
    "int8": 0,
    "uint8": 1,
    "int32": 2,
    "uint32": 3,
    "int64": 4,
    "uint64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "bfloat16": 9,
}
BYTES = {"int8": 1, "uint8": 1, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4}  # others: 8
OPS = {"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4}

AllgatherFunction = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
DoneFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_int)


class UniqueId(Structure):
    _fields_ = [("bytes", c_char * 128)]


class Config(Structure):
    """banyan_config."""

    MAGIC = 0xBA27A200
    _fields_ = [
        ("size", c_size_t),
        ("magic", c_uint),
        ("version", c_uint),
        ("topology", c_char_p),
        ("active", c_char_p),
        ("algorithm", c_char_p),
        ("timeout_ms", c_int),
        ("slice_bytes", c_size_t),
        ("error", c_void_p),
        ("error_bytes", c_size_t),
        ("transport", c_char_p),
        ("relays", c_char_p),
        ("shrink", c_char_p),
        ("learn", c_char_p),
    ]


class TrainConfig(Structure):
    """banyan_train_config."""

    MAGIC = 0xBA27A201
    _fields_ = [
        ("size", c_size_t),
        ("magic", c_uint),
        ("version", c_uint),
        ("op", c_int),
        ("policy", c_char_p),
        ("cost", c_char_p),
        ("streams", c_int),
        ("profile_iterations", c_int),
        ("measure_ms", c_int),
        ("drift", c_double),
        ("unused", c_int),
        ("done", DoneFunction),
        ("context", c_void_p),
        ("error", c_void_p),
        ("error_bytes", c_size_t),
    ]


class TrainStats(Structure):
    """banyan_train_stats."""

    _fields_ = [
        ("size", c_size_t),
        ("tensors", c_int),
        ("plan", c_int),
        ("streams", c_int),
        ("groups", c_int),
        ("iterations", c_uint64),
        ("other_s", c_double),
        ("predicted_step_s", c_double),
        ("measured_step_s", c_double),
        ("predicted_exposed_s", c_double),
        ("measured_exposed_s", c_double),
        ("measured_comm_s", c_double),
        ("hidden_share", c_double),
        ("bound_s", c_double),
        ("drift", c_double),
        ("start_s", c_double),
        ("s_per_byte", c_double),
        ("speed", c_double * 9),
        ("planning_s", c_double),
        ("digest", c_uint64),
    ]


_COMM_OUT = POINTER(c_void_p)
_CONFIG = POINTER(Config)

# name: result, arguments. Statuses are plain integers.
_FUNCTIONS = {
    "banyan_version": (c_int,),
    "banyan_status_string": (c_char_p, c_int),
    "banyan_comm_init_all": (c_int, _COMM_OUT, c_int, _CONFIG),
    "banyan_get_unique_id": (c_int, POINTER(UniqueId)),
    "banyan_release_unique_id": (c_int, POINTER(UniqueId)),
    "banyan_comm_init_rank": (c_int, _COMM_OUT, c_int, UniqueId, c_int, _CONFIG),
    "banyan_comm_init_env": (c_int, _COMM_OUT, _CONFIG),
    "banyan_comm_init_exchange": (c_int, _COMM_OUT, c_int, c_int, AllgatherFunction, c_void_p, _CONFIG),
    "banyan_comm_split": (c_int, c_void_p, c_int, c_int, _COMM_OUT, _CONFIG),
    "banyan_comm_shrink": (c_int, c_void_p, POINTER(c_int), c_int, _COMM_OUT, _CONFIG),
    "banyan_comm_grow": (c_int, c_void_p, c_int, UniqueId, c_int, _COMM_OUT, _CONFIG),
    "banyan_comm_destroy": (c_int, c_void_p),
    "banyan_comm_abort": (c_int, c_void_p),
    "banyan_comm_set_timeout": (c_int, c_void_p, c_int),
    "banyan_comm_get_async_error": (c_int, c_void_p, POINTER(c_int)),
    "banyan_comm_rank": (c_int, c_void_p, POINTER(c_int)),
    "banyan_comm_size": (c_int, c_void_p, POINTER(c_int)),
    "banyan_last_error": (c_char_p, c_void_p),
    "banyan_allreduce": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p),
    "banyan_reduce_scatter": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p),
    "banyan_all_gather": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_void_p),
    "banyan_broadcast": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p),
    "banyan_reduce": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_int, c_void_p),
    "banyan_gather": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p),
    "banyan_scatter": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p),
    "banyan_all_to_all": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_void_p),
    "banyan_barrier": (c_int, c_void_p),
    "banyan_barrier_before": (c_int, c_void_p, c_int),
    "banyan_mem_alloc_on": (c_int, POINTER(c_void_p), c_size_t, c_int),
    "banyan_mem_free_on": (c_int, c_void_p, c_int),
    "banyan_allreduce_on": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_int, c_void_p),
    "banyan_broadcast_on": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_int, c_void_p),
    "banyan_reduce_on": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_int, c_void_p, c_int, c_void_p),
    "banyan_reduce_scatter_on": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_int, c_void_p),
    "banyan_all_gather_on": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_void_p, c_int, c_void_p),
    "banyan_gather_on": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_int, c_void_p),
    "banyan_scatter_on": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, c_int, c_void_p),
    "banyan_all_to_all_on": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_void_p, c_int, c_void_p),
    "banyan_mem_alloc": (c_int, POINTER(c_void_p), c_size_t),
    "banyan_mem_free": (c_int, c_void_p),
    "banyan_allreduce_async": (c_int, c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p, _COMM_OUT),
    "banyan_request_test": (c_int, c_void_p),
    "banyan_request_wait": (c_int, c_void_p, c_int),
    "banyan_request_free": (None, c_void_p),
    "banyan_train_create": (c_int, _COMM_OUT, c_void_p, POINTER(TrainConfig)),
    "banyan_train_register": (c_int, c_void_p, c_char_p, c_void_p, c_size_t, c_int, POINTER(c_int)),
    "banyan_train_commit": (c_int, c_void_p),
    "banyan_train_begin": (c_int, c_void_p),
    "banyan_train_ready": (c_int, c_void_p, c_int, c_void_p),
    "banyan_train_test": (c_int, c_void_p, c_int),
    "banyan_train_wait": (c_int, c_void_p, c_int, c_int),
    "banyan_train_wait_all": (c_int, c_void_p),
    "banyan_train_replan": (c_int, c_void_p),
    "banyan_train_abort": (c_int, c_void_p),
    "banyan_train_get_stats": (c_int, c_void_p, POINTER(TrainStats)),
    "banyan_train_get_plan": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_size_t)),
    "banyan_train_last_error": (c_char_p, c_void_p),
    "banyan_train_destroy": (c_int, c_void_p),
}


def candidates():
    """The places where the library may be, best first; the last is left to the system's loader."""
    if os.environ.get("BANYAN_LIBRARY"):
        return [os.environ["BANYAN_LIBRARY"]]
    found = []
    file = Path(__file__).absolute()
    for here in (file.parent, file.resolve().parent):  # a folder of links is asked before what they lead to
        found.append(here / "libbanyan.so.0")
        for prefix in here.parents:
            if (prefix / "bin" / "banyan").exists():  # what `make install` made
                found += sorted(prefix.glob("lib*/libbanyan.so.0")) + sorted(prefix.glob("lib/*/libbanyan.so.0"))
            if (prefix / "CMakeCache.txt").exists():  # a build folder
                found.append(prefix / "libbanyan.so.0")
            if (prefix / "CMakePresets.json").exists():  # the source tree
                found += [prefix / "build" / preset / "libbanyan.so.0" for preset in ("release", "dev")]
    return [str(path) for path in found if path.exists()] + ["libbanyan.so.0"]


def _open():
    problems = []
    for path in candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as problem:
            problems.append(str(problem))
    raise ImportError(
        "libbanyan.so was not found; install Banyan (make install), or set BANYAN_LIBRARY to the file: "
        + "; ".join(problems)
    )


def declare(functions):
    """Tells ctypes what the functions give and take: name: (result, arguments...)."""
    for name, (result, *arguments) in functions.items():
        function = getattr(lib, name, None)
        if function is None:
            setattr(lib, name, _missing(lib._name, name))
        else:
            function.restype = result
            function.argtypes = arguments


def _missing(library, name):
    def function(*_):
        raise Unsupported(f"{library} has no {name}: it is older than this package")

    return function


lib = _open()
declare(_FUNCTIONS)
version_code = lib.banyan_version()
if (version_code // 10000, version_code // 100 % 100) != VERSION:
    raise VersionMismatch(
        f"this package follows version {VERSION[0]}.{VERSION[1]} of the library, "
        f"but {lib._name} is {version_code // 10000}.{version_code // 100 % 100}"
    )


def check(status, sentence=b""):
    """Raises what the status says."""
    if status:
        text = (sentence or lib.banyan_status_string(status)).decode("utf-8", "replace")
        raise error_of(status, text)


def _text(value):
    return None if value is None else str(value).encode()


class ConfigHolder:
    """A banyan_config, with the memory that it points to."""

    def __init__(self, topology=None, active=None, algorithm=None, timeout=None, slice_bytes=0, shrink=None):
        self.sentence = ctypes.create_string_buffer(512)
        if active is not None and not isinstance(active, str):
            active = ",".join(str(worker) for worker in active)
        self.config = Config(
            ctypes.sizeof(Config),
            Config.MAGIC,
            version_code,
            _text(topology),
            _text(active),
            _text(algorithm),
            milliseconds(timeout),
            slice_bytes,
            ctypes.cast(self.sentence, c_void_p),
            len(self.sentence),
            None,
            None,
            _text(shrink),
        )

    def check(self, status):
        check(status, self.sentence.value)


def milliseconds(timeout):
    """Seconds, a timedelta or None (the library's default)."""
    if timeout is None:
        return 0
    seconds = timeout.total_seconds() if hasattr(timeout, "total_seconds") else float(timeout)
    return max(1, min(int(seconds * 1000), 2**31 - 1))


__all__ = [
    "AllgatherFunction",
    "BYTES",
    "ConfigHolder",
    "DATATYPES",
    "DoneFunction",
    "OPS",
    "TrainConfig",
    "TrainStats",
    "UniqueId",
    "byref",
    "check",
    "declare",
    "lib",
    "milliseconds",
    "version_code",
]
