# SPDX-License-Identifier: Apache-2.0
"""What torch 2.x has and 1.13 has not, on the backend 'banyan': collectives as functions, device meshes and tensors
spread over them, models whose parameters are sharded, compiled models. Left out where torch is older. And tensors of a
GPU, where there is one."""
import datetime
import unittest

import ranks

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import banyan
import banyan.torch
from banyan.torch import native

IS_LATE = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 6)
STEPS = 4


def begin():
    torch.set_num_threads(1)
    dist.init_process_group("banyan", timeout=datetime.timedelta(seconds=40))
    return dist.get_rank(), dist.get_world_size()


def make_net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 24), nn.ReLU(), nn.Linear(24, 5))


def batch(step, rank):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(8, 20, generator=generator), torch.randint(0, 5, (8,), generator=generator)


def losses_of(model, rank, device="cpu"):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(STEPS):
        inputs, labels = (tensor.to(device) for tensor in batch(step, rank))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def losses_alone(rank, size):
    """This rank's losses, had one process all batches."""
    model = make_net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        for other in range(size):
            inputs, labels = batch(step, other)
            loss = nn.functional.cross_entropy(model(inputs), labels)
            (loss / size).backward()
            if other == rank:
                losses.append(loss.item())
        optimizer.step()
    return losses


def check_functions(rank, size):
    import torch.distributed._functional_collectives as functions

    world = dist.group.WORLD
    assert functions.all_reduce(torch.full((5,), rank + 1.0), "sum", world).tolist() == [size * (size + 1) / 2] * 5
    gathered = functions.all_gather_tensor(torch.full((2,), float(rank)), 0, world)
    assert gathered.tolist() == [float(other) for other in range(size) for _ in range(2)], gathered
    summed = functions.reduce_scatter_tensor(torch.arange(float(size)), "sum", 0, world)
    assert summed.tolist() == [float(rank * size)], summed
    swapped = functions.all_to_all_single(torch.full((size,), float(rank)), [1] * size, [1] * size, world)
    assert swapped.tolist() == [float(other) for other in range(size)], swapped


def check_coalescing(rank, size, device):
    """What is waited for is all of the calls, whether a queue, a pair's thread or a stream does them."""

    def together():
        return dist._coalescing_manager(group=dist.group.WORLD, device=torch.device(device), async_ops=True)

    many = torch.full((1 << 20,), rank + 1.0, device=device)
    with together() as calls:
        dist.all_reduce(many)
    calls.wait()
    assert torch.all(many == size * (size + 1) / 2), many
    gathered = [torch.empty(size, device=device), torch.empty(2 * size, device=device)]
    with together() as calls:
        for output in gathered:
            dist.all_gather_into_tensor(output, torch.full((output.numel() // size,), float(rank), device=device))
    calls.wait()
    assert gathered[0].tolist() == list(range(size)) and gathered[1].tolist()[::2] == list(range(size)), gathered
    parts = [torch.empty(1, device=device), torch.empty(2, device=device)]
    with together() as calls:
        for part in parts:
            dist.reduce_scatter_tensor(part, torch.ones(part.numel() * size, device=device))
    calls.wait()
    assert all(torch.all(part == size) for part in parts), parts
    came = torch.full((1 << 20,), -1.0, device=device)
    ours = torch.full((1 << 20,), float(rank), device=device)
    pair = [dist.P2POp(dist.isend, ours, (rank + 1) % size), dist.P2POp(dist.irecv, came, (rank - 1) % size)]
    for work in dist.batch_isend_irecv(pair):
        work.wait()
    assert torch.all(came == (rank - 1) % size), came


def check_mesh(rank, size):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("far", "near"))
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor, group=mesh["near"].get_group())
    assert tensor.item() == 2 * (rank // 2 * 2) + 1, tensor
    spread = distribute_tensor(torch.arange(16.0), mesh["far"], [Shard(0)])
    assert spread.to_local().numel() == 8 and spread.full_tensor().tolist() == list(range(16))


def check_sharded(rank, size, expected):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

    for keeps in (False, True):
        model = FullyShardedDataParallel(make_net(), device_id=torch.device("cpu"), use_orig_params=keeps)
        compare(losses_of(model, rank), expected)
    model, mesh = make_net(), init_device_mesh("cpu", (size,))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    compare(losses_of(model, rank), expected)


def compare(found, expected):
    assert all(abs(a - b) < 1e-4 for a, b in zip(found, expected)), (found, expected)


def later():
    rank, size = begin()
    expected = losses_alone(rank, size)
    check_functions(rank, size)
    if native.module():  # torch looks for a backend of C++
        check_coalescing(rank, size, "cpu")
    check_mesh(rank, size)
    check_sharded(rank, size, expected)
    compare(losses_of(torch.compile(DistributedDataParallel(make_net()), backend="aot_eager"), rank), expected)
    banyan.torch.shrink(exclude=[1]) if rank != 1 else None
    if rank != 1:
        check_functions(dist.get_rank(), dist.get_world_size())
    print("done")


def shrunk_by_torch():
    """torch's own call; only the C++ backend is something that it can shrink."""
    rank, size = begin()
    if rank == 1:
        return
    group = dist.shrink_group([1])
    assert group.size() == dist.get_world_size() == size - 1 and group.rank() == dist.get_rank()
    tensor = torch.tensor([dist.get_rank() + 1.0])
    dist.all_reduce(tensor)
    assert tensor.item() == 6, tensor
    assert banyan.torch.group_of(group).size() == 3
    compare(losses_of(DistributedDataParallel(make_net()), dist.get_rank()), losses_alone(dist.get_rank(), 3))
    print("done")


# Tensors of a GPU, which all ranks share here.


def check_gpu_moves(rank, size):
    def on_gpu(*values):
        return torch.tensor(values, device="cuda")

    gathered = torch.empty(2 * size, device="cuda")
    dist.all_gather_into_tensor(gathered, on_gpu(rank, rank + 0.5))
    assert gathered.tolist() == [other + part for other in range(size) for part in (0, 0.5)]
    part = torch.empty(1, device="cuda")
    dist.reduce_scatter_tensor(part, torch.arange(float(size), device="cuda"))
    assert part.item() == rank * size
    swapped = torch.empty(size, device="cuda")
    dist.all_to_all_single(swapped, torch.full((size,), float(rank), device="cuda"))
    assert swapped.tolist() == list(range(size))
    tensor = on_gpu(float(rank))
    dist.broadcast(tensor, 2)
    assert tensor.item() == 2
    if rank == 0:
        dist.send(on_gpu(5.0), 1)
    elif rank == 1:
        dist.recv(tensor, 0)
        assert tensor.item() == 5
    lists = [torch.empty(3, dtype=torch.int16, device="cuda") for _ in range(size)]
    dist.all_gather(lists, torch.full((3,), rank, dtype=torch.int16, device="cuda"))
    assert [one[2].item() for one in lists] == list(range(size))


def check_streams(rank, size):
    """A stream's earlier work is waited for, whichever stream it is, and the result is there for every other one."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        tensor = torch.zeros(1 << 20, device="cuda")
        torch.cuda._sleep(200_000_000)  # cycles: some tenth of a second
        tensor += rank + 1
        work = dist.all_reduce(tensor, async_op=True)
    other = torch.ones(4, device="cuda", dtype=torch.bfloat16).t()
    dist.all_reduce(other)
    work.wait()
    assert torch.all(tensor == size * (size + 1) / 2) and torch.all(other == size)


def check_schedule_on_gpu(rank, size):
    """Through DDP's first iterations, profiling and two plans; gradients of every step are those of one process."""
    model = DistributedDataParallel(make_net().cuda(), device_ids=[0], gradient_as_bucket_view=True)
    alone = make_net().cuda()
    plan = banyan.torch.schedule(model, unit_bytes=300, measure_ms=50, profile_iterations=1)
    for step in range(14):
        for other in range(size):
            inputs, labels = (tensor.cuda() for tensor in batch(step, other))
            (nn.functional.cross_entropy(alone(inputs), labels) / size).backward()
        inputs, labels = (tensor.cuda() for tensor in batch(step, rank))
        nn.functional.cross_entropy(model(inputs), labels).backward()
        for mine, one in zip(model.parameters(), alone.parameters()):
            assert torch.allclose(mine.grad, one.grad, rtol=1e-4, atol=1e-5), (step, mine.grad - one.grad)
            with torch.no_grad():
                for parameter in (mine, one):
                    parameter -= 0.1 * parameter.grad
                    parameter.grad.zero_()
    assert plan.stats().plan >= 2, plan.stats()
    plan.close()


def on_gpu():
    rank, size = begin()
    torch.cuda.set_device(0)
    expected = losses_alone(rank, size)
    check_gpu_moves(rank, size)
    check_streams(rank, size)
    model = DistributedDataParallel(make_net().cuda(), device_ids=[0])
    compare(losses_of(model, rank, "cuda"), expected)
    if IS_LATE:
        from torch.distributed.fsdp import FullyShardedDataParallel

        if native.module():
            check_coalescing(rank, size, "cuda")
        compare(losses_of(FullyShardedDataParallel(make_net().cuda()), rank, "cuda"), expected)
    check_schedule_on_gpu(rank, size)
    dist.barrier()
    dist.destroy_process_group()
    print("done")


def split_by_torch():
    """torch's own call, which wants the default group to be bound to a GPU; so does new_group() on ranks that are left out."""
    torch.cuda.set_device(0)
    dist.init_process_group("banyan", timeout=datetime.timedelta(seconds=40), device_id=torch.device("cuda:0"))
    rank = dist.get_rank()
    half = dist.split_group(split_ranks=[[0, 1], [3, 2]])
    for device in ("cuda", "cpu"):
        tensor = torch.tensor([rank + 1.0], device=device)
        dist.all_reduce(tensor, group=half)
        assert tensor.item() == (3 if rank < 2 else 7), tensor
    assert (dist.split_group(split_ranks=[[0]]) is None) == (rank > 0)
    pair = dist.new_group([1, 2])
    if rank in (1, 2):
        dist.all_reduce(tensor, group=pair)
        assert tensor.item() == 10, tensor
    dist.barrier()
    dist.destroy_process_group()
    print("done")


@unittest.skipUnless(torch.cuda.is_available(), "there is no GPU")
class Gpu(unittest.TestCase):
    @unittest.skipUnless(hasattr(dist, "split_group"), f"torch {torch.__version__} has no split_group")
    @unittest.skipUnless(native.module(), "the C++ backend was not built")
    def test_torch_splits_a_group(self):
        output = ranks.on(4, split_by_torch)
        self.assertEqual(output.count("done"), 4, output)

    def test_tensors_of_a_gpu_are_taken_and_given_back(self):
        output = ranks.on(4, on_gpu)
        self.assertEqual(output.count("done"), 4, output)


@unittest.skipUnless(IS_LATE, f"torch is {torch.__version__}, older than 2.6")
class Torch2(unittest.TestCase):
    def test_what_only_torch_2_has_works_on_the_backend(self):
        output = ranks.on(4, later)
        self.assertEqual(output.count("done"), 4, output)

    @unittest.skipUnless(hasattr(dist, "shrink_group"), f"torch {torch.__version__} has no shrink_group")
    @unittest.skipUnless(native.module(), "the C++ backend was not built")
    def test_torch_shrinks_a_group(self):
        output = ranks.on(4, shrunk_by_torch, spare=1)
        self.assertEqual(output.count("done"), 3, output)


if __name__ == "__main__":
    ranks.main(globals())
