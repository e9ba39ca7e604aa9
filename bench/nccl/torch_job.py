# SPDX-License-Identifier: Apache-2.0
"""One rank of a torch job over backend nccl, to see that results are the same with the plugin as without it.

torch_job.py KINDS [PLUGIN]: KINDS are some of ddp, fsdp, types and graph, with commas between. Ranks come from RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT; all use GPU LOCAL_RANK, or the only one. Rank 0 prints one line of JSON for each kind. With PLUGIN, the path of libnccl-net-banyan.so, a
line has the plugin's own counters: a right sum alone does not prove that it served.
"""
import ctypes
import datetime
import json
import os
import sys

import torch
import torch.distributed as dist

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def counters(plugin):
    if not plugin:
        return None
    numbers = (ctypes.c_uint64 * 6)()
    ctypes.CDLL(plugin).banyan_nccl_get_counts(numbers)
    return dict(zip(("allreduces", "gathers", "scatters", "bytes", "failures", "groups"), numbers))


def make_model():
    torch.manual_seed(1)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(512, 512), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(512, 10)).cuda()


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(100 + RANK)
    losses = []
    for _ in range(8):
        inputs = torch.randn(64, 512, generator=generator).cuda()
        targets = torch.randint(0, 10, (64,), generator=generator).cuda()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        losses.append(float(total))
    return {"losses": losses}


def ddp():
    return train(torch.nn.parallel.DistributedDataParallel(make_model()))


def fsdp():
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy

    return train(FullyShardedDataParallel(make_model(), sharding_strategy=ShardingStrategy.FULL_SHARD))


def graph():
    tensor = torch.full((1 << 18,), float(RANK + 1), device="cuda")
    dist.all_reduce(tensor)  # makes the connections
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        dist.all_reduce(tensor)
    for _ in range(3):
        tensor.fill_(float(RANK + 1))
        captured.replay()
        torch.cuda.synchronize()
    expected = SIZE * (SIZE + 1) / 2
    return {"right": bool((tensor == expected).all()), "replays": 3}


def types():
    wrong = []
    cases = [(t, ops) for ts, ops in (
        ((torch.float32, torch.float16, torch.bfloat16, torch.float64), ("SUM", "PRODUCT", "MAX", "MIN", "AVG")),
        ((torch.int8, torch.uint8, torch.int32, torch.int64), ("SUM", "PRODUCT", "MAX", "MIN"))) for t in ts]
    for kind, ops in cases:
        for op in ops:
            tensor = torch.full((5000,), RANK + 1, dtype=kind, device="cuda")
            dist.all_reduce(tensor, op=getattr(dist.ReduceOp, op))
            values = [r + 1 for r in range(SIZE)]
            product = 1
            for v in values:
                product *= v
            expected = {"SUM": sum(values), "PRODUCT": product, "MAX": max(values), "MIN": min(values),
                        "AVG": sum(values) / SIZE}[op]
            if not bool(torch.isclose(tensor.double(), torch.tensor(float(expected), dtype=torch.float64, device="cuda"),
                                      rtol=1e-2).all()):
                wrong.append("%s %s" % (kind, op))
    return {"tried": sum(len(ops) for _, ops in cases), "wrong": wrong}


def do(kind, plugin):
    before = counters(plugin)
    result = {"ddp": ddp, "fsdp": fsdp, "graph": graph, "types": types}[kind]()
    torch.cuda.synchronize()
    after = counters(plugin)
    result.update(kind=kind, ranks=SIZE, counters=after and {k: after[k] - before[k] for k in after})
    if RANK == 0:
        print(json.dumps(result), flush=True)


def main():
    kinds, plugin = sys.argv[1].split(","), sys.argv[2] if len(sys.argv) > 2 else None
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=60))
    dist.all_reduce(torch.zeros(1, device="cuda"))  # NCCL loads the plugin now
    torch.cuda.synchronize()
    for kind in kinds:
        do(kind, plugin)
    dist.destroy_process_group()


main()
