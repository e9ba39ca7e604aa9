# SPDX-License-Identifier: Apache-2.0
"""all_reduce of CUDA tensors of 1 KiB, 4 MiB and 64 MiB by 2 and 4 ranks that share GPU 0: microseconds per call. With
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True torch's memory cannot be mapped by other processes, and goes through a window
(docs/gpu.md).

    BANYAN_SOCKET_IFNAME=lo python3 bench/torch_gpu_memory.py
"""
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import banyan.torch  # noqa: F401  registers the backend

CALLS = 50


def run(rank, size):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29500 + size))
    torch.cuda.set_device(0)
    dist.init_process_group("banyan")
    for count in (256, 1 << 20, 16 << 20):
        data = torch.ones(count, device="cuda")
        dist.all_reduce(data)
        assert data[-1].item() == size
        for _ in range(5):
            dist.all_reduce(data)
        torch.cuda.synchronize()
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(CALLS):
            dist.all_reduce(data)
        torch.cuda.synchronize()
        seconds = (time.perf_counter() - begin) / CALLS
        if rank == 0:
            kind = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "usual")
            print(f"{kind}\t{size} ranks\t{4 * count} bytes\t{1e6 * seconds:.1f} us\t{4e-9 * count / seconds:.1f} GB/s", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    for size in (2, 4):
        mp.spawn(run, args=(size,), nprocs=size)
