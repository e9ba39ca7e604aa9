# SPDX-License-Identifier: Apache-2.0
"""All-reduce with PyTorch's Gloo backend, checked and timed as bench/rivals/mpi.c does it.
Arguments: BYTES:CALLS ...; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set."""
import json
import os
import sys
import time

import torch
import torch.distributed as dist


def measure(size, calls, rank, ranks):
    count = size // 4
    base = (torch.arange(count, dtype=torch.int64) % 97).to(torch.float32)
    data = base * (rank + 1)
    dist.all_reduce(data)
    wrong = int((data != base * (ranks * (ranks + 1) // 2)).sum())
    data = base * (rank + 1)
    for _ in range(20 if calls > 50 else 0):
        dist.all_reduce(data)
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(data)
    mine = torch.tensor([(time.perf_counter() - begin) / calls, float(wrong)], dtype=torch.float64)
    dist.all_reduce(mine, op=dist.ReduceOp.MAX)
    if rank == 0:
        print(json.dumps({"bytes": size, "seconds": mine[0].item(), "wrong": int(mine[1])}), flush=True)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for word in sys.argv[1:]:
        size, _, calls = word.partition(":")
        measure(int(size), int(calls or 1), int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    dist.destroy_process_group()


main()
