# SPDX-License-Identifier: Apache-2.0
"""Networks, bounds, plans, proofs and predictions: `banyan/plan.h` for NumPy.

    plan = banyan.plan("hosts:2+3", bytes=64 << 20)
    best = banyan.bound("hosts:2+3")
    print(plan.algorithm, plan.predicted_s, plan.share_of_bound, best.allreduce_bytes_per_s)
    transfers = plan.schedule.transfers               # a dict of NumPy arrays: round, src, dst, ...

Values come as Python numbers and NumPy arrays out of the library's memory; no text is parsed. Objects do not change
once they are made, and threads may share them.
"""

import ctypes
import functools
import operator
import os
import re
import weakref
from ctypes import byref, c_char_p, c_double, c_int, c_int64, c_void_p

from . import plan_library as _c
from .errors import InvalidArgument, Unsupported
from .library import lib

_MAX_BYTES = 1 << 53
_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    _UNITS |= {_letter: 1024**_power, _letter + "ib": 1024**_power, _letter + "b": 1000**_power}
_BOUNDED = ("allreduce", "allgather", "reducescatter")


class _Handle:
    """A handle of the library, given back when the object is."""

    _destroy = None

    def __init__(self, handle):
        self._handle = handle
        weakref.finalize(self, getattr(lib, self._destroy), handle)

    def _info(self, kind):
        info = kind(ctypes.sizeof(kind))
        _call(getattr(lib, kind.FUNCTION), self._handle, byref(info))
        return info

    @staticmethod
    def _make(function, *arguments):
        out = c_void_p()
        _call(function, *arguments, byref(out))
        return c_void_p(out.value)


def _call(function, *arguments):
    """Calls with a place for the sentence, and raises it."""
    error = _c.PlanError()
    _c.check(function(*arguments, byref(error)), error.text)


def _text(value):
    if isinstance(value, os.PathLike):
        return os.fsencode(value)
    return None if value is None else str(value).encode()


def _decode(value):
    return None if value is None else value.decode("utf-8", "replace")


def _take_text(function, *arguments):
    """A text that the library made for us."""
    out = c_void_p()
    _call(function, *arguments, byref(out))
    try:
        return ctypes.string_at(out).decode("utf-8", "replace")
    finally:
        lib.banyan_free(out)


def _arrays(kind, size_of, fields):
    """A struct of pointers, and the NumPy arrays that the named ones point to."""
    import numpy

    types = {c_int: numpy.intc, c_int64: numpy.int64, c_double: numpy.float64}
    struct, arrays = kind(ctypes.sizeof(kind)), {}
    for name, pointer in kind._fields_[1:]:
        if name in fields:
            arrays[name] = numpy.empty(size_of(name), types[pointer._type_])
            setattr(struct, name, arrays[name].ctypes.data_as(pointer))
    return struct, arrays


def _read_size(text):
    """As the command line does: "64KiB", "1.5M", "4 GB"; a small b stands for bits, which no size is in."""
    found = re.fullmatch(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?) *(\w*)", text, re.ASCII)
    if not found or found[2].lower() not in _UNITS or (len(found[2]) > 1 and found[2].endswith("b")):
        raise ValueError
    size = float(found[1]) * _UNITS[found[2].lower()]
    if not size.is_integer():
        raise ValueError
    return int(size)


def _bytes(value, least):
    """A whole number of bytes, or a text that means one."""
    try:
        size = _read_size(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        sentence = f"{value!r} is not a size in bytes (such as 4096, '128KiB', '64M', '1GiB')"
        raise InvalidArgument(sentence) from None
    if not least <= size <= _MAX_BYTES:
        raise InvalidArgument(f"a vector of {size} bytes is not from {least} to {_MAX_BYTES}")
    return size


def _size(bytes):
    """The same, where None is the library's default."""
    return 0 if bytes is None else _bytes(bytes, 1)


def _workers(active):
    return active if active is None or isinstance(active, str) else ",".join(str(worker) for worker in active)


class Topology(_Handle):
    """A network: `Topology("hosts:2+3,gbps=10")`, `Topology("cluster.json")`, or by one of the class methods."""

    _destroy = "banyan_topology_destroy"

    def __init__(self, spec):
        handle = spec if isinstance(spec, c_void_p) else self._make(lib.banyan_topology_load, _text(spec))
        super().__init__(handle)
        info = self._info(_c.TopologyInfo)
        self.name = _decode(info.name)
        self.node_count, self.worker_count = info.node_count, info.worker_count
        self.host_count, self.link_count = info.host_count, info.link_count
        self.slowest_bytes_per_s = info.slowest_bytes_per_s
        self.fastest_bytes_per_s = info.fastest_bytes_per_s
        self.digest = _decode(info.digest)

    @classmethod
    def generate(cls, spec):
        """From a generator only; no file is looked for."""
        return cls(cls._make(lib.banyan_topology_generate, _text(spec)))

    @classmethod
    def read(cls, path, form):
        """From a file in one form: json, nccl, matrix, slurm or smi."""
        return cls(cls._make(lib.banyan_topology_import, _text(path), _text(form)))

    @classmethod
    def discover(cls):
        """This machine."""
        return cls(cls._make(lib.banyan_topology_discover))

    def damage(self, damage):
        """A copy with lost and slower links: "down=g0-g1,degrade=h0-net:0.5"."""
        return Topology(self._make(lib.banyan_topology_damage, self._handle, _text(damage)))

    def check(self, active=None):
        """How many active workers there are; raises unless they all reach one another."""
        count = c_int()
        _call(lib.banyan_topology_check, self._handle, _text(_workers(active)), byref(count))
        return count.value

    def export(self, format="json"):
        """As text: json, text (a drawing), dot or svg."""
        return _take_text(lib.banyan_topology_export, self._handle, _text(format))

    def save(self, path):
        _call(lib.banyan_topology_save, self._handle, _text(path))

    def _read(self, *fields):
        size_of = {"n": self.node_count, "l": self.link_count}
        struct, arrays = _arrays(_c.TopologyArrays, lambda name: size_of[name[0]], fields)
        _call(lib.banyan_topology_get_arrays, self._handle, byref(struct))
        return arrays

    @property
    def links(self):
        """A dict of arrays, one entry per link: src, dst, bytes_per_s, latency_s."""
        arrays = self._read("link_src", "link_dst", "link_bytes_per_s", "link_latency_s")
        return {name[len("link_") :]: array for name, array in arrays.items()}

    @property
    def nodes(self):
        """A dict of arrays, one entry per node: is_switch, host (-1: none)."""
        arrays = self._read("node_is_switch", "node_host")
        return {name[len("node_") :]: array for name, array in arrays.items()}

    @property
    def node_names(self):
        return [_decode(lib.banyan_topology_node_name(self._handle, node)) for node in range(self.node_count)]

    def bound(self, **config):
        return bound(self, **config)

    def plan(self, **config):
        return plan(self, **config)

    def compare(self, **config):
        return compare(self, **config)

    def __repr__(self):
        return f"<banyan.Topology {self.name}: {self.worker_count} workers, {self.link_count} links>"


class Bounds(_Handle):
    """The best possible rates on a network, in bytes of vector per second, and their certificates as JSON."""

    _destroy = "banyan_bounds_destroy"

    def __init__(self, handle):
        super().__init__(handle)
        info = self._info(_c.BoundsInfo)
        self.active_count, self.bytes = info.active_count, info.bytes
        self.allreduce_bytes_per_s = info.allreduce_bytes_per_s
        self.allgather_bytes_per_s = info.allgather_bytes_per_s
        self.reducescatter_bytes_per_s = info.reducescatter_bytes_per_s
        self.stages_bytes_per_s, self.reached_share = info.stages_bytes_per_s, info.reached_share
        self.is_proven = bool(info.is_proven)
        self.allreduce_is_tight = bool(info.allreduce_is_tight)
        self.allgather_is_tight = bool(info.allgather_is_tight)
        self.reducescatter_is_tight = bool(info.reducescatter_is_tight)
        self.explanation, self.json = _decode(info.explanation), _decode(info.json)

    def save(self, path):
        _call(lib.banyan_bounds_save, self._handle, _text(path))


class Schedule(_Handle):
    """Transfers of pieces between nodes: `plan.schedule`, or `Schedule.load("plan.json")`."""

    _destroy = "banyan_schedule_destroy"

    def __init__(self, handle, owner=None):
        self._owner = owner  # a plan's schedule lives as long as the plan
        if owner is None:
            super().__init__(handle)
        self._handle = handle
        info = self._info(_c.ScheduleInfo)
        self.collective, self.algorithm = _decode(info.collective), _decode(info.algorithm)
        self.topology, self.digest = _decode(info.topology), _decode(info.digest)
        self.node_count, self.active_count, self.root = info.node_count, info.active_count, info.root
        self.transfer_count, self.round_count = info.transfer_count, info.round_count
        self.flow_count, self.piece_count = info.flow_count, info.piece_count
        self._route_count, self._route_link_count = info.route_count, info.route_link_count

    @classmethod
    def load(cls, path, topology=None):
        """From a file: JSON, MSCCL XML or TE-CCL's form, which is read for the topology where one is given."""
        if topology is None:
            return cls(cls._make(lib.banyan_schedule_load, _text(path)))
        network = _topology(topology)  # lives until the call is over
        return cls(cls._make(lib.banyan_schedule_load_on, _text(path), network._handle))

    def save(self, path):
        _call(lib.banyan_schedule_save, self._handle, _text(path))

    def _read(self, *fields):
        sizes = {
            "cut": self.piece_count + 1,
            "owner": self.piece_count,
            "active": self.active_count,
            "route_first": self._route_count + 1,
            "route_link": self._route_link_count,
        }
        struct, arrays = _arrays(_c.ScheduleArrays, lambda name: sizes.get(name, self.transfer_count), fields)
        _call(lib.banyan_schedule_get_arrays, self._handle, byref(struct))
        return arrays

    @property
    def transfers(self):
        """A dict of arrays with one entry per transfer: round, src, dst, first_piece, piece_count, is_copy, flow,
        route."""
        return self._read("round", "src", "dst", "first_piece", "piece_count", "is_copy", "flow", "route")

    @property
    def cut(self):
        """Piece p is the share cut[p] / cut[-1] to cut[p + 1] / cut[-1] of the vector."""
        return self._read("cut")["cut"]

    @property
    def owner(self):
        """The rank whose piece it is, in reduce-scatter and all-gather; else -1."""
        return self._read("owner")["owner"]

    @property
    def active(self):
        """The node of each rank."""
        return self._read("active")["active"]

    @property
    def routes(self):
        """Arrays of links, one for each route that transfers name."""
        arrays = self._read("route_first", "route_link")
        first = arrays["route_first"]
        return [arrays["route_link"][first[i] : first[i + 1]] for i in range(self._route_count)]

    def verify(self, topology=None):
        """A Verdict; on a network its links and switches are looked at, too."""
        network = None if topology is None else _topology(topology)
        handle = network._handle if network else None
        return Verdict(self._make(lib.banyan_schedule_verify, self._handle, handle))

    def predict(self, topology, bytes, model=None, **options):
        """A Prediction; 0 bytes: of latencies alone. Options: slice_bytes, service, lockstep, overhead_s, reduce_bytes_per_s, flow, flit."""
        config = _c.PredictConfig.begin()
        config.model = _text(model)
        config.slice_bytes = options.pop("slice_bytes", 0)
        config.service = _text(options.pop("service", None))
        config.flow, config.flit = _text(options.pop("flow", None)), _text(options.pop("flit", None))
        config.is_lockstep = bool(options.pop("lockstep", False))
        config.overhead_s = options.pop("overhead_s", 0)
        config.reduce_bytes_per_s = options.pop("reduce_bytes_per_s", 0)
        if options:
            raise TypeError(f"predict() has no option {next(iter(options))!r}")
        network = _topology(topology)
        arguments = (self._handle, network._handle, _bytes(bytes, 0), byref(config))
        return Prediction(self._make(lib.banyan_schedule_predict, *arguments))

    def export(self, format="json", topology=None, bytes=None, max_steps=0, prediction=None):
        """As text: json, msccl, mscclpp, dot, trace, tables or text."""
        config = _c.ExportConfig.begin()
        config.bytes, config.max_steps = _size(bytes), max_steps
        config.prediction = None if prediction is None else prediction._handle
        network = None if topology is None else _topology(topology)
        handle = network._handle if network else None
        return _take_text(lib.banyan_schedule_export, self._handle, handle, _text(format), byref(config))

    def save_chakra(self, prefix, bytes=None):
        """Writes PREFIX.RANK.et for each rank: Chakra traces of a vector of that many bytes, for ASTRA-sim."""
        _call(lib.banyan_schedule_save_chakra, self._handle, _size(bytes), _text(prefix))

    def __repr__(self):
        return f"<banyan.Schedule {self.algorithm} {self.collective}: {self.transfer_count} transfers>"


class Plan(_Handle):
    """A schedule that is verified, and its figures. Times are in seconds, of a vector of `bytes`."""

    _destroy = "banyan_plan_destroy"

    def __init__(self, handle, question, owner=None):
        self._owner = owner  # a comparison's plan lives as long as the comparison
        self._question = question  # the network, and what bound() needs to know
        if owner is None:
            super().__init__(handle)
        self._handle = handle
        info = self._info(_c.PlanInfo)
        self.why_not = _decode(info.why_not)  # in a comparison: why the algorithm does not apply
        self.algorithm, self.explanation = _decode(info.algorithm), _decode(info.explanation)
        key = _decode(info.variant_key)
        self.variant = {key: _decode(info.variant_value)} if key else {}
        self.bytes, self.predicted_s, self.network_s = info.bytes, info.predicted_s, info.network_s
        self.model, self.bytes_per_s = _decode(info.model), info.bytes_per_s
        self.bottleneck = None if info.bottleneck < 0 else info.bottleneck  # a link's number
        self.depth, self.volume, self.planning_s = info.depth, info.volume, info.planning_s
        self.work = {
            name: getattr(info, name) for name in ("lp_solves", "tree_searches", "max_flows", "solver_visits")
        }

    @property
    def schedule(self):
        """None in a comparison, where the algorithm does not apply."""
        return None if self.why_not else Schedule(c_void_p(lib.banyan_plan_schedule(self._handle)), self)

    @functools.cached_property
    def share_of_bound(self):
        """`bytes_per_s` as a share of what `bound` allows for the same question, which is found when this is first
        read; None: there is no such bound."""
        collective = None if self.why_not else self.schedule.collective
        if collective not in _BOUNDED:
            return None
        network, config = self._question
        try:
            best = bound(network, **config)
        except Unsupported:  # the network is too large, or the solver is missing
            return None
        return self.bytes_per_s / getattr(best, f"{collective}_bytes_per_s")

    def __repr__(self):
        if self.why_not:
            return f"<banyan.Plan {self.algorithm}: does not apply>"
        return f"<banyan.Plan {self.algorithm}: {self.bytes} bytes in {self.predicted_s:.3g} s>"


class Comparison(_Handle):
    """The plans among which `banyan.plan` chooses: `plans`, the fastest first; `others`, which do not apply and say
    `why_not`; `chosen`, one of the plans, or None."""

    _destroy = "banyan_comparison_destroy"

    def __init__(self, handle, question):
        super().__init__(handle)
        info = self._info(_c.ComparisonInfo)
        every = [
            Plan(c_void_p(lib.banyan_comparison_plan(handle, i)), question, self) for i in range(info.plan_count)
        ]
        self.plans, self.others = every[: info.applicable_count], every[info.applicable_count :]
        self._chosen = info.chosen

    @property
    def chosen(self):
        return None if self._chosen < 0 else self.plans[self._chosen]

    def __repr__(self):
        return f"<banyan.Comparison of {len(self.plans)} plans>"


class Verdict(_Handle):
    """Whether a schedule is the collective that it claims to be: true if so, else `problems` says why not."""

    _destroy = "banyan_verdict_destroy"

    def __init__(self, handle):
        super().__init__(handle)
        info = self._info(_c.VerdictInfo)
        self.problem_count = info.problem_count
        self.problems = [_decode(lib.banyan_verdict_problem(handle, i)) for i in range(info.shown_count)]
        self.is_same_bits, self.note = bool(info.is_same_bits), _decode(info.note)

    def __bool__(self):
        return self.problem_count == 0


class Prediction(_Handle):
    """How long a schedule takes."""

    _destroy = "banyan_prediction_destroy"

    def __init__(self, handle):
        super().__init__(handle)
        info = self._info(_c.PredictionInfo)
        self.model, self.total_s = _decode(info.model), info.total_s
        self.transfer_count, self.message_count = info.transfer_count, info.message_count
        self.utilization, self.bottleneck_share = info.utilization, info.bottleneck_share
        self.bytes_per_s, self.closed_form_s, self.cycles = info.bytes_per_s, info.closed_form_s, info.cycles
        self.bottleneck = None if info.bottleneck < 0 else info.bottleneck

    @property
    def times(self):
        """Two arrays with one entry per transfer: its first byte leaves, and its last one is applied."""
        import numpy

        begin, end = numpy.empty(self.transfer_count), numpy.empty(self.transfer_count)
        pointers = (array.ctypes.data_as(ctypes.POINTER(c_double)) for array in (begin, end))
        _call(lib.banyan_prediction_get_times, self._handle, *pointers)
        return begin, end


def _topology(network):
    return network if isinstance(network, Topology) else Topology(network)


def bound(network, active=None, relays=None, effort=None, stages=None, bytes=None, collective=None):
    """The Bounds of a network: a Topology, a file, or a string such as "hosts:2+3"."""
    topology = _topology(network)
    config = _c.BoundsConfig.begin()
    config.active, config.relays = _text(_workers(active)), _text(relays)
    config.effort, config.stages = _text(effort), _text(stages)
    config.bytes, config.collective = _size(bytes), _text(collective)
    return Bounds(Bounds._make(lib.banyan_bounds_create, topology._handle, byref(config)))


def plan(
    network,
    bytes=None,
    algorithm=None,
    active=None,
    collective=None,
    root=0,
    effort=None,
    wisdom=None,
    executor=None,
    timeout=None,
    progress=None,
    **parameters,
):
    """A Plan for a network: a Topology, a file, or a string such as "hosts:2+3".

    bytes: a number, or a text such as "64MiB"; timeout: in seconds; progress(done, all): called after each
    algorithm. Further keywords are parameters of algorithms, such as max_trees=16.
    """
    topology = _topology(network)
    config = _plan_config(
        bytes, algorithm, active, collective, root, effort, wisdom, executor, timeout, progress, parameters
    )
    question = _question(topology, active, parameters, effort, bytes)
    return Plan(Plan._make(lib.banyan_plan_create, topology._handle, byref(config)), question)


def compare(
    network,
    bytes=None,
    algorithms=None,
    active=None,
    collective=None,
    root=0,
    effort=None,
    executor=None,
    timeout=None,
    progress=None,
    **parameters,
):
    """A Comparison of the plans of all algorithms, or of those in a list of names."""
    topology = _topology(network)
    names = algorithms if algorithms is None or isinstance(algorithms, str) else ",".join(algorithms)
    config = _plan_config(
        bytes, names, active, collective, root, effort, None, executor, timeout, progress, parameters
    )
    question = _question(topology, active, parameters, effort, bytes)
    return Comparison(Comparison._make(lib.banyan_comparison_create, topology._handle, byref(config)), question)


def _question(topology, active, parameters, effort, bytes):
    """What bound() needs to know of a plan's network."""
    return topology, {"active": active, "relays": parameters.get("relays"), "effort": effort, "bytes": bytes}


def _plan_config(
    bytes, algorithm, active, collective, root, effort, wisdom, executor, timeout, progress, parameters
):
    config = _c.PlanConfig.begin()
    texts = [_text(text) for key, value in parameters.items() for text in (key.replace("_", "-"), value)]
    config.active, config.collective = _text(_workers(active)), _text(collective)
    config.root, config.bytes = root, _size(bytes)
    config.algorithm, config.effort = _text(algorithm), _text(effort)
    config.parameters = (c_char_p * (len(texts) + 1))(*texts, None)
    config.wisdom, config.executor = _text(wisdom), _text(executor)
    config.timeout_ms = _c.milliseconds(timeout)
    if progress:
        config.progress = _c.ProgressFunction(lambda _, done, all: progress(done, all))
    return config


def algorithms():
    """The names of all algorithms."""
    names, i = [], 0
    while (name := lib.banyan_algorithm_name(i)) is not None:
        names.append(_decode(name))
        i += 1
    return names


def verify(text, topology=None):
    """A Verdict on a schedule in JSON or MSCCL XML, or on a bound, which needs its network."""
    data = text.encode() if isinstance(text, str) else text
    network = None if topology is None else _topology(topology)
    handle = network._handle if network else None
    return Verdict(Verdict._make(lib.banyan_verify_text, data, len(data), handle))


__all__ = [
    "Bounds",
    "Comparison",
    "Plan",
    "Prediction",
    "Schedule",
    "Topology",
    "Verdict",
    "algorithms",
    "bound",
    "compare",
    "plan",
    "verify",
]
