# SPDX-License-Identifier: Apache-2.0
"""Banyan: all-reduce for networks as they really are.

    import banyan, numpy

    with banyan.init() as comm:
        print(comm.allreduce(numpy.ones(3) * comm.rank))

Started by `banyan run -n 4 python3 program.py`, torchrun, mpirun or srun. `import banyan.torch` gives PyTorch the
backend «banyan».
"""

from .communicator import Communicator, Request, unique_id
from .errors import (
    CudaError,
    Error,
    InProgress,
    InternalError,
    InvalidArgument,
    InvalidUsage,
    Mismatch,
    PeerLost,
    PlanInvalid,
    RemoteError,
    SystemFailure,
    Timeout,
    TooFewRanks,
    Unsupported,
    VersionMismatch,
)
from .library import version_code as _code
from .memory import empty
from .train import Trainer

__version__ = f"{_code // 10000}.{_code // 100 % 100}.{_code % 100}"

init = Communicator.init

__all__ = [
    "Communicator",
    "CudaError",
    "Error",
    "InProgress",
    "InternalError",
    "InvalidArgument",
    "InvalidUsage",
    "Mismatch",
    "PeerLost",
    "PlanInvalid",
    "RemoteError",
    "Request",
    "SystemFailure",
    "Timeout",
    "TooFewRanks",
    "Trainer",
    "Unsupported",
    "VersionMismatch",
    "empty",
    "init",
    "unique_id",
]
