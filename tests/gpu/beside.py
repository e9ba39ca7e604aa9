# SPDX-License-Identifier: Apache-2.0
"""All-reduce of CUDA tensors by Banyan, NCCL and Gloo in turn, by ranks that share the GPUs. NCCL refuses two ranks on one GPU unless each
claims to be a host of its own (NCCL_HOSTID), and then goes over sockets. Arguments: numbers of ranks. Run by scripts/gpu-suite.sh."""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

SIZES = [1 << 10, 1 << 20, 64 << 20]
BUDGET_S = 3  # for one size and backend


def measure(backend, data, iterations):
    for _ in range(3):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    dist.barrier()
    began = time.perf_counter()
    for _ in range(iterations):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / iterations


def run(rank, size, port, backend, out):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    os.environ["NCCL_HOSTID"] = f"host{rank}"
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    if backend == "banyan":
        import banyan.torch  # noqa: F401  registers the backend
    dist.init_process_group(backend)
    for size_bytes in SIZES:
        data = torch.zeros(size_bytes // 4, device=device)
        once = measure(backend, data, 2)
        agreed = torch.tensor([once], device=device)
        dist.all_reduce(agreed, dist.ReduceOp.MAX)
        seconds = measure(backend, data, max(3, min(200, int(BUDGET_S / 4 / agreed.item()))))
        agreed[0] = seconds
        dist.all_reduce(agreed, dist.ReduceOp.MAX)
        if rank == 0:
            print(f"{backend:8} {size} ranks {size_bytes:>10} B {1e6 * agreed.item():>10.1f} us "
                  f"{size_bytes / agreed.item() / 1e9:>9.3f} GB/s", flush=True)
    dist.barrier()
    os._exit(0)


def main():
    failed = 0
    context = mp.get_context("spawn")
    for size in map(int, sys.argv[1:]):
        for number, backend in enumerate(("banyan", "nccl", "gloo")):
            ranks = [
                context.Process(target=run, args=(rank, size, 29700 + 10 * size + number, backend, None))
                for rank in range(size)
            ]
            for one in ranks:
                one.start()
            for one in ranks:
                one.join(45)
            ended = all(one.exitcode == 0 for one in ranks)
            for one in ranks:
                if one.exitcode is None:
                    one.kill()
            if not ended:
                print(f"{backend:8} {size} ranks: did not end well: {[one.exitcode for one in ranks]}", flush=True)
                failed |= backend == "banyan"
    sys.exit(failed)


if __name__ == "__main__":
    main()
