# SPDX-License-Identifier: Apache-2.0
"""Banyan: all-reduce for networks that are not uniform.

    import banyan, numpy

    with banyan.init() as comm:
        print(comm.allreduce(numpy.ones(3) * comm.rank))

    print(banyan.plan("hosts:2+3", bytes=64 << 20).predicted_s)

The first is started by `banyan run -n 4 python3 program.py`, torchrun, mpirun or srun; the second needs no job.
`import banyan.torch` gives PyTorch the backend 'banyan'.
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
from .planning import Bounds, Comparison, Plan, Prediction, Schedule, Topology, Verdict
from .planning import algorithms, bound, compare, plan, verify
from .train import Trainer

__version__ = f"{_code // 10000}.{_code // 100 % 100}.{_code % 100}"

init = Communicator.init

__all__ = [
    "Bounds",
    "Communicator",
    "Comparison",
    "CudaError",
    "Error",
    "InProgress",
    "InternalError",
    "InvalidArgument",
    "InvalidUsage",
    "Mismatch",
    "PeerLost",
    "Plan",
    "PlanInvalid",
    "Prediction",
    "RemoteError",
    "Request",
    "Schedule",
    "SystemFailure",
    "Timeout",
    "TooFewRanks",
    "Topology",
    "Trainer",
    "Unsupported",
    "Verdict",
    "VersionMismatch",
    "algorithms",
    "bound",
    "compare",
    "empty",
    "init",
    "plan",
    "unique_id",
    "verify",
]
