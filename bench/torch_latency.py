#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one all-reduce of a CPU tensor takes through torch.distributed, for each size: the median of the calls of rank 0,
in microseconds, as tab-separated values. Run it as `banyan run -n 4 python3 bench/torch_latency.py BACKEND [BYTES ...]`."""

import os
import sys
import time

import torch
import torch.distributed as dist

backend = sys.argv[1]
if backend == "banyan":
    import banyan.torch
    from banyan.torch import native

    kind = "banyan, C++" if native.module() else "banyan, Python"
else:
    import banyan.torch  # sets what torch's rendezvous asks for

    kind = backend
torch.set_num_threads(1)
dist.init_process_group(backend)
for count in map(int, sys.argv[2:] or ["1024"]):
    tensor = torch.ones(count // 4)
    calls = 2000 if count <= 1 << 16 else 10
    times = []
    for i in range(calls + calls // 5):
        begin = time.perf_counter()
        dist.all_reduce(tensor)
        times.append(time.perf_counter() - begin)
        if i % 50 == 0:
            tensor.fill_(1)
    times = sorted(times[calls // 5 :])
    if dist.get_rank() == 0:
        print(
            f"{kind}\t{dist.get_world_size()} ranks\t{count} bytes\tmedian {times[len(times) // 2] * 1e6:.1f} us"
            f"\tbest {times[0] * 1e6:.1f} us\ttorch {torch.__version__}",
            flush=True,
        )
dist.barrier()
dist.destroy_process_group()
