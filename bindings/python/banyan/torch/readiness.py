# SPDX-License-Identifier: Apache-2.0
"""Which gradients of an iteration are there. A hook of autograd notes each, behind DDP's own, and whoever notes the last one of a unit
tells the engine.

A hook in Python costs some microseconds for each gradient, which is what large models of small tensors feel; the C++ backend, where
it has been built, has the same class (backend.cpp).
"""

import ctypes

from ..library import lib
from . import native


class Readiness:
    """Of the gradients of these parameters, by their numbers."""

    def __init__(self, parameters):
        self.is_armed = False  # hooks note what they see
        self.status = 0  # of the first unit that the engine did not take
        self._unit_of = []
        # The node that adds to .grad; DDP's hook was there first.
        self._nodes = [parameter.expand_as(parameter).grad_fn.next_functions[0][0] for parameter in parameters]
        self._hooks = [node.register_hook(lambda *_, number=number: self._see(number)) for number, node in enumerate(self._nodes)]

    def plan(self, unit_of, bucket_of, addresses, handle, divided, divisor, fetch):
        """unit_of: by gradient; bucket_of, addresses: by unit, where the engine finds it. handle: the engine. divided: tensors to divide by
        the divisor as they come, or []. fetch(unit) is called instead of telling the engine, where it is not None."""
        self._unit_of, self._bucket_of, self._addresses = unit_of, bucket_of, addresses
        self._handle, self._divided, self._divisor, self._fetch = handle, divided, divisor, fetch
        self.reset()

    def stop(self):
        """Nothing is noted any more."""
        self.is_armed = False
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self.plan([], [], [], 0, [], 1, None)

    def reset(self):
        """None is there."""
        self._is_there = bytearray(len(self._unit_of))
        self._missing = [0] * len(self._bucket_of)
        self._in_bucket = [0] * (max(self._bucket_of, default=-1) + 1)
        for unit in self._unit_of:
            self._missing[unit] += 1
            self._in_bucket[self._bucket_of[unit]] += 1

    def missing(self, bucket):
        """How many gradients of the bucket are not there."""
        return self._in_bucket[bucket]

    def _see(self, number):
        if self.is_armed:
            self.note(number)

    def note(self, number):
        if self._is_there[number] or self.status:
            return
        self._is_there[number] = 1
        if self._divided:
            self._divided[number].div_(self._divisor)
        unit = self._unit_of[number]
        self._missing[unit] -= 1
        self._in_bucket[self._bucket_of[unit]] -= 1
        if self._missing[unit]:
            return
        if self._fetch is not None:
            self._fetch(unit)
        else:
            self.status = lib.banyan_train_ready(self._handle, unit, self._addresses[unit])


def make(parameters):
    module = native.module()
    if module is None:
        return Readiness(parameters)
    return module.Readiness(list(parameters), ctypes.cast(lib.banyan_train_ready, ctypes.c_void_p).value)
