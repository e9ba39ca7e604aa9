# SPDX-License-Identifier: Apache-2.0
"""PyTorch: `import banyan.torch` registers the backend 'banyan' of torch.distributed.

    import torch.distributed as dist
    import banyan.torch

    dist.init_process_group("banyan")                       # instead of "gloo"
    model = torch.nn.parallel.DistributedDataParallel(model)
    banyan.torch.schedule(model)                            # schedules gradients for this network

Works under `banyan run`, torchrun, mpirun and srun. CPU and CUDA tensors; torch 1.13 and 2.x.
"""

from .environment import adopt_launcher
from .group import BanyanGroup, communicator, group_of, register
from .membership import grow, join, shrink
from .recorder import dump_flight_recorder
from .schedule import Schedule, schedule

register()
adopt_launcher()

__all__ = [
    "BanyanGroup",
    "Schedule",
    "adopt_launcher",
    "communicator",
    "dump_flight_recorder",
    "group_of",
    "grow",
    "join",
    "register",
    "schedule",
    "shrink",
]
