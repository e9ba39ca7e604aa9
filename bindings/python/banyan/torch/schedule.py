# SPDX-License-Identifier: Apache-2.0
"""Gradients of a DistributedDataParallel model, sent as is best for this model on this network.

DDP sends gradients in buckets of 25 MiB, each when its last gradient has come. The scheduler knows when each gradient
comes and what an all-reduce costs here, and plans which travel together, and how many at a time (docs/training.md).

    autograd ─> DDP's hook: gradient into its bucket ─> our hook: ready(gradient) ─> engine: groups, streams
                └> last gradient of a bucket: our bucket hook ─> last bucket: wait for all ─> DDP goes on

What the engine calls a gradient is a *unit*: neighbours in a bucket, which become ready one after the other, until they
make a MiB together. Single biases would only cost start-ups.

DDP stays in charge of everything else: its buckets hold the gradients (nothing is copied to send them), unused
parameters, no_sync, and what backward raises. The first two iterations go bucket by bucket, while DDP finds the
order of its buckets; then the engine profiles a few and plans twice. After that the plan and DDP's buckets take turns (trial.py). If the
plan is not faster, the schedule steps aside: gradients travel in DDP's buckets, and no hook notes them. If it is, the engine plans again when
ready times have drifted.
"""

import logging
import time

import torch
import torch.distributed as dist

from ..communicator import Communicator
from ..errors import Unsupported
from ..library import check, lib
from ..train import Trainer
from . import readiness
from .exchange import by_group
from .gpu import HostCopies
from .group import find_group
from .tensors import bytes_of, check_tensor, sum_type
from .trial import Trial, judge
from .work import make_future

_PLAIN_ITERATIONS = 2  # DDP arranges its buckets anew after the first
_PROFILE_ITERATIONS = 3  # the engine's default
_PLAN_ITERATIONS = 5  # at least so many has the first plan before the engine makes the second
_UNIT_BYTES = 1 << 20

_log = logging.getLogger("banyan")


def _first_tensor(value):
    """A tensor of a model's output that backward comes through, or None."""
    if isinstance(value, torch.Tensor):
        return value if value.requires_grad else None
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return None
    return next((found for found in map(_first_tensor, value) if found is not None), None)


class _Unit:
    def __init__(self, name, bucket, view):
        self.name = name
        self.bucket = bucket
        self.dtype = view.dtype
        self.datatype, _, parts = sum_type(view, "sum")
        self.width = view.element_size() // parts  # bytes of what is added up
        self.address = view.data_ptr()  # where the gradients lie
        self.bytes = 0
        self.view = view  # the first
        self.flat = self.host = None  # all of them on a GPU, and on the host
        self.engine_address = 0


class Schedule:
    """What `schedule` returns: the engine of one model on this rank."""

    def __init__(self, model, unit_bytes=_UNIT_BYTES, **options):
        self._model = model
        self._unit_bytes = unit_bytes
        asked = {name for name, value in options.items() if value}
        self._options = {**options, "policy": options.get("policy") or "optimal"}
        self._trial = None if asked & {"policy", "cost", "drift"} else Trial()  # what the program asks for is kept
        self._verdict = None
        ignored = set(getattr(model, "parameters_to_ignore", ()))
        named = [
            (name, parameter)
            for name, parameter in model.module.named_parameters()
            if parameter.requires_grad and name not in ignored
        ]
        devices = {check_tensor(parameter).device for _, parameter in named}
        if len(devices) > 1:
            raise Unsupported(f"the model lies on {len(devices)} devices: schedule() takes those on one")
        self._device = devices.pop() if devices else torch.device("cpu")
        self._copies = None  # of a GPU's gradients
        self._names = [name for name, _ in named]
        self._parameters = [parameter for _, parameter in named]
        self._number = {parameter: i for i, parameter in enumerate(self._parameters)}
        self._views = [None] * len(named)  # each gradient in its bucket
        self._bucket = [0] * len(named)  # the number of that bucket
        self._buffers = {}  # where each bucket lies
        self._unit = []  # of each gradient
        self._units = []
        self._size = dist.get_world_size(model.process_group)
        self._is_ours = find_group(model.process_group) is not None
        self._divides_first = False
        self._is_armed = False  # this iteration's gradients are to be sent as planned
        self._takes_buckets = False  # they are not, though there is an engine
        self._begun = None  # (when the forward pass of an iteration of the trial began, the iterations before it)
        self._sent = 0  # iterations of the engine
        self._has_begun = False
        self._iterations = 0
        self._trainer = None
        self._comm = None  # our own, where the model's group is not banyan's
        self._pending = []  # (future to complete, ...) of the iteration's buckets
        self._error = None
        self._reported_plan = 0
        self._install()

    def _install(self):
        model = self._model
        model.register_comm_hook(None, self._on_bucket)
        model.register_forward_pre_hook(self._on_forward)
        model.register_forward_hook(self._on_output)
        self._readiness = readiness.make(self._parameters)

    # What the user may ask.

    @property
    def is_planned(self):
        return self._trainer is not None and self._trainer.stats().plan > 0

    @property
    def is_decided(self):
        """Whether the plan, or DDP's buckets, stay: False until both have been tried."""
        return self._trial is None or self._verdict is not None

    @property
    def verdict(self):
        """trial.Verdict: what an iteration took with the plan and with DDP's buckets; None before both were tried."""
        return self._verdict

    def stats(self):
        """banyan.train.Stats: step, exposed and hidden time, predicted and measured; None while DDP warms up."""
        return self._trainer.stats() if self._trainer is not None else None

    def plan(self):
        """The plan's text form, empty while there is none."""
        return self._trainer.plan() if self._trainer is not None else ""

    def __str__(self):
        stats = self.stats()
        if self._takes_buckets and self._verdict is not None:
            return str(self._verdict)
        return str(stats) if stats else f"{len(self._parameters)} gradients, waiting for DDP's first iterations"

    def close(self):
        """Gives the engine back; the model goes on bucket by bucket."""
        trainer, self._trainer = self._trainer, None
        self._arm(False)
        self._readiness.stop()
        self._trial = self._begun = None
        self._iterations = -(1 << 60)
        if self._copies is not None:
            self._copies.close()
            self._copies = None
        if trainer is not None:
            trainer.close()
        if self._comm is not None:
            self._comm.close()

    # The engine.

    def _start_engine(self):
        group = self._model.process_group
        ours = find_group(group)
        if ours is not None:
            self._trainer = ours.run_in_turn(lambda: self._make_trainer(ours.communicator))
        else:
            size, rank = dist.get_world_size(group), dist.get_rank(group)
            self._comm = Communicator.init_exchange(size, rank, by_group(group))
            self._trainer = self._make_trainer(self._comm)
        self._handle = self._trainer.handle

    def _make_units(self):
        """Neighbours in memory, of one bucket and type. All ranks find the same: DDP's buckets are rank 0's."""
        self._unit, self._units = [0] * len(self._views), []
        for number in sorted(range(len(self._views)), key=lambda i: (self._bucket[i], self._views[i].data_ptr())):
            view = self._views[number]
            unit = self._units[-1] if self._units else None
            if (
                unit is None
                or unit.bytes >= self._unit_bytes
                or unit.bucket != self._bucket[number]
                or unit.dtype != view.dtype
                or unit.address + unit.bytes != view.data_ptr()
            ):
                unit = _Unit(self._names[number], self._bucket[number], view)
                self._units.append(unit)
            unit.bytes += bytes_of(view)
            self._unit[number] = len(self._units) - 1

    def _make_trainer(self, comm):
        self._make_units()
        # Averages are made where sums become whole. Sums of float16 may be too large for that.
        self._divides_first = any(unit.dtype == torch.float16 for unit in self._units)
        trainer = Trainer(comm, op="sum" if self._divides_first else "avg", **self._options)
        for unit in self._units:
            unit.engine_address = unit.address
            if self._device.type == "cuda":
                unit.flat, unit.host = self._host_copies().make(unit.view, unit.bytes // unit.view.element_size())
                unit.engine_address = unit.host.data_ptr()
            trainer.register(unit.name, unit.bytes // unit.width, unit.datatype, unit.engine_address)
        trainer.commit()
        self._readiness.plan(
            self._unit,
            [unit.bucket for unit in self._units],
            [unit.engine_address for unit in self._units],
            trainer.handle.value,
            self._views if self._divides_first else [],
            self._size,
            self._fetch if self._copies is not None else None,
        )
        return trainer

    def _arm(self, is_armed):
        """Whether gradients of this iteration are to be sent."""
        self._is_armed = is_armed
        self._readiness.is_armed = is_armed and self._trainer is not None and self._error is None

    def _fetch(self, unit):
        self._copies.fetch(unit, self._units[unit].flat, self._units[unit].host)

    def _tell_ready(self, unit):
        status = lib.banyan_train_ready(self._handle, unit, self._units[unit].engine_address)
        if status:
            self._fail(status)

    def _host_copies(self):
        if self._copies is None:
            self._copies = HostCopies(self._device, self._tell_ready)
        return self._copies

    def _fail(self, status):
        try:
            check(status, lib.banyan_train_last_error(self._handle))
        except Exception as error:
            self._error = error
        self._readiness.is_armed = False

    # Hooks, in the order in which an iteration meets them.

    def _on_forward(self, _module, _inputs):
        if not torch.is_grad_enabled() or not self._model.training:
            return
        is_armed = bool(self._model.require_backward_grad_sync)
        if is_armed and self._trainer is None and self._iterations >= _PLAIN_ITERATIONS:
            self._start_engine()
        if self._trial is not None and self._trainer is not None:
            self._go_on_with_trial(is_armed)
        self._arm(is_armed and not self._takes_buckets)

    def _go_on_with_trial(self, is_armed):
        """All ranks make as many steps, so all are in the same turn."""
        if self._device.type == "cuda" and self._is_trial_due():
            torch.cuda.synchronize(self._device)  # DDP's buckets keep a stream waiting, not the host
        now = time.perf_counter()
        if self._begun is not None and self._iterations > self._begun[1]:
            self._trial.times.append(now - self._begun[0])
            self._begun = None
        if not is_armed:
            return
        if self._trial.is_over:
            self._decide()
        elif self._is_trial_due():
            self._takes_buckets = self._trial.takes_buckets
            self._begun = (now, self._iterations)

    def _is_trial_due(self):
        profiled = self._options.get("profile_iterations") or _PROFILE_ITERATIONS
        return self._sent > profiled + 1 + max(profiled, _PLAN_ITERATIONS) + 1

    def _decide(self):
        times = torch.tensor(self._trial.times, dtype=torch.float64, device=self._device)
        dist.all_reduce(times, group=self._model.process_group)
        self._verdict = judge((times / self._size).tolist())
        self._trial = None
        self._takes_buckets = not self._verdict.is_plan_faster
        if self._takes_buckets:
            self._readiness.stop()
        _log.info("%s", self._verdict)

    def _on_output(self, _module, _inputs, output):
        if self._is_armed and self._trainer is not None:
            tensor = _first_tensor(output)
            if tensor is not None:
                tensor.register_hook(self._on_backward)

    def _on_backward(self, _gradient):
        if self._is_armed and not self._has_begun and self._trainer is not None:
            self._has_begun = True
            status = lib.banyan_train_begin(self._handle)
            if status:
                self._fail(status)

    def _on_bucket(self, _state, bucket):
        if self._trainer is None or self._takes_buckets:
            return self._reduce_plainly(bucket)
        index = bucket.index()
        if bucket.buffer().data_ptr() != self._buffers[index] and self._error is None:
            self._error = Unsupported(f"DDP has moved bucket {index} of its gradients: schedule the model anew")
            self._readiness.is_armed = False
        if self._readiness.missing(index) and self._error is None:  # of parameters that were not used
            for parameter in bucket.parameters():
                self._readiness.note(self._number[parameter])
        future = self._future_of(bucket.buffer())
        if bucket.is_last():
            self._finish()
        return future

    def _reduce_plainly(self, bucket):
        if self._trainer is None and self._iterations >= 0:  # it has not been closed
            self._note_places(bucket)
        if bucket.is_last():
            self._iterations += 1
            self._arm(False)
        buffer, group = bucket.buffer(), self._model.process_group
        if self._is_ours and buffer.dtype != torch.float16:  # whose sums may be too large
            op = dist.ReduceOp.AVG
        else:
            op = dist.ReduceOp.SUM
            buffer.div_(self._size)
        work = dist.all_reduce(buffer, op=op, group=group, async_op=True)
        return work.get_future().then(lambda future: future.value()[0])

    def _note_places(self, bucket):
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients()):
            self._views[self._number[parameter]] = gradient
            self._bucket[self._number[parameter]] = bucket.index()
        self._buffers[bucket.index()] = bucket.buffer().data_ptr()

    def _future_of(self, buffer):
        """For DDP, which looks at it at the end of backward. Errors are raised in its callback, for DDP's C++ takes
        an exception that is set as a result for a value."""
        begun = make_future(buffer)

        def give(_):
            if self._raised is not None:
                raise self._raised
            return buffer

        self._pending.append(begun)
        return begun.then(give)

    def _finish(self):
        """Backward is over: waits for all gradients."""
        if self._copies is not None:
            self._copies.wait_until_all_are_ready()
        if self._error is None:
            status = self._readiness.status or lib.banyan_train_wait_all(self._handle)
            if status:
                self._fail(status)
        if self._error is None and self._copies is not None:
            self._copies.give_back([(unit.flat, unit.host) for unit in self._units])
        self._raised = self._error
        pending, self._pending = self._pending, []
        self._readiness.reset()
        self._arm(False)
        self._has_begun = False
        self._iterations += 1
        self._sent += 1
        for future in pending:
            future.set_result(None)
        self._report()

    def _report(self):
        if self._error is None and _log.isEnabledFor(logging.INFO):
            stats = self._trainer.stats()
            if stats.plan != self._reported_plan and stats.iterations % 8 == 0:
                self._reported_plan = stats.plan
                _log.info("%s", stats)


def schedule(model, **options):
    """Sends the gradients of this DistributedDataParallel model as planned for it and for this network. Call it once,
    on every rank, before training. The model's process group may be banyan's or another one; the model lies on the CPU or on one GPU.

    unit_bytes: smaller gradients travel with their neighbours. options: policy, cost, streams, profile_iterations, measure_ms, drift (banyan.Trainer); with one of policy, cost
    and drift DDP's buckets are not tried. Returns a Schedule, whose stats() tell the hidden share of the communication, and what was predicted and measured; its verdict, what
    an iteration takes with the plan and with DDP's buckets."""
    if not isinstance(model, torch.nn.parallel.DistributedDataParallel):
        raise TypeError("schedule() takes a DistributedDataParallel model")
    return Schedule(model, **options)
