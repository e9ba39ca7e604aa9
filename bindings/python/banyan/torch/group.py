# SPDX-License-Identifier: Apache-2.0
"""The process group 'banyan': torch's collectives as calls of the library.

Each call goes to the group's thread (work.py), so it returns at once; tensors must not be touched until its Work is
done. torch 1.13 and 2.x both take a Python subclass of ProcessGroup; both call these methods from Python and from C++ (DDP).

    collectives                     the library's own
    all_to_all of unequal parts     the library's, with every part in a slot of the largest one's size
    send, recv                      a group of two for each direction (pairs.py)

Where the C++ backend has been built (build.py), it is what torch gets, and this group does what that leaves to it
(native.py).
"""

import atexit
import ctypes
import os
import threading
import time
import weakref

import torch
import torch.distributed as dist

from ..communicator import Communicator
from ..errors import Error, InvalidArgument, Mismatch, Unsupported
from ..library import milliseconds
from . import native
from .exchange import by_roll_call, by_store
from .pairs import Pairs
from .recorder import recorder
from .reconfigure import Handle, Unformed, meet, members_of
from .stream import StreamLane, fits
from .tensors import Flat, bytes_of, check_tensor, op_name, sum_type
from .work import CombinedWork, Worker, end_threads

_TIMEOUT_MS = 30_000  # the library's own
_SHRINK_ABORT = 1  # of torch: calls that are going on are ended first
_LEAVING_S = 5  # for calls that are going on when the program ends; callbacks of those that are done take milliseconds

_groups = weakref.WeakSet()


# c10d's methods take lists and options, or in their places a tensor, and the op or the root itself.


def _one(tensors, what):
    if isinstance(tensors, torch.Tensor):
        return tensors
    if len(tensors) != 1:
        raise InvalidArgument(f"{what} takes one tensor per rank, not {len(tensors)}")
    return tensors[0]


def _parts(lists, what):
    """A tensor for every rank."""
    return lists if lists and isinstance(lists[0], torch.Tensor) else _one(lists, what)


def _op_of(opts):
    given = getattr(opts, "reduceOp", opts)
    return op_name(dist.ReduceOp.SUM if given is None else given)


def _root_of(opts):
    given = getattr(opts, "rootRank", opts)
    return 0 if given is None else int(given)


def config_of(ranks, workers, timeout):
    """For a communicator of some of the ranks that lie on these workers of BANYAN_TOPO; None: on the first ones."""
    config = {"timeout": timeout}
    if os.environ.get("BANYAN_TOPO"):
        chosen = [workers[rank] if workers else rank for rank in ranks]
        if chosen == sorted(chosen):
            config["active"] = chosen
        else:  # the network's order is another
            config["topology"] = f"switch:{len(ranks)}"
    return config


class BanyanGroup(dist.ProcessGroup):
    """One rank of a process group. `communicator` is the library's handle."""

    def __init__(self, comm, store=None, workers=None, timeout=None, name=""):
        super().__init__(comm.rank, comm.size)
        self.communicator = comm
        self.timeout = timeout
        self.workers = workers  # which workers of BANYAN_TOPO the ranks are; None: the first ones
        self._worker = native.make_worker(comm.rank) or Worker(f"banyan rank {comm.rank}")
        self._store = store
        self._meet_in(store)
        self._lanes = {}  # by device
        self._handle = None  # what others name this rank by in reconfigure()
        self._uuids = set()  # of all that it has been through
        self._name = self._description = ""
        self.recorded = self._record(name)
        self._p2p_sequence = 0
        self._coalesced = None  # the works between start_coalescing() and end_coalescing()
        _groups.add(self)

    def _record(self, name):
        """What the flight recorder says of the group. The first one of a process is torch's default group."""
        workers = self.workers or list(range(self.size()))
        description = "undefined" if name else "default_pg"
        return recorder.open_group(name or "default_pg", description, workers, milliseconds(self.timeout))

    def rank(self):
        return self.communicator.rank

    def size(self):
        return self.communicator.size

    getRank = rank
    getSize = size

    def getBackendName(self):
        return "banyan"

    def name(self):
        return "banyan"

    def _get_backend_name(self):
        return "banyan"

    # torch 2.x finds groups by the name that it gives them: functional collectives, device meshes.

    def getGroupName(self):
        return self._name

    def setGroupName(self, name):
        self._name = name

    def getGroupDesc(self):
        return self._description

    def setGroupDesc(self, description):
        self._description = description

    def run_in_turn(self, call):
        """call() on the communicator, behind what has been submitted; waits for it."""
        return self._worker.run(call)

    def _do(self, name, call, inputs, outputs, given=None):
        """Submits a call under the name that the flight recorder knows it by. given: the outputs as torch gave them."""
        given = outputs if given is None else given
        self.leave_streams()
        sequence = self._worker.next_sequence()
        if not recorder.kept:
            return self._keep(self._worker.submit(call, given))
        entry = recorder.add(self.recorded, name, sequence, inputs, outputs)
        return self._keep(self._worker.submit(lambda: self._timed(entry, call), given))

    def _timed(self, entry, call):
        entry.started_ns = time.time_ns()
        try:
            call()
        except BaseException:
            recorder.note_failure(self.worker)
            raise
        entry.completed_ns = time.time_ns()

    def note_failure(self):
        recorder.note_failure(self.worker)

    # Its members, who may become others. torch 2.10 and later ask for these by the C++ backend (backend.cpp).

    supports_shrinking = True
    supports_reconfigure = True

    def without(self, exclude=(), timeout=None, rule=None):
        """A new group of the ranks that are left, which call this, too; this one is given up. See membership.shrink."""
        timeout = timeout if timeout is not None else self.timeout
        comm = self.communicator.shrink(exclude, timeout=timeout, shrink=rule)
        mine = torch.tensor([self.worker], dtype=torch.int64)
        every = torch.empty(comm.size, dtype=torch.int64)
        comm.all_gather_at(mine.data_ptr(), every.data_ptr(), 1, "int64")
        workers, store = every.tolist(), self._store
        if store is not None:  # where pairs of ranks meet: their numbers are others now
            store = dist.PrefixStore("shrunk/" + ",".join(map(str, workers)), store)
        name = "shrunk " + ",".join(map(str, workers))
        group = BanyanGroup(comm, store, workers, self.timeout, name)
        self.close(wait=False)
        return group

    def shrink(self, ranks_to_exclude, shrink_flags=0, opts_override=None):
        """What torch.distributed.shrink_group calls: the same, as torch gets to see it."""
        if shrink_flags & _SHRINK_ABORT and self._worker.is_busy:
            self.abort()
        return native.wrap(self.without(ranks_to_exclude, timeout=getattr(opts_override, "timeout", None)))

    def split(self, store, ranks, opts=None, name=""):
        """What torch.distributed.split_group calls: a group of these ranks of ours, which meet in the store; None on all others."""
        if self.rank() not in ranks:
            return None
        workers = [self.workers[rank] if self.workers else rank for rank in ranks]
        return self._make(store, workers, ranks.index(self.rank()), opts, name)

    def merge(self, store, rank, size, opts=None, name=""):
        """A group with ranks of other groups, all of whom meet in the store."""
        return self._make(store, list(range(size)), rank, opts, name)

    def _make(self, store, workers, rank, opts, name):
        timeout, size = getattr(opts, "timeout", None) or self.timeout, len(workers)
        config = config_of(range(size), workers, timeout)
        comm = Communicator.init_exchange(size, rank, by_store(store, rank, size, "group", timeout), **config)
        return native.wrap(BanyanGroup(comm, store, workers, timeout, name or "split"))

    def find_status(self):
        """What has ended the group, as a number of banyan_status; 0 while it works, or was closed."""
        failure = None if self.communicator.is_closed else self.communicator.failure
        return failure.status if failure else 0

    @property
    def timeout_ms(self):
        return milliseconds(self.timeout) or _TIMEOUT_MS

    def set_timeout(self, timeout):
        """Of later calls, in seconds or as a timedelta."""
        self.timeout = timeout
        for one in (self.communicator, self._pairs, *self._lanes.values()):
            one.set_timeout(timeout)

    @property
    def worker(self):
        """The number of this rank on the network; it stays the same while ranks change."""
        return self.workers[self.rank()] if self.workers else self.rank()

    def get_reconfigure_handle(self):
        if self._handle is None or self._handle.is_old:
            self._handle = Handle.make(self.worker)
        return str(self._handle)

    def reconfigure(self, opts):
        """The same group with other members, all of whom call this with each other's handles; see reconfigure.py."""
        self.get_reconfigure_handle()
        members = members_of(opts, self._handle, self._uuids)
        mine, self._handle = self._handle, None
        self._uuids.add(opts.uuid)
        workers = [member.worker for member in members]
        timeout = getattr(opts, "timeout", None) or self.timeout
        comm = meet(members, mine, opts.uuid, config_of(range(len(members)), workers, timeout))
        if self._worker.is_busy:
            self.abort()
        self.run_in_turn(lambda: self._replace(comm, workers, opts.uuid))
        return self._worker.submit(lambda: None, [])

    def _replace(self, comm, workers, uuid):
        self._pairs.close()
        for lane in self._lanes.values():
            lane.close()
        self.communicator.close()
        self.communicator, self.workers = comm, workers
        self._lanes, self._worker.uses_streams = {}, False
        self._meet_in(dist.PrefixStore(f"reconfigure/{uuid}", self._store) if self._store is not None else None)

    def _meet_in(self, store):
        """Where these members, by their ranks, find each other for what is no collective of the library."""
        workers, timeout = self.workers, self.timeout
        self._meeting_store = store
        self._pairs = Pairs(store, self.rank(), lambda ranks: config_of(ranks, workers, timeout))
        self._monitored = 0  # barriers

    # Sums.

    # CPU tensors and CUDA tensors have communicators of their own, so ranks that differ in this would wait for each other. Whoever
    # turns from one kind to the other meets all ranks on the communicators that it leaves: where some of them make a call there,
    # the library ends it with a sentence that names the rank.

    def _enter_streams(self, device):
        if not self._worker.uses_streams:
            self.run_in_turn(lambda: self.communicator.barrier_before(device.index))
            self._worker.uses_streams = True

    def leave_streams(self):
        """Before each call on CPU tensors, and on CUDA tensors that go through the group's thread."""
        if self._worker.uses_streams:
            self._worker.uses_streams = False
            self.run_in_turn(self._meet_in_lanes)

    def _meet_in_lanes(self, device=-1):
        """On all communicators at once: the other ranks may be in a call on any of them."""
        comms = [comm for lane in self._lanes.values() for comm in lane.communicators]
        problems = []

        def meet(comm):
            try:
                comm.barrier_before(device)
            except Error as problem:
                problems.append(problem)
                if isinstance(problem, Mismatch):  # of which the other communicators do not hear by themselves
                    for other in {*comms, self.communicator} - {comm}:
                        other.abort()

        threads = [threading.Thread(target=meet, args=(comm,)) for comm in comms[1:]]
        for thread in threads:
            thread.start()
        for comm in comms[:1]:  # none: the first lane could not be made
            meet(comm)
        for thread in threads:
            thread.join()
        if problems:
            raise next((problem for problem in problems if isinstance(problem, Mismatch)), problems[0])

    def _lane(self, device):
        """Every rank makes its first call on CUDA tensors of another device at the same place among its calls."""
        self._enter_streams(device)
        if device not in self._lanes:
            self.run_in_turn(lambda: self._meet_in_lanes(device.index))  # ranks that leave would be there
            comm = self.run_in_turn(lambda: self.communicator.split(0, self.rank()))
            self._lanes[device] = StreamLane(comm, device)
        return self._lanes[device]

    def _lane_for(self, *tensors):
        """Where the library can take them in the order of a stream; None: they go through the group's thread."""
        return self._lane(tensors[0].device) if fits(tensors) else None

    def _on_stream(self, name, work, inputs, outputs):
        """A call that was put on a stream, as the flight recorder knows it."""
        sequence = self._worker.next_sequence()
        entry = recorder.add(self.recorded, name, sequence, inputs, outputs)
        entry.started_ns = entry.created_ns
        entry.is_done = work.is_completed
        return self._keep(work)

    def allreduce(self, tensors, opts=None):
        op, tensors = _op_of(opts), [tensors] if isinstance(tensors, torch.Tensor) else tensors
        if fits(tensors):
            work = self._lane(tensors[0].device).allreduce(tensors, op)
            return self._on_stream("all_reduce", work, tensors, tensors)
        flats = [Flat([tensor], is_read=True) for tensor in tensors]
        kinds = [sum_type(flat.memory, op) for flat in flats]

        def call():
            for flat, (datatype, how, width) in zip(flats, kinds):
                flat.load()
                self.communicator.allreduce_at(flat.address, flat.address, flat.count * width, datatype, how)
                flat.store()

        return self._do("all_reduce", call, tensors, tensors)

    def allreduce_coalesced(self, tensors, opts=None):
        return self.allreduce(tensors, opts)

    def reduce(self, tensors, opts=None, op=None):
        tensor, root = _one(tensors, "reduce"), _root_of(opts)
        op = _op_of(op if isinstance(opts, int) else opts)
        lane = self._lane_for(tensor)
        if lane:
            return self._on_stream("reduce", lane.reduce(tensor, op, root), tensors, tensors)
        flat = Flat([tensor], is_read=True)
        datatype, op, width = sum_type(flat.memory, op)

        def call():
            flat.load()
            self.communicator.reduce_at(flat.address, flat.address, flat.count * width, datatype, op, root)
            if self.rank() == root:
                flat.store()

        return self._do("reduce", call, tensors, tensors)

    def reduce_scatter(self, outputs, inputs, opts=None):
        output, parts = _one(outputs, "reduce_scatter"), _parts(inputs, "reduce_scatter")
        if len(parts) != self.size():
            raise InvalidArgument(f"reduce_scatter: {len(parts)} inputs for {self.size()} ranks")
        op = _op_of(opts)
        if any(part.numel() != output.numel() for part in parts):
            return self._reduce_scatter_uneven(output, parts, op)
        lane = self._lane_for(output, *parts)
        if lane:
            return self._on_stream("reduce_scatter", lane.reduce_scatter(output, parts, op), parts, output)
        return self._reduce_scatter(output, Flat(parts, is_read=True), op)

    def _reduce_scatter(self, output, flat, op):
        datatype, how, width = sum_type(flat.memory, op)
        result = Flat([output], is_read=False)

        def call():
            flat.load()
            self.communicator.reduce_scatter_at(
                flat.address, result.address, result.count * width, datatype, how
            )
            result.store()

        return self._do("reduce_scatter", call, flat.tensors, [output])

    def _reduce_scatter_uneven(self, output, parts, op):
        flat = Flat(parts, is_read=True)
        if not flat.is_copy:  # one rank
            flat.memory = flat.memory.clone()
        datatype, how, width = sum_type(flat.memory, op)
        first = sum(part.numel() for part in parts[: self.rank()])

        def call():
            flat.load()
            self.communicator.allreduce_at(flat.address, flat.address, flat.count * width, datatype, how)
            output.copy_(flat.memory[first : first + output.numel()].view(output.shape))

        return self._do("reduce_scatter", call, parts, [output])

    def _reduce_scatter_base(self, output, input, opts=None):
        if input.numel() != output.numel() * self.size():
            raise InvalidArgument(
                f"reduce_scatter: {input.numel()} elements are not {self.size()} parts of {output.numel()}"
            )
        op = _op_of(opts)
        lane = self._lane_for(output, input)
        if lane:
            return self._on_stream("reduce_scatter", lane.reduce_scatter(output, [input], op), input, output)
        return self._reduce_scatter(output, Flat([input], is_read=True), op)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        return [self._reduce_scatter_base(output, input, opts) for output, input in zip(outputs, inputs)][-1]

    # Moves.

    def broadcast(self, tensors, opts=None):
        tensor, root = _one(tensors, "broadcast"), _root_of(opts)
        lane = self._lane_for(tensor)
        if lane:
            return self._on_stream("broadcast", lane.broadcast(tensor, root), tensors, tensors)
        flat = Flat([tensor], is_read=True)

        def call():
            if self.rank() == root:
                flat.load()
            self.communicator.broadcast_at(flat.address, flat.address, flat.bytes, "uint8", root)
            flat.store()

        return self._do("broadcast", call, tensors, tensors)

    def _all_gather(self, into, input, outputs):
        source = Flat([input], is_read=True)
        if into.bytes != source.bytes * self.size():
            raise InvalidArgument(f"all_gather: {into.bytes} bytes are not {self.size()} times {source.bytes}")

        def call():
            source.load()
            self.communicator.all_gather_at(source.address, into.address, source.bytes, "uint8")
            into.store()

        return self._do("all_gather", call, [input], outputs)

    def allgather(self, outputs, inputs, opts=None):
        parts, source = _parts(outputs, "all_gather"), _one(inputs, "all_gather")
        if all(bytes_of(part) == bytes_of(source) for part in parts) and len(parts) == self.size():
            lane = self._lane_for(source, *parts)
            if lane:
                return self._on_stream("all_gather", lane.all_gather(parts, source, outputs), source, parts)
        return self._all_gather(Flat(parts, is_read=False), source, outputs)

    def _allgather_base(self, output, input, opts=None):
        if bytes_of(output) == bytes_of(input) * self.size():
            lane = self._lane_for(output, input)
            if lane:
                return self._on_stream("all_gather", lane.all_gather([output], input, output), input, output)
        return self._all_gather(Flat([output], is_read=False), input, output)

    def allgather_coalesced(self, output_lists, inputs, opts=None):
        works = []
        for rank_outputs in zip(*output_lists):
            works.append(self.allgather([list(rank_outputs)], [inputs[len(works)]]))
        return works[-1]

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        return [self._allgather_base(output, input) for output, input in zip(outputs, inputs)][-1]

    def gather(self, outputs, inputs, opts=None):
        source, root = Flat([_one(inputs, "gather")], is_read=True), _root_of(opts)
        into = Flat(_parts(outputs, "gather"), is_read=False) if self.rank() == root else None
        if into and into.bytes != source.bytes * self.size():
            raise InvalidArgument(f"gather: {into.bytes} bytes are not {self.size()} times {source.bytes}")

        def call():
            source.load()
            self.communicator.gather_at(source.address, into and into.address, source.bytes, "uint8", root)
            if into:
                into.store()

        return self._do("gather", call, inputs, outputs)

    def scatter(self, outputs, inputs, opts=None):
        output, root = Flat([_one(outputs, "scatter")], is_read=False), _root_of(opts)
        source = Flat(_parts(inputs, "scatter"), is_read=True) if self.rank() == root else None
        if source and source.bytes != output.bytes * self.size():
            raise InvalidArgument(f"scatter: {source.bytes} bytes are not {self.size()} times {output.bytes}")

        def call():
            if source:
                source.load()
            self.communicator.scatter_at(source and source.address, output.address, output.bytes, "uint8", root)
            output.store()

        return self._do("scatter", call, inputs, outputs)

    def alltoall_base(self, output, input, output_splits, input_splits, opts=None):
        def cut(tensor, splits):
            return list(torch.split(tensor, splits if splits else tensor.shape[0] // self.size()))

        if not output_splits and not input_splits and input.dim() and input.shape[0] % self.size() == 0:
            return self._all_to_all_even(output, input)
        return self._all_to_all(cut(output, output_splits), cut(input, input_splits), output)

    def alltoall(self, outputs, inputs, opts=None):
        return self._all_to_all(outputs, inputs, outputs)

    def _all_to_all_even(self, output, input):
        if bytes_of(output) == bytes_of(input):
            lane = self._lane_for(output, input)
            if lane:
                return self._on_stream("all_to_all", lane.all_to_all(output, input, self.size()), input, output)
        source, into = Flat([input], is_read=True), Flat([output], is_read=False)
        if source.bytes != into.bytes:
            raise InvalidArgument(f"all_to_all: {source.bytes} bytes are sent, {into.bytes} expected")

        def call():
            source.load()
            self.communicator.all_to_all_at(source.address, into.address, source.bytes // self.size(), "uint8")
            into.store()

        return self._do("all_to_all", call, [input], [output], output)

    def _all_to_all(self, outputs, inputs, given):
        """Parts of any sizes: each is sent in a slot of the largest one's."""
        if len(outputs) != self.size() or len(inputs) != self.size():
            raise InvalidArgument(f"all_to_all: {len(inputs)} and {len(outputs)} parts for {self.size()} ranks")
        source, into = Flat(inputs, is_read=True), Flat(outputs, is_read=False)
        counts = torch.tensor([bytes_of(check_tensor(part)) for part in inputs], dtype=torch.int64)

        def call():
            size, comm = self.size(), self.communicator
            coming = torch.empty(size, dtype=torch.int64)
            comm.all_to_all_at(counts.data_ptr(), coming.data_ptr(), 1, "int64")
            largest = counts.max().reshape(1)
            comm.allreduce_at(largest.data_ptr(), largest.data_ptr(), 1, "int64", "max")
            slot = int(largest)
            sent, taken = (torch.empty(size, slot, dtype=torch.uint8) for _ in range(2))
            _copy_parts(source.load().address, counts.tolist(), sent, is_out=True)
            comm.all_to_all_at(sent.data_ptr(), taken.data_ptr(), slot, "uint8")
            for other, output in enumerate(outputs):
                if int(coming[other]) != bytes_of(output):
                    raise InvalidArgument(
                        f"all_to_all: rank {other} sends {int(coming[other])} bytes, {bytes_of(output)} expected"
                    )
            _copy_parts(into.address, coming.tolist(), taken, is_out=False)
            into.store()

        return self._do("all_to_all", call, inputs, outputs, given)

    def send(self, tensors, target, tag=0):
        flat, channel = Flat([_one(tensors, "send")], is_read=True), self._pairs.to(target)
        return self._pass("send", target, channel, lambda: channel.send(flat.load(), tag), tensors)

    def recv(self, tensors, source, tag=0):
        flat, channel = Flat([_one(tensors, "recv")], is_read=False), self._pairs.source(source)

        def call():
            channel.receive(flat, tag)
            flat.store()

        return self._pass("recv", source, channel, call, tensors)

    def _pass(self, name, peer, channel, call, tensors):
        self._p2p_sequence += 1
        if not recorder.kept:
            return self._keep(channel.worker.submit(call, tensors))
        name = f"{name} {self.rank()}{'->' if name == 'send' else '<-'}{peer}"
        entry = recorder.add(self.recorded, name, self._p2p_sequence, tensors, tensors, is_p2p=True)
        return self._keep(channel.worker.submit(lambda: self._timed(entry, call), tensors))

    def recv_anysource(self, tensors, tag=0):
        raise Unsupported("the backend banyan receives from a rank that is named")

    # Names that later versions of torch have for the same, some of them alone.

    all_gather_single = _allgather_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single = _reduce_scatter_base
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base

    # The rest.

    def start_coalescing(self, device=None):
        """Calls are made at once anyway; what ends them is done when all are, by whichever thread or stream."""
        self._coalesced = []

    def end_coalescing(self, device=None):
        works, self._coalesced = self._coalesced, None
        return CombinedWork(works)

    def _keep(self, work):
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def barrier(self, opts=None):
        return self._do("all_reduce_barrier", self.communicator.barrier, None, None)

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """A barrier that names who has not come within the time-out: the first such rank, or all; the group goes on."""
        if self._meeting_store is None:
            self.barrier().wait()
            return
        self._monitored += 1
        timeout_ms = self.timeout_ms if timeout is None else milliseconds(timeout)
        by_roll_call(self._meeting_store, self.rank(), self.size(), self._monitored, timeout_ms, wait_all_ranks)

    def _set_sequence_number_for_group(self):
        """It begins with 0 everywhere."""

    def _get_sequence_number_for_group(self):
        return self._worker.sequence

    def abort(self):
        """Ends all calls, on all ranks; of a group that was closed there are none."""
        if not self.communicator.is_closed:
            self.communicator.abort()

    def close(self, wait=True):
        """Gives the communicator back. Without waiting, one that is in use is left alone."""
        self._pairs.close()
        for lane in self._lanes.values():
            lane.close()
        self._worker.stop(wait)
        if not self._worker.is_busy:
            self.communicator.close()

    def shutdown(self):
        self.close()

    def __del__(self):
        try:
            self.close(wait=False)
        except Exception:
            pass


def _copy_parts(address, counts, slots, is_out):
    """From one part after the other, of these numbers of bytes, into the rows of slots, or back."""
    for row, count in enumerate(counts):
        slot = slots.data_ptr() + row * slots.shape[1]
        ctypes.memmove(*((slot, address) if is_out else (address, slot)), count)
        address += count


@atexit.register
def _leave():
    for group in list(_groups):
        group.close(wait=False)
    end_threads(_LEAVING_S)
    native.end_threads(_LEAVING_S)


def _timeout_of(given):
    """What the user said; else BANYAN_TIMEOUT_MS; else torch's own."""
    default = getattr(dist.distributed_c10d, "default_pg_timeout", None)
    return None if given == default and os.environ.get("BANYAN_TIMEOUT_MS") else given


def _name_of(options):
    """Empty for the first group, which is the default one."""
    return str(getattr(options, "group_id", "")) if dist.is_initialized() else ""


def _create(options, _pg_options=None):
    """Called by torch for every process group that this rank is in."""
    store, rank, size = options.store, options.group_rank, options.group_size
    workers = list(options.global_ranks_in_group) or None
    timeout = _timeout_of(options.timeout)
    if any(getattr(given, "enable_reconfigure", False) for given in (options, _pg_options)):
        return native.wrap(BanyanGroup(Unformed(rank, size), store, workers, timeout, _name_of(options)))
    config = config_of(range(size), workers, timeout)
    comm = Communicator.init_exchange(size, rank, by_store(store, rank, size, "group", timeout), **config)
    return native.wrap(BanyanGroup(comm, store, workers, timeout, _name_of(options)))


def register():
    """Makes the backend known to torch; twice is fine."""
    if hasattr(dist.Backend, "BANYAN"):
        return
    try:
        dist.Backend.register_backend("banyan", _create, extended_api=True, devices=["cpu", "cuda"])
    except TypeError:  # torch 1.13 knows no devices
        dist.Backend.register_backend("banyan", _create, extended_api=True)
    native.own_shrunk_groups()


def communicator(group=None):
    """The banyan.Communicator of a process group, by default of the default one."""
    return group_of(group if group is not None else dist.distributed_c10d._get_default_group()).communicator


def find_group(group):
    """The BanyanGroup behind a process group of torch; None where the backend is another."""
    return group if isinstance(group, BanyanGroup) else native.unwrap(group)


def group_of(group):
    """The same, which must be there."""
    found = find_group(group)
    if found is None:
        raise InvalidArgument("the process group's backend is not banyan")
    return found
