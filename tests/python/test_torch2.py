# SPDX-License-Identifier: Apache-2.0
"""What torch 2.x has and 1.13 has not, on the backend «banyan»: collectives as functions, device meshes and tensors
spread over them, models whose parameters are sharded, compiled models. Left out where torch is older."""
import datetime
import unittest

import ranks

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import banyan
import banyan.torch

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


def losses_of(model, rank):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(STEPS):
        inputs, labels = batch(step, rank)
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
    assert all(abs(a - b) < 1e-5 for a, b in zip(found, expected)), (found, expected)


def later():
    rank, size = begin()
    expected = losses_alone(rank, size)
    check_functions(rank, size)
    check_mesh(rank, size)
    check_sharded(rank, size, expected)
    compare(losses_of(torch.compile(DistributedDataParallel(make_net()), backend="aot_eager"), rank), expected)
    banyan.torch.shrink(exclude=[1]) if rank != 1 else None
    if rank != 1:
        check_functions(dist.get_rank(), dist.get_world_size())
    print("done")


@unittest.skipUnless(IS_LATE, f"torch is {torch.__version__}, older than 2.6")
class Torch2(unittest.TestCase):
    def test_what_only_torch_2_has_works_on_the_backend(self):
        output = ranks.on(4, later)
        self.assertEqual(output.count("done"), 4, output)


if __name__ == "__main__":
    ranks.main(globals())
