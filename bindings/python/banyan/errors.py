# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions: one class a status of the library, whose sentence is the text.

    try:
        comm.allreduce(gradients)
    except banyan.PeerLost as lost:
        print(lost)               # rank 3 (process 4711 on node7) is gone
        comm = comm.shrink()
"""


class Error(RuntimeError):
    """Any failure. `status` is the library's number."""

    status = -1


class CudaError(Error):
    status = 1


class SystemFailure(Error):
    """A system call failed, or memory ran out."""

    status = 2


class InternalError(Error):
    status = 3


class InvalidArgument(Error, ValueError):
    """The call had no effect; the group works on."""

    status = 4


class InvalidUsage(Error):
    """The call is not allowed here; no launcher, for instance."""

    status = 5


class RemoteError(Error):
    """Another rank failed or aborted; its sentence."""

    status = 6


class InProgress(Error):
    status = 7


class Timeout(Error, TimeoutError):
    """The sentence names who was waited for."""

    status = 8


class PeerLost(Error, ConnectionError):
    """A rank is gone; the sentence names it."""

    status = 9


class Mismatch(Error):
    """Ranks made different calls, or have different settings; both are named."""

    status = 10


class PlanInvalid(Error):
    status = 11


class Unsupported(Error, NotImplementedError):
    status = 12


class VersionMismatch(Error):
    status = 13


class TooFewRanks(Error):
    """Fewer ranks are left than `shrink` asks for; the sentence says how many, and how to choose otherwise."""

    status = 14


_CLASSES = {
    cls.status: cls
    for cls in (
        CudaError,
        SystemFailure,
        InternalError,
        InvalidArgument,
        InvalidUsage,
        RemoteError,
        InProgress,
        Timeout,
        PeerLost,
        Mismatch,
        PlanInvalid,
        Unsupported,
        VersionMismatch,
        TooFewRanks,
    )
}


def error_of(status, sentence):
    """The exception that belongs to a status."""
    cls = _CLASSES.get(status, Error)
    error = cls(sentence)
    error.status = status
    return error
