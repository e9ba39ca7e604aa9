#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one all-reduce of a CPU tensor takes through torch.distributed, for each size: the median of the calls of rank 0,
in microseconds, as tab-separated values. Run it as `banyan run -n 4 python3 bench/torch_latency.py BACKEND [BYTES ...]`.
BACKEND may be banyan:shared, for tensors in memory of banyan.empty(), which the ranks of a host reach in place. With either, calls of the
library on the same memory take turns with torch's, and the ratio of the medians is what torch adds."""

import sys
import time

import torch
import torch.distributed as dist

import banyan.torch  # for all backends: it sets what torch's rendezvous asks for
from banyan.torch import native

backend, _, memory = sys.argv[1].partition(":")
kind = backend if backend != "banyan" else "banyan, C++" if native.module() else "banyan, Python"
torch.set_num_threads(1)
dist.init_process_group(backend)
for count in map(int, sys.argv[2:] or ["1024"]):
    tensor = torch.from_numpy(banyan.empty(count // 4)) if memory else torch.empty(count // 4)
    tensor.fill_(1)
    calls = 2000 if count <= 1 << 16 else 10
    ways = [lambda: dist.all_reduce(tensor)]
    if backend == "banyan":
        comm, address = banyan.torch.communicator(), tensor.data_ptr()
        ways.append(lambda: comm.allreduce_at(address, address, count // 4, "float32"))
    times = [[] for _ in ways]
    for i in range(calls + calls // 5):
        for call, taken in zip(ways, times):
            begin = time.perf_counter()
            call()
            taken.append(time.perf_counter() - begin)
        if i % 50 == 0:
            tensor.fill_(1)
    times = [sorted(taken[calls // 5 :]) for taken in times]
    medians = [taken[len(taken) // 2] * 1e6 for taken in times]
    if dist.get_rank() == 0:
        print(
            f"{kind}{', shared' if memory else ''}\t{dist.get_world_size()} ranks\t{count} bytes\tmedian {medians[0]:.1f} us"
            f"\tbest {times[0][0] * 1e6:.1f} us\ttorch {torch.__version__}"
            + (f"\tlibrary {medians[1]:.1f} us\tratio {medians[0] / medians[1]:.2f}" if len(ways) > 1 else ""),
            flush=True,
        )
dist.barrier()
dist.destroy_process_group()
