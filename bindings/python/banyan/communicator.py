# SPDX-License-Identifier: Apache-2.0
"""Communicators: this rank's handle on a group that computes together, for NumPy arrays.

    with banyan.init() as comm:            # under banyan run, torchrun, mpirun, srun
        total = comm.allreduce(array)      # a new array
        comm.allreduce(array, out=array)   # in place
        request = comm.allreduce_async(array, out=array, op="avg")
        ...
        request.wait()

Every call can also be made on bare addresses (`allreduce_at` and so on), which is what `banyan.torch` does.
"""

import ctypes
import weakref

from .errors import Error, InvalidArgument, error_of
from .library import BYTES, DATATYPES, OPS, AllgatherFunction, ConfigHolder, UniqueId, byref, check, lib, milliseconds


def number_of(table, name, what):
    try:
        return table[name]
    except KeyError:
        raise InvalidArgument(f"there is no {what} '{name}'; there are {', '.join(table)}") from None


def bytes_of(datatype):
    return BYTES.get(datatype, 8)


def unique_id():
    """What one rank makes and gives to all others (128 bytes); its process serves the meeting."""
    made = UniqueId()
    check(lib.banyan_get_unique_id(byref(made)))
    return bytes(made)


def release_unique_id(id):
    """Ends the meeting of an id that is not needed any more."""
    given = UniqueId.from_buffer_copy(id)
    check(lib.banyan_release_unique_id(byref(given)))


class Communicator:
    """A rank of a group. Made by `init`, `init_rank`, `init_exchange`, `init_all`, `split` and `shrink`."""

    def __init__(self, handle):
        self._handle = handle
        rank, size = ctypes.c_int(), ctypes.c_int()
        check(lib.banyan_comm_rank(handle, byref(rank)))
        check(lib.banyan_comm_size(handle, byref(size)))
        self.rank = rank.value
        self.size = size.value
        self._requests = weakref.WeakSet()  # they must be freed before the handle

    # How groups are made. config: topology, active, algorithm, timeout (seconds), slice_bytes, shrink (who may go on
    # after a loss: "majority", "any" or "at_least:N"), learn (whether the network is learnt: "0", "1" or "once").

    @classmethod
    def init(cls, **config):
        """Rank, size and meeting place are what the launcher says."""
        holder, handle = ConfigHolder(**config), ctypes.c_void_p()
        holder.check(lib.banyan_comm_init_env(byref(handle), byref(holder.config)))
        return cls(handle)

    @classmethod
    def init_rank(cls, size, id, rank, **config):
        """With an id that one rank has made with `unique_id()`."""
        if len(id) != 128:
            raise InvalidArgument(f"a unique id has 128 bytes, not {len(id)}")
        holder, handle = ConfigHolder(**config), ctypes.c_void_p()
        given = UniqueId.from_buffer_copy(id)
        holder.check(lib.banyan_comm_init_rank(byref(handle), size, given, rank, byref(holder.config)))
        return cls(handle)

    @classmethod
    def init_exchange(cls, size, rank, allgather, **config):
        """The ranks meet by your own means: allgather(mine: bytes) gives the bytes of all ranks, in order."""
        raised = []

        def exchange(_context, mine, count, out):
            try:
                every = list(allgather(ctypes.string_at(mine, count)))
                if len(every) != size or any(len(one) != count for one in every):
                    raise InvalidArgument(f"the all-gather did not give {size} times {count} bytes")
                ctypes.memmove(out, b"".join(every), size * count)
                return 0
            except BaseException as problem:  # goes on below: C cannot carry it
                raised.append(problem)
                return 2

        holder, handle = ConfigHolder(**config), ctypes.c_void_p()
        status = lib.banyan_comm_init_exchange(
            byref(handle), size, rank, AllgatherFunction(exchange), None, byref(holder.config)
        )
        if raised:
            raise raised[0]
        holder.check(status)
        return cls(handle)

    @classmethod
    def init_all(cls, size, **config):
        """A group inside this process: one communicator a rank, each for a thread of its own."""
        holder = ConfigHolder(**config)
        handles = (ctypes.c_void_p * size)()
        holder.check(lib.banyan_comm_init_all(handles, size, byref(holder.config)))
        return [cls(ctypes.c_void_p(handle)) for handle in handles]

    def split(self, color, key=0, **config):
        """Ranks of the same color make a group, ordered by key; None for a negative color."""
        holder, handle = ConfigHolder(**config), ctypes.c_void_p()
        holder.check(lib.banyan_comm_split(self.handle, color, key, byref(handle), byref(holder.config)))
        return type(self)(handle) if handle.value else None

    def shrink(self, exclude=(), **config):
        """A new group of those who call it, without the ranks that are lost. The old one is still to be closed.
        Raises TooFewRanks where fewer are left than `shrink` asks for (config, by default a majority)."""
        holder, handle = ConfigHolder(**config), ctypes.c_void_p()
        ranks = (ctypes.c_int * max(1, len(exclude)))(*exclude)
        holder.check(
            lib.banyan_comm_shrink(self.handle, ranks, len(exclude), byref(handle), byref(holder.config))
        )
        return type(self)(handle)

    def grow(self, size, id, **config):
        """A new group of that many ranks: the members, who keep their ranks, and newcomers, who call
        `init_rank(size, id, rank)`. One of them has made the id with `unique_id()`. The old one is still to be closed."""
        holder, handle = ConfigHolder(**config), ctypes.c_void_p()
        given = UniqueId.from_buffer_copy(id)
        status = lib.banyan_comm_grow(
            self.handle, size, given, -1, byref(handle), byref(holder.config) if config else None
        )
        check(status, holder.sentence.value or lib.banyan_last_error(self._handle))
        return type(self)(handle)

    # Its end.

    @property
    def handle(self):
        if self._handle is None:
            raise InvalidArgument("the communicator is closed")
        return self._handle

    @property
    def is_closed(self):
        return self._handle is None

    def close(self):
        """Gives the handle back; twice is fine."""
        handle, self._handle = self._handle, None
        if handle is not None:
            for request in list(self._requests):
                request.close()
            lib.banyan_comm_destroy(handle)

    def abort(self):
        """Ends all calls of the whole group, from any thread."""
        check(lib.banyan_comm_abort(self.handle))

    def set_timeout(self, timeout):
        """Of later calls, in seconds or as a timedelta; from any thread."""
        check(lib.banyan_comm_set_timeout(self.handle, milliseconds(timeout)))

    @property
    def failure(self):
        """The exception class that belongs to what has ended the group, or None while it works."""
        status = ctypes.c_int()
        check(lib.banyan_comm_get_async_error(self.handle, byref(status)))
        return type(error_of(status.value, "")) if status.value else None

    def find_failure(self):
        """The exception itself, with the sentence that names who was lost; None while the group works. Any call on a group that
        has ended returns at once, and says why."""
        if self.failure is None:
            return None
        try:
            self.barrier()
        except Error as error:
            return error
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # the interpreter may be ending
            pass

    def __repr__(self):
        return f"<banyan.Communicator rank {self.rank} of {self.size}{' closed' if self._handle is None else ''}>"

    # Calls on addresses. Types and ops are names.

    def _check(self, status):
        if status:
            check(status, lib.banyan_last_error(self._handle))

    def allreduce_at(self, send, recv, count, datatype, op="sum"):
        self._check(
            lib.banyan_allreduce(
                send, recv, count, number_of(DATATYPES, datatype, "datatype"), number_of(OPS, op, "op"), self.handle
            )
        )

    def reduce_scatter_at(self, send, recv, recv_count, datatype, op="sum"):
        self._check(
            lib.banyan_reduce_scatter(
                send, recv, recv_count, number_of(DATATYPES, datatype, "datatype"), number_of(OPS, op, "op"), self.handle
            )
        )

    def all_gather_at(self, send, recv, send_count, datatype):
        self._check(
            lib.banyan_all_gather(send, recv, send_count, number_of(DATATYPES, datatype, "datatype"), self.handle)
        )

    def broadcast_at(self, send, recv, count, datatype, root):
        self._check(
            lib.banyan_broadcast(send, recv, count, number_of(DATATYPES, datatype, "datatype"), root, self.handle)
        )

    def reduce_at(self, send, recv, count, datatype, op, root):
        self._check(
            lib.banyan_reduce(
                send, recv, count, number_of(DATATYPES, datatype, "datatype"), number_of(OPS, op, "op"), root, self.handle
            )
        )

    def gather_at(self, send, recv, send_count, datatype, root):
        self._check(
            lib.banyan_gather(send, recv, send_count, number_of(DATATYPES, datatype, "datatype"), root, self.handle)
        )

    def scatter_at(self, send, recv, recv_count, datatype, root):
        self._check(
            lib.banyan_scatter(send, recv, recv_count, number_of(DATATYPES, datatype, "datatype"), root, self.handle)
        )

    def all_to_all_at(self, send, recv, count, datatype):
        self._check(
            lib.banyan_all_to_all(send, recv, count, number_of(DATATYPES, datatype, "datatype"), self.handle)
        )

    def allreduce_async_at(self, send, recv, count, datatype, op="sum", keep=None):
        """keep: what must live until the request is done."""
        request = ctypes.c_void_p()
        self._check(
            lib.banyan_allreduce_async(
                send,
                recv,
                count,
                number_of(DATATYPES, datatype, "datatype"),
                number_of(OPS, op, "op"),
                self.handle,
                byref(request),
            )
        )
        made = Request(self, request, keep)
        self._requests.add(made)
        return made

    def allreduce_on_at(self, send, recv, count, datatype, op, device, stream):
        """In the order of a CUDA stream, given as its address; device: its number, or -1 for memory of the host."""
        self._check(
            lib.banyan_allreduce_on(
                send,
                recv,
                count,
                number_of(DATATYPES, datatype, "datatype"),
                number_of(OPS, op, "op"),
                self.handle,
                device,
                stream,
            )
        )

    # The other collectives likewise: where is (device, stream).

    def broadcast_on_at(self, send, recv, count, datatype, root, where):
        number = number_of(DATATYPES, datatype, "datatype")
        self._check(lib.banyan_broadcast_on(send, recv, count, number, root, self.handle, *where))

    def reduce_on_at(self, send, recv, count, datatype, op, root, where):
        number, how = number_of(DATATYPES, datatype, "datatype"), number_of(OPS, op, "op")
        self._check(lib.banyan_reduce_on(send, recv, count, number, how, root, self.handle, *where))

    def reduce_scatter_on_at(self, send, recv, recv_count, datatype, op, where):
        number, how = number_of(DATATYPES, datatype, "datatype"), number_of(OPS, op, "op")
        self._check(lib.banyan_reduce_scatter_on(send, recv, recv_count, number, how, self.handle, *where))

    def all_gather_on_at(self, send, recv, send_count, datatype, where):
        number = number_of(DATATYPES, datatype, "datatype")
        self._check(lib.banyan_all_gather_on(send, recv, send_count, number, self.handle, *where))

    def gather_on_at(self, send, recv, send_count, datatype, root, where):
        number = number_of(DATATYPES, datatype, "datatype")
        self._check(lib.banyan_gather_on(send, recv, send_count, number, root, self.handle, *where))

    def scatter_on_at(self, send, recv, recv_count, datatype, root, where):
        number = number_of(DATATYPES, datatype, "datatype")
        self._check(lib.banyan_scatter_on(send, recv, recv_count, number, root, self.handle, *where))

    def all_to_all_on_at(self, send, recv, count, datatype, where):
        number = number_of(DATATYPES, datatype, "datatype")
        self._check(lib.banyan_all_to_all_on(send, recv, count, number, self.handle, *where))

    def barrier(self):
        self._check(lib.banyan_barrier(self.handle))

    def barrier_before(self, device=-1):
        """A barrier of ranks that are about to make calls on GPU tensors, or all on those of the host (-1); raises Mismatch
        where some rank does the other."""
        self._check(lib.banyan_barrier_before(self.handle, device))

    # Calls on NumPy arrays. dtype="bfloat16" says that arrays of uint16 hold such numbers.

    def allreduce(self, array, out=None, op="sum", dtype=None):
        send = _Given(array, dtype)
        recv = _Taken(out, send.array.shape, send)
        self.allreduce_at(send.address, recv.address, send.array.size, send.datatype, op)
        return recv.give()

    def allreduce_async(self, array, out=None, op="sum", dtype=None):
        """A Request; its wait() gives the result."""
        send = _Given(array, dtype)
        recv = _Taken(out, send.array.shape, send)
        return self.allreduce_async_at(
            send.address, recv.address, send.array.size, send.datatype, op, keep=(send, recv)
        )

    def reduce_scatter(self, array, out=None, op="sum", dtype=None):
        """The first dimension is cut into one part a rank."""
        send = _Given(array, dtype)
        shape = send.array.shape
        if not shape or shape[0] % self.size:
            raise InvalidArgument(f"the first of the dimensions {shape} is not a multiple of the {self.size} ranks")
        recv = _Taken(out, (shape[0] // self.size, *shape[1:]), send)
        self.reduce_scatter_at(send.address, recv.address, send.array.size // self.size, send.datatype, op)
        return recv.give()

    def all_gather(self, array, out=None, dtype=None):
        """One array with a new first dimension: the ranks."""
        send = _Given(array, dtype)
        recv = _Taken(out, (self.size, *send.array.shape), send)
        self.all_gather_at(send.address, recv.address, send.array.size, send.datatype)
        return recv.give()

    def gather(self, array, root=0, out=None, dtype=None):
        """One array with a new first dimension, the ranks, on the root; None elsewhere."""
        send = _Given(array, dtype)
        recv = _Taken(out, (self.size, *send.array.shape), send) if self.rank == root else None
        self.gather_at(send.address, recv and recv.address, send.array.size, send.datatype, root)
        return recv.give() if recv else None

    def scatter(self, array, out, root=0, dtype=None):
        """out becomes part r of the root's array, whose first dimension is the ranks; array is looked at on the root
        alone."""
        part = _Given(out, dtype)
        recv = _Taken(out, part.array.shape, part)
        send = _Given(array, dtype) if self.rank == root else None
        if send and (send.array.shape != (self.size, *part.array.shape) or send.datatype != part.datatype):
            raise InvalidArgument(f"an array of shape {send.array.shape} is not {self.size} times {part.array.shape}")
        self.scatter_at(send and send.address, recv.address, part.array.size, part.datatype, root)
        return recv.give()

    def all_to_all(self, array, out=None, dtype=None):
        """The first dimension is the ranks: part r of the result is what rank r had as this rank's part."""
        send = _Given(array, dtype)
        if not send.array.shape or send.array.shape[0] != self.size:
            raise InvalidArgument(f"the first of the dimensions {send.array.shape} is not the {self.size} ranks")
        recv = _Taken(out, send.array.shape, send)
        self.all_to_all_at(send.address, recv.address, send.array.size // self.size, send.datatype)
        return recv.give()

    def broadcast(self, array, root=0, dtype=None):
        """In place: everybody's array becomes the root's."""
        send = _Given(array, dtype)
        recv = _Taken(array, send.array.shape, send)
        self.broadcast_at(recv.address, recv.address, send.array.size, send.datatype, root)
        return recv.give()

    def reduce(self, array, root=0, out=None, op="sum", dtype=None):
        """The root's result; None elsewhere."""
        send = _Given(array, dtype)
        if self.rank != root:
            self.reduce_at(send.address, None, send.array.size, send.datatype, op, root)
            return None
        recv = _Taken(out, send.array.shape, send)
        self.reduce_at(send.address, recv.address, send.array.size, send.datatype, op, root)
        return recv.give()


class Request:
    """An all-reduce in the background. Do not touch the arrays until it is done."""

    def __init__(self, comm, handle, keep):
        self._comm = comm
        self._handle = handle
        self._keep = keep
        self._error = None

    def done(self):
        """Whether wait() would return at once."""
        return self._handle is None or lib.banyan_request_test(self._handle) != 7

    def wait(self, timeout=None):
        """The result; raises what went wrong, TimeoutError if it is not done after that many seconds."""
        if self._handle is not None:
            status = lib.banyan_request_wait(self._handle, -1 if timeout is None else int(timeout * 1000))
            if status == 7:
                raise TimeoutError(f"the request is not done after {timeout} s")
            if status:
                self._error = error_of(status, lib.banyan_last_error(self._comm.handle).decode("utf-8", "replace"))
            self.close()
        if self._error is not None:
            raise self._error
        return self._keep[1].give() if isinstance(self._keep, tuple) else self._keep

    def close(self):
        """Waits until it is done, and gives it back."""
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.banyan_request_free(handle)

    def __del__(self):
        try:
            self.close()
        except Exception:
            pass


def _datatype_of(array, asked):
    name = asked or array.dtype.name
    if name not in DATATYPES:
        raise InvalidArgument(f"arrays of {name} cannot be added up; there are {', '.join(DATATYPES)}")
    if bytes_of(name) != array.dtype.itemsize:
        raise InvalidArgument(f"an array of {array.dtype.name} cannot hold {name}")
    if not array.dtype.isnative:
        raise InvalidArgument("the array's byte order is not this machine's")
    return name


class _Given:
    """An input: contiguous, copied where it is not."""

    def __init__(self, array, dtype):
        import numpy

        self.array = numpy.asarray(array)
        if not self.array.flags.c_contiguous:
            self.array = numpy.ascontiguousarray(self.array)
        self.datatype = _datatype_of(self.array, dtype)
        self.address = self.array.ctypes.data


class _Taken:
    """An output: the caller's array, or a new one. What is not contiguous gets its values at the end."""

    def __init__(self, out, shape, like):
        import numpy

        self.out = out
        if out is None:
            self.array = numpy.empty(shape, like.array.dtype)
        else:
            if not isinstance(out, numpy.ndarray) or out.shape != tuple(shape) or out.dtype != like.array.dtype:
                raise InvalidArgument(
                    f"out is not an array of shape {tuple(shape)} and type {like.array.dtype.name}"
                )
            if not out.flags.writeable:
                raise InvalidArgument("out cannot be written to")
            self.array = numpy.ascontiguousarray(out)  # out itself, where it is so already
        self.address = self.array.ctypes.data

    def give(self):
        if self.out is not None and self.array is not self.out:
            self.out[...] = self.array
        return self.array if self.out is None else self.out
