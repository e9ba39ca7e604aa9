# SPDX-License-Identifier: Apache-2.0
"""CUDA tensors through the backend: random calls against sums that torch itself makes, side streams, graphs, DDP, memory
that is not contiguous, a killed rank. Arguments: how many ranks; they share the GPUs. Run by scripts/gpu-suite.sh."""

import os
import random
import signal
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import banyan.torch  # noqa: F401  registers the backend


def tensors_of(size, shape, dtype, seed):
    """What every rank gives, the same on all ranks."""
    made = torch.Generator().manual_seed(seed)
    return [torch.randint(-8, 9, shape, generator=made).to(dtype) for _ in range(size)]


def check_random(rank, size, device):
    choose = random.Random(5)
    streams = [torch.cuda.Stream(device) for _ in range(3)]
    for trial in range(80):
        dtype = choose.choice([torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32])
        op, how = choose.choice([("SUM", sum), ("MAX", None), ("MIN", None)])
        count, offset = choose.choice([1, 7, 1000, 65537, 3000001]), choose.randrange(4)
        given = tensors_of(size, (count,), dtype, trial)
        stream = streams[trial % 3]
        with torch.cuda.stream(stream):
            whole = torch.zeros(count + offset, dtype=dtype, device=device)
            mine = whole[offset:]
            mine.copy_(given[rank])
            work = dist.all_reduce(mine, getattr(dist.ReduceOp, op), async_op=True)
            work.wait()
            result = mine.clone()
        stream.synchronize()
        expected = torch.stack(given).double()
        expected = expected.sum(0) if how else expected.amax(0) if op == "MAX" else expected.amin(0)
        assert torch.equal(result.cpu().double(), expected), f"trial {trial}: {dtype} {op} {count}"
    print(f"rank {rank}: 80 random calls on 3 streams are right", flush=True)


def check_collectives(rank, size, device):
    """Every other collective, on a stream of its own, against what its meaning says."""
    stream = torch.cuda.Stream(device)
    for count in (1, 1000, 700001):
        given = tensors_of(size, (size, count), torch.float32, count)
        total = torch.stack(given).sum(0)
        with torch.cuda.stream(stream):
            mine = given[rank].to(device, non_blocking=True)
            row = mine[rank].clone()
            gathered = torch.zeros(size, count, device=device)
            dist.all_gather_into_tensor(gathered, row)
            parts = [torch.zeros(count, device=device) for _ in range(size)]
            dist.all_gather(parts, row)
            share = torch.zeros(count, device=device)
            dist.reduce_scatter_tensor(share, mine)
            shares = torch.zeros(count, device=device)
            dist.reduce_scatter(shares, list(mine.clone().unbind(0)))
            sent = mine.clone()
            dist.broadcast(sent, size - 1)
            reduced = mine.clone()
            dist.reduce(reduced, 0)
            exchanged = torch.zeros(size, count, device=device)
            dist.all_to_all_single(exchanged, mine)
            doubled = exchanged * 2  # ordered behind the call
        stream.synchronize()
        rows = torch.stack([given[r][r] for r in range(size)])
        assert torch.equal(gathered.cpu(), rows), f"all_gather_into_tensor of {count}"
        assert torch.equal(torch.stack(parts).cpu(), rows), f"all_gather of {count}"
        assert torch.equal(share.cpu(), total[rank]), f"reduce_scatter_tensor of {count}"
        assert torch.equal(shares.cpu(), total[rank]), f"reduce_scatter of {count}"
        assert torch.equal(sent.cpu(), given[size - 1]), f"broadcast of {count}"
        assert torch.equal(reduced.cpu(), total if rank == 0 else given[rank]), f"reduce of {count}"
        assert torch.equal(doubled.cpu(), 2 * torch.stack([given[r][rank] for r in range(size)])), f"all_to_all of {count}"
    print(f"rank {rank}: every other collective on a stream is right", flush=True)


def check_fsdp(rank, size, device):
    from torch.distributed.fsdp import FullyShardedDataParallel

    def make():
        torch.manual_seed(4)
        return torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)).to(device)

    alone, whole = make(), FullyShardedDataParallel(make(), device_id=device)
    steps = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (alone, whole)]
    made = torch.Generator().manual_seed(12)
    for _ in range(4):
        inputs = torch.randn(size, 16, 64, generator=made).to(device)
        losses = [alone(inputs.flatten(0, 1)).square().mean(), whole(inputs[rank]).square().mean()]
        for step, loss in zip(steps, losses):
            step.zero_grad()
            loss.backward()
            step.step()
    inputs = torch.randn(16, 64, generator=made).to(device)
    assert torch.allclose(alone(inputs), whole(inputs), rtol=1e-3, atol=1e-5)
    print(f"rank {rank}: FSDP's model is that of one process", flush=True)


def check_graph(rank, size, device):
    data = torch.zeros(100000, device=device)
    dist.all_reduce(data)  # once before, as with any library
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled = data * 2
        dist.all_reduce(doubled)
        result = doubled + 1
        dist.all_reduce(result)
    for time_ in range(50):
        data.fill_(float(rank + time_))
        graph.replay()
        if time_ % 7 == 0:  # beside the graph
            dist.all_reduce(data)
        torch.cuda.synchronize()
        expected = (2 * sum(r + time_ for r in range(size)) + 1) * size
        assert torch.equal(result.cpu(), torch.full((100000,), float(expected))), (time_, result[0].item(), expected)
    print(f"rank {rank}: a graph with two calls was launched 50 times", flush=True)
    graph.reset()


def check_ddp(rank, size, device):
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)).to(device)
    alone = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)).to(device)
    alone.load_state_dict(model.state_dict())
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    made = torch.Generator().manual_seed(11)
    for _ in range(3):
        inputs = torch.randn(size, 16, 64, generator=made).to(device)
        ddp.zero_grad()
        alone.zero_grad()
        ddp(inputs[rank]).square().mean().backward()
        alone(inputs.flatten(0, 1)).square().mean().backward()
        for mine, theirs in zip(ddp.parameters(), alone.parameters()):
            assert torch.allclose(mine.grad, theirs.grad, rtol=1e-4, atol=1e-6)
    print(f"rank {rank}: DDP's gradients are those of one process", flush=True)


def check_other_memory(rank, size, device):
    strided = torch.full((100, 100), float(rank), device=device).t()[:, :50]
    dist.all_reduce(strided)
    assert torch.equal(strided.cpu(), torch.full((100, 50), float(sum(range(size)))))
    for _ in range(20):  # memory that comes and goes
        data = torch.full((3 << 20,), float(rank + 1), device=device)
        dist.all_reduce(data)
        assert data[-1].item() == sum(range(1, size + 1))
        del data
        torch.cuda.empty_cache()
    print(f"rank {rank}: memory that is not contiguous, or freed and taken again", flush=True)


def check_out_of_memory(rank, size, device):
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device=device)
        raise AssertionError("there cannot be so much memory")
    except torch.cuda.OutOfMemoryError:
        pass
    data = torch.ones(10, device=device)
    dist.all_reduce(data)
    assert data[0].item() == size
    print(f"rank {rank}: works on after the GPU was out of memory", flush=True)


def check_mixed(rank, size, device):
    """CPU tensors on rank 1 and CUDA tensors on the others: all are told at once, in whatever order they have used either before; where the
    library leaves GPUs alone it works."""
    def add(group, place):
        data = torch.ones(1000, device=place)
        dist.all_reduce(data, group=group)
        torch.cuda.synchronize()
        if place != "cpu":
            dist.all_reduce(data, group=group)  # what has gone wrong on a stream is raised by the next call
        return data[-1].item()

    for before in ([], ["cpu"], [device, "cpu"], ["cpu", device]):
        group, began = dist.new_group(), time.time()
        for place in before:
            add(group, place)
        try:
            add(group, "cpu" if rank == 1 else device)
            raise AssertionError(f"rank {rank} knows of nothing after {before}")
        except RuntimeError as error:
            assert "differs" in str(error) and "rank 1" in str(error) and time.time() - began < 20, (before, time.time() - began, error)
            print(f"rank {rank}: after {time.time() - began:.2f} s: {error}", flush=True)
    group, os.environ["BANYAN_GPU"] = dist.new_group(), "off"
    data = torch.ones(1000, device="cpu" if rank == 1 else device)
    dist.all_reduce(data, group=group)
    assert data[-1].item() == size
    os.environ["BANYAN_GPU"] = "cuda"


def check_killed(rank, size, device):
    data = torch.ones(1 << 20, device=device)
    dist.all_reduce(data)
    torch.cuda.synchronize()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.time()
    try:
        while time.time() - began < 60:
            dist.all_reduce(data)
            torch.cuda.synchronize()
        raise AssertionError("nobody has noticed")
    except RuntimeError as error:
        print(f"rank {rank}: after {time.time() - began:.2f} s: {type(error).__name__}: {error}", flush=True)


def run(rank, size, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    dist.init_process_group("banyan")
    for check in (check_random, check_collectives, check_other_memory, check_ddp, check_fsdp, check_graph, check_out_of_memory, check_mixed, check_killed):
        check(rank, size, device)
    os._exit(0)  # the group is dead


def main():
    size = int(sys.argv[1])
    context = mp.get_context("spawn")
    ranks = [context.Process(target=run, args=(rank, size, 29611)) for rank in range(size)]
    for one in ranks:
        one.start()
    for one in ranks:
        one.join(180)
    codes = [one.exitcode for one in ranks]
    for one in ranks:
        if one.exitcode is None:
            one.kill()
    print("exit codes", codes)
    sys.exit(0 if codes == [-9 if rank == 1 else 0 for rank in range(size)] else 1)


if __name__ == "__main__":
    main()
