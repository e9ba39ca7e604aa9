# SPDX-License-Identifier: Apache-2.0
"""Gradients that travel while backward still computes, planned for this model on this network: banyan_train_*.

    trainer = banyan.Trainer(comm)
    for name, gradient in gradients.items():
        trainer.register(name, gradient.size, "float32")
    trainer.commit()                                   # compares the ranks' lists, measures the network
    for step in range(steps):
        trainer.begin()                                # backward begins
        trainer.ready(number, gradient.ctypes.data)    # each as it comes, from any thread
        trainer.wait()                                 # all are averages now

`banyan.torch.schedule` does this for a DistributedDataParallel model.
"""

import ctypes
import dataclasses

from .communicator import number_of
from .errors import InvalidArgument
from .library import DATATYPES, OPS, DoneFunction, TrainConfig, TrainStats, byref, check, lib, version_code


@dataclasses.dataclass
class Stats:
    """Seconds; predicted ones are the plan's, measured ones this rank's medians since the plan was made."""

    plan: int  # 0 while profiling, then 1, 2, ...
    tensors: int
    groups: int
    streams: int
    iterations: int
    other_s: float
    predicted_step_s: float
    measured_step_s: float
    predicted_exposed_s: float
    measured_exposed_s: float
    measured_comm_s: float
    hidden_share: float
    bound_s: float
    drift: float
    start_s: float
    s_per_byte: float
    planning_s: float
    digest: int

    def __str__(self):
        if not self.plan:
            return f"{self.tensors} gradients, being profiled"
        count = "1 all-reduce" if self.groups == 1 else f"{self.groups} all-reduces, {self.streams} at a time"
        sent = f"{self.tensors} gradient{'' if self.tensors == 1 else 's'} sent in {count}"
        if not self.measured_step_s:
            return f"step {self.predicted_step_s:.3f} s predicted, of which {self.predicted_exposed_s:.3f} s exposed; {sent}; a new plan"
        return (
            f"step {self.measured_step_s:.3f} s (predicted {self.predicted_step_s:.3f}), of which {self.measured_exposed_s:.3f} s exposed "
            f"(predicted {self.predicted_exposed_s:.3f}), {100 * self.hidden_share:.0f} % of the communication hidden; {sent}"
        )


class Trainer:
    """One rank's engine. comm may be closed after commit."""

    def __init__(
        self,
        comm,
        op="avg",
        policy=None,
        cost=None,
        streams=0,
        profile_iterations=0,
        measure_ms=0,
        drift=0.0,
        unused_as_zeros=False,
    ):
        sentence = ctypes.create_string_buffer(512)
        config = TrainConfig(
            ctypes.sizeof(TrainConfig),
            TrainConfig.MAGIC,
            version_code,
            number_of(OPS, op, "op"),
            policy.encode() if policy else None,
            cost.encode() if cost else None,
            streams,
            profile_iterations,
            measure_ms,
            drift,
            int(unused_as_zeros),
            DoneFunction(),
            None,
            ctypes.cast(sentence, ctypes.c_void_p),
            len(sentence),
        )
        self._handle = None
        handle = ctypes.c_void_p()
        check(lib.banyan_train_create(byref(handle), comm.handle, byref(config)), sentence.value)
        self._handle = handle
        self.ready_at = lib.banyan_train_ready  # for callers that count microseconds

    @property
    def handle(self):
        if self._handle is None:
            raise InvalidArgument("the trainer is closed")
        return self._handle

    def _check(self, status):
        if status:
            check(status, lib.banyan_train_last_error(self._handle))

    def register(self, name, count, datatype, address=None):
        """One gradient; its number. The address may also come with ready."""
        number = ctypes.c_int()
        kind = number_of(DATATYPES, datatype, "datatype")
        self._check(
            lib.banyan_train_register(self.handle, name.encode() if name else None, address, count, kind, byref(number))
        )
        return number.value

    def commit(self):
        """Every rank calls it once."""
        self._check(lib.banyan_train_commit(self.handle))

    def begin(self):
        self._check(lib.banyan_train_begin(self.handle))

    def ready(self, number, address=None):
        """The gradient has its value; do not touch its memory until it is reduced."""
        self._check(lib.banyan_train_ready(self.handle, number, address))

    def done(self, number):
        """Whether this gradient has been reduced in this iteration."""
        status = lib.banyan_train_test(self.handle, number)
        if status == 7:
            return False
        self._check(status)
        return True

    def wait(self, number=None, timeout=None):
        """For one gradient, at most that many seconds (TimeoutError), or for all, which ends the iteration."""
        if number is None:
            self._check(lib.banyan_train_wait_all(self.handle))
        else:
            status = lib.banyan_train_wait(self.handle, number, -1 if timeout is None else int(timeout * 1000))
            if status == 7:
                raise TimeoutError(f"gradient {number} is not reduced after {timeout} s")
            self._check(status)

    def replan(self):
        self._check(lib.banyan_train_replan(self.handle))

    def abort(self):
        self._check(lib.banyan_train_abort(self.handle))

    def stats(self):
        raw = TrainStats(size=ctypes.sizeof(TrainStats))
        self._check(lib.banyan_train_get_stats(self.handle, byref(raw)))
        return Stats(**{field.name: getattr(raw, field.name) for field in dataclasses.fields(Stats)})

    def plan(self):
        """The plan as JSON text (banyan-grouping(5)); empty while there is none."""
        needed = ctypes.c_size_t()
        text = ctypes.create_string_buffer(1)
        lib.banyan_train_get_plan(self.handle, None, 0, byref(needed))
        while needed.value > len(text):  # again where a longer one has been made in between
            text = ctypes.create_string_buffer(needed.value)
            status = lib.banyan_train_get_plan(self.handle, text, len(text), byref(needed))
            if needed.value <= len(text):
                self._check(status)
        return text.value.decode()

    def close(self):
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.banyan_train_destroy(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:
            pass
