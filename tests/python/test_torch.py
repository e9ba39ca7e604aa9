# SPDX-License-Identifier: Apache-2.0
"""The backend of torch.distributed, DDP on it, and gradients by schedule. Starting torch is what costs time here, so
each start of the ranks makes many checks."""
import ctypes
import datetime
import os
import threading
import time
import unittest

import ranks

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import banyan
import banyan.torch
from banyan.library import lib
from banyan.torch import native
from banyan.torch.environment import adopt_launcher
from banyan.torch.schedule import Schedule
from banyan.torch.trial import Trial, judge
from banyan.torch.work import Worker

TIMEOUT = datetime.timedelta(seconds=40)


def begin():
    torch.set_num_threads(1)
    dist.init_process_group("banyan", timeout=TIMEOUT)
    return dist.get_rank(), dist.get_world_size()


def equal(found, expected):
    assert torch.equal(found, torch.as_tensor(expected, dtype=found.dtype)), f"{found} is not {expected}"


# What ranks do: the collectives.


def collectives():
    rank, size = begin()
    assert dist.get_backend() == "banyan" and size == 3
    check_sums(rank, size)
    check_moves(rank, size)
    check_pairs(rank, size)
    check_groups(rank, size)
    check_errors(rank)
    check_later_names(rank, size)
    check_bare_arguments(rank, size)
    check_monitored_barrier(rank, size)
    check_split(rank)
    check_timeout(rank)
    dist.barrier()
    dist.destroy_process_group()


def check_sums(rank, size):
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8):
        tensor = torch.full((3, 5), rank + 1, dtype=dtype)
        dist.all_reduce(tensor)
        equal(tensor, torch.full((3, 5), 6))
    for op, expected in (("MAX", 3), ("MIN", 1), ("PRODUCT", 6), ("AVG", 2)):
        tensor = torch.tensor([rank + 1.0])
        dist.all_reduce(tensor, op=getattr(dist.ReduceOp, op))
        equal(tensor, [expected])
    tensor = torch.tensor([rank == 1, False])
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    equal(tensor, [True, False])
    tensor = torch.tensor([1 + 2j], dtype=torch.complex64)
    dist.all_reduce(tensor)
    equal(tensor, [3 + 6j])
    turned = torch.arange(6.0).view(2, 3).t()  # not contiguous
    dist.all_reduce(turned)
    equal(turned, 3 * torch.arange(6.0).view(2, 3).t())
    works = [dist.all_reduce(torch.full((10,), float(i)), async_op=True) for i in range(20)]
    for i, work in enumerate(works):
        assert work.get_future().wait()[0][0] == 3 * i and work.is_completed()
    tensor = torch.tensor([rank + 1.0])
    dist.reduce(tensor, 1)
    assert rank != 1 or tensor.item() == 6
    out = torch.empty(2)
    dist.reduce_scatter(out, [torch.full((2,), float(i)) for i in range(size)])
    equal(out, [3.0 * rank] * 2)
    base = torch.empty(2)
    reduce_scatter_tensor = getattr(dist, "reduce_scatter_tensor", None) or dist._reduce_scatter_base
    reduce_scatter_tensor(base, torch.arange(6.0))
    equal(base, 3 * torch.arange(6.0)[2 * rank : 2 * rank + 2])


def check_moves(rank, size):
    for dtype in (torch.int16, torch.bool, torch.float32):
        tensor = torch.full((4,), rank, dtype=dtype)
        dist.broadcast(tensor, 2)
        equal(tensor, torch.full((4,), 2, dtype=dtype))
    parts = [torch.empty(2, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(parts, torch.tensor([rank, -rank]))
    equal(torch.stack(parts), [[0, 0], [1, -1], [2, -2]])
    whole = torch.empty(size * 2)
    dist.all_gather_into_tensor(whole, torch.full((2,), float(rank)))
    equal(whole, [0, 0, 1, 1, 2, 2])
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank})
    assert [one["rank"] for one in objects] == [0, 1, 2]
    told = [{"from": 0} if rank == 0 else None]
    dist.broadcast_object_list(told, src=0)
    assert told == [{"from": 0}]
    parts = [torch.empty(1) for _ in range(size)] if rank == 1 else None
    dist.gather(torch.tensor([float(rank)]), parts, dst=1)
    assert parts is None or [part.item() for part in parts] == [0, 1, 2]
    out = torch.empty(2)
    dist.scatter(out, [torch.full((2,), -0.5 * i) for i in range(size)] if rank == 2 else None, src=2)
    equal(out, [-0.5 * rank] * 2)
    out = torch.empty(size)
    dist.all_to_all_single(out, torch.arange(3.0) + 10 * rank)
    equal(out, [rank, 10 + rank, 20 + rank])
    outputs = [torch.empty(rank + 1) for _ in range(size)]  # rank r gets r + 1 numbers from each
    dist.all_to_all(outputs, [torch.full((to + 1,), float(rank)) for to in range(size)])
    for source, output in enumerate(outputs):
        equal(output, [source] * (rank + 1))


def check_pairs(rank, size):
    if rank == 0:
        dist.send(torch.arange(4.0), 1)
        dist.send(torch.tensor([7]), 1, tag=5)
        dist.send(torch.tensor([8]), 1, tag=5)
    if rank == 1:
        later, sooner = torch.empty(1, dtype=torch.int64), torch.empty(4)
        dist.recv(later, 0, tag=5)  # overtakes the one without a tag
        assert later.item() == 7
        dist.recv(sooner, 0)
        equal(sooner, [0, 1, 2, 3])
        dist.recv(later, 0, tag=5)
        assert later.item() == 8
    right, left = (rank + 1) % size, (rank - 1) % size
    got = torch.empty(100)
    works = [dist.isend(torch.full((100,), float(rank)), right), dist.irecv(got, left)]
    for work in works:
        work.wait()
    equal(got, [left] * 100)
    check_directions(rank)


def check_directions(rank):
    """Two ranks that meet for the first time in both directions at once, by two threads each and one store."""
    for _ in range(8):
        pair = dist.new_group([0, 1])
        if rank > 1:
            continue
        got = torch.empty(1)
        works = [f(tensor, 1 - rank, group=pair) for f, tensor in ((dist.isend, torch.tensor([rank + 0.5])), (dist.irecv, got))]
        for work in works:
            work.wait()
        equal(got, [1.5 - rank])


def check_groups(rank, size):
    pair, others = dist.new_group([0, 2]), dist.new_group([1])
    mine = pair if rank != 1 else others
    tensor = torch.tensor([rank + 1.0])
    dist.all_reduce(tensor, group=mine)
    equal(tensor, [4.0] if rank != 1 else [2.0])
    if rank != 1:
        tensor = torch.tensor([float(rank)])
        dist.broadcast(tensor, 2, group=pair)
        equal(tensor, [2.0])
    everybody = torch.tensor([1.0])
    dist.all_reduce(everybody)
    equal(everybody, [3.0])


def check_later_names(rank, size):
    """What torch 2.x calls a group by, where that is not what 1.13 does."""
    group = banyan.torch.group_of(dist.distributed_c10d._get_default_group())
    group.start_coalescing(torch.device("cpu"))
    gathered, mine = torch.empty(size), torch.tensor([float(rank)])
    group.all_gather_single(gathered, mine)
    summed = torch.empty(1)
    group.reduce_scatter_single(summed, torch.arange(float(size)))
    swapped = torch.empty(size)
    group.all_to_all_single(swapped, torch.full((size,), float(rank)), [], [])
    group.end_coalescing(torch.device("cpu")).wait()
    equal(gathered, range(size))
    equal(summed, [float(rank * size)])
    equal(swapped, range(size))
    group.all_gather_single_coalesced([gathered], [mine + 1]).wait()
    group.reduce_scatter_single_coalesced([summed], [torch.ones(size)]).wait()
    equal(gathered, range(1, size + 1))
    equal(summed, [float(size)])


def check_bare_arguments(rank, size):
    """c10d's methods take the op and the root without options, and a tensor without a list."""
    group = dist.distributed_c10d._get_default_group()
    for op, expected in ((dist.ReduceOp.MAX, 3.0), (dist.ReduceOp.MIN, 1.0), (dist.ReduceOp.SUM, 6.0)):
        tensor = torch.full((2,), rank + 1.0)
        group.allreduce([tensor], op).wait()
        equal(tensor, [expected] * 2)
        tensor = torch.full((2,), rank + 1.0)
        group.reduce(tensor, 1, op).wait()
        assert rank != 1 or tensor.tolist() == [expected] * 2, tensor
    tensor = torch.full((2,), float(rank))
    group.allreduce(tensor).wait()
    equal(tensor, [3.0, 3.0])
    tensor = torch.full((2,), float(rank))
    group.broadcast(tensor, 2).wait()
    equal(tensor, [2.0, 2.0])
    parts = [torch.empty(1) for _ in range(size)]
    group.allgather(parts, torch.tensor([float(rank)])).wait()
    equal(torch.cat(parts), range(size))
    output = torch.empty(1)
    group.reduce_scatter(output, [torch.tensor([float(i + rank)]) for i in range(size)], dist.ReduceOp.MAX).wait()
    equal(output, [rank + 2.0])


def check_monitored_barrier(rank, size):
    """Whoever does not come is named, by all others, and the group works on."""
    group = banyan.torch.group_of(dist.distributed_c10d._get_default_group())
    group.monitored_barrier()
    for late in (2, 0):
        if rank != late:
            try:
                group.monitored_barrier(datetime.timedelta(milliseconds=300), wait_all_ranks=True)
            except banyan.Timeout as error:
                assert f"rank {late} has not come to the monitored barrier within 300 ms" in str(error), error
            else:
                raise AssertionError("nobody was missing")
        else:
            group._monitored += 1  # as if it had come, much later
    dist.barrier()
    group.monitored_barrier(TIMEOUT)


def check_split(rank):
    """Groups out of a group, by torch's own call where it has one, and one whose ranks are given anew."""
    world = dist.distributed_c10d._get_default_group()
    mine, members = banyan.torch.group_of(world), [0, 2]
    if native.module() and hasattr(world, "split_group"):
        half = world.split_group(members, timeout=TIMEOUT, group_name="half")
    else:
        half = mine.split(dist.PrefixStore("half", mine._store), members)
    assert (half is None) == (rank == 1)
    if half is not None:
        tensor = torch.tensor([rank + 1.0])
        half.allreduce([tensor]).wait()
        equal(tensor, [4])
        assert (half.rank(), half.size()) == (members.index(rank), 2)
        assert banyan.torch.group_of(half).workers == members
    merged = mine.merge(dist.PrefixStore("merged", mine._store), 2 - rank, 3)
    tensor = torch.tensor([float(rank)])
    banyan.torch.group_of(merged).broadcast([tensor], 0).wait()
    equal(tensor, [2])


def check_timeout(rank):
    """A later one is that of later calls."""
    group = dist.new_group()
    dist.barrier(group=group)
    shown = group if hasattr(group, "set_timeout") else banyan.torch.group_of(group)
    shown.set_timeout(datetime.timedelta(milliseconds=300))
    assert banyan.torch.group_of(group).timeout_ms == 300
    if rank == 0:
        try:
            dist.all_reduce(torch.ones(1), group=group)
        except banyan.Timeout as error:
            assert "300 ms" in str(error), error
        else:
            raise AssertionError("nobody was missing")
    dist.barrier()


def check_errors(rank):
    def raises(kind, words, call):
        try:
            call()
        except kind as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"nothing was raised: {words}")

    raises(banyan.Unsupported, "cannot combine torch.int16 by sum", lambda: dist.all_reduce(torch.ones(1, dtype=torch.int16)))
    raises(banyan.Unsupported, "not BXOR", lambda: dist.all_reduce(torch.ones(1, dtype=torch.int32), op=dist.ReduceOp.BXOR))
    raises(banyan.Unsupported, "sparse", lambda: dist.all_reduce(torch.ones(2).to_sparse()))
    raises(banyan.Error, "all_gather: ", lambda: dist.all_gather_into_tensor(torch.empty(2), torch.empty(1)))
    base = torch.ones(12)
    part = base[rank * 3 + 1 :][:3]
    raises(banyan.Error, "in place", lambda: dist.all_gather_into_tensor(base[:9], part))
    raises(banyan.Error, "in place", lambda: dist.reduce_scatter_tensor(part, base[:9]))
    equal_on_all = torch.tensor([1.0])
    dist.all_reduce(equal_on_all)  # none of it had an effect
    equal(equal_on_all, [3.0])


# DDP.


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.spare = nn.Linear(6, 40), nn.Linear(40, 3), nn.Linear(40, 3)

    def forward(self, x, uses_spare=False):
        hidden = torch.tanh(self.first(x))
        return self.spare(hidden) if uses_spare else self.second(hidden)


class UsesAll(Net):
    def forward(self, x):
        return super().forward(x) + super().forward(x, uses_spare=True)


def batch(step, count):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(count, 6, generator=generator), torch.randn(count, 3, generator=generator)


def loss_of(found, expected):
    return nn.functional.mse_loss(found.float(), expected.float())


def gradients_of(model):
    return [p.grad.clone() if p.grad is not None else None for p in model.parameters()]


def compare(found, expected, tolerance=1e-5):
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert (one is None) == (other is None), "a gradient is there and should not be, or the other way round"
        assert one is None or torch.allclose(one.float(), other.float(), rtol=tolerance, atol=tolerance), one - other


def train_as_alone(rank, size, make_ddp, steps, dtype=torch.float32, tolerance=1e-5, schedule=True, accumulate=False, unit_bytes=1):
    """Gradients of every step are those of one process that has the batches of all ranks."""
    torch.manual_seed(5)
    alone = UsesAll().to(dtype)
    torch.manual_seed(5 if rank == 0 else 6)  # DDP gives rank 0's to all
    ddp = make_ddp(UsesAll().to(dtype))
    plan = banyan.torch.schedule(ddp, unit_bytes=unit_bytes, measure_ms=50, profile_iterations=1) if schedule else None
    for step in range(steps):
        inputs, targets = (t.to(dtype) for t in batch(step, 4 * size))
        part = slice(4 * rank, 4 * rank + 4)
        for model, which in ((alone, slice(0, 4 * size)), (ddp, part)):
            model.zero_grad()
            if accumulate and model is ddp:
                with ddp.no_sync():
                    loss_of(ddp(inputs[part]), targets[part]).backward()
            elif accumulate:
                loss_of(alone(inputs), targets).backward()
            loss_of(model(inputs[which]), targets[which]).backward()
        compare(gradients_of(ddp.module), gradients_of(alone), tolerance)
        with torch.no_grad():
            for model in (alone, ddp):
                for parameter in model.parameters():
                    parameter -= 0.05 * parameter.grad
    return plan


def training():
    rank, size = begin()
    for view in (False, True):
        train_as_alone(
            rank, size, lambda m: DistributedDataParallel(m, gradient_as_bucket_view=view), 3, schedule=False
        )
    plan = train_as_alone(rank, size, DistributedDataParallel, 9)
    stats = plan.stats()
    assert stats.plan >= 1 and stats.tensors == 6 and 0 <= stats.hidden_share <= 1, stats
    assert "groups" in plan.plan() and "predicted" in str(plan)
    plan.close()
    small = lambda m: DistributedDataParallel(m, bucket_cap_mb=0.0001, gradient_as_bucket_view=True)
    train_as_alone(rank, size, small, 7).close()
    train_as_alone(rank, size, DistributedDataParallel, 7, torch.bfloat16, 0.05).close()
    train_as_alone(rank, size, DistributedDataParallel, 7, accumulate=True, unit_bytes=1 << 20).close()
    pair = dist.new_group([0, 1])  # a model of its own on some of the ranks
    if rank < 2:
        train_as_alone(rank, 2, lambda m: DistributedDataParallel(m, process_group=pair), 7).close()
    for schedule in (False, True):
        unused(rank, size, schedule)
    on_gloo(rank, size)
    for slow in ("plan", "buckets"):
        tried(rank, size, slow)
    dist.barrier()
    dist.destroy_process_group()


def unused(rank, size, schedule, unit_bytes=200):
    """A parameter that no rank uses keeps no gradient; one that some use counts as zeros on the others."""
    torch.manual_seed(5)
    alone, ddp = Net(), DistributedDataParallel(Net(), find_unused_parameters=True)
    ddp.module.load_state_dict(alone.state_dict())
    plan = banyan.torch.schedule(ddp, unit_bytes=unit_bytes, measure_ms=50, profile_iterations=1) if schedule else None
    for step in range(7 if schedule else 3):
        uses = [step % 2 == 1 and other == 0 for other in range(size)]
        inputs, targets = batch(step, 4 * size)
        alone.zero_grad(), ddp.zero_grad(set_to_none=True)
        for other in range(size):
            which = slice(4 * other, 4 * other + 4)
            (loss_of(alone(inputs[which], uses[other]), targets[which]) / size).backward()
        which = slice(4 * rank, 4 * rank + 4)
        loss_of(ddp(inputs[which], uses[rank]), targets[which]).backward()
        found, expected = gradients_of(ddp.module), gradients_of(alone)
        if step % 2 == 0:
            assert found[4] is None and found[5] is None
            expected[4] = expected[5] = None
        compare(found, expected)
    if plan:
        plan.close()


def on_gloo(rank, size):
    """The schedule alone, under a model whose other calls are Gloo's."""
    gloo = dist.new_group(list(range(size)), backend="gloo")
    plan = train_as_alone(rank, size, lambda m: DistributedDataParallel(m, process_group=gloo), 7)
    assert plan.stats().plan >= 1
    plan.close()


def tried(rank, size, slow):
    """Plan and DDP's buckets take turns until one of them stays, on all ranks the same; gradients are right all the while."""
    whole, name = Schedule.__dict__, "_finish" if slow == "plan" else "_reduce_plainly"
    usual = whole[name]

    def slowly(self, *arguments):
        if arguments == () or arguments[0].is_last():  # once per iteration
            time.sleep(0.05)
        return usual(self, *arguments)

    setattr(Schedule, name, slowly)
    try:
        plan = train_as_alone(rank, size, DistributedDataParallel, 60)
    finally:
        setattr(Schedule, name, usual)
    assert plan.is_decided and plan.verdict.is_plan_faster == (slow == "buckets"), plan.verdict
    times = torch.tensor([plan.verdict.plan_s, plan.verdict.buckets_s], dtype=torch.float64)
    same = times.clone()
    dist.broadcast(same, 0)
    assert torch.equal(times, same) and abs(times[0] - times[1]) > 0.04, plan.verdict
    assert slow == "buckets" or "DDP's buckets" in str(plan), str(plan)
    plan.close()


# Losses.


def pass_on(rank):
    """From rank 0 to rank 1, whoever they are now."""
    tensor = torch.full((3,), 7.0 if rank == 0 else 0.0)
    if rank == 0:
        time.sleep(0.3)  # rank 1 looks for rank 0 first, and must not find who that was before
        dist.send(tensor, 1)
    elif rank == 1:
        dist.recv(tensor, 0)
        assert tensor.tolist() == [7.0] * 3, tensor


def lost():
    """Rank 1 is gone in mid-training: the others' backward raises within the time-out, and names it."""
    rank, size = begin()
    for schedule in (False, True):
        pass_on(rank)
        torch.manual_seed(1)
        ddp = DistributedDataParallel(UsesAll())
        plan = banyan.torch.schedule(ddp, measure_ms=50, profile_iterations=1) if schedule else None
        for step in range(6):
            inputs, targets = batch(step, 4)
            loss = loss_of(ddp(inputs), targets)
            if step == 5 and rank == (1 if schedule else size - 1) and os.environ["RANK"] == ("1" if schedule else "3"):
                os.kill(os.getpid(), 9)
            begun = time.monotonic()
            try:
                loss.backward()
            except RuntimeError as error:
                gone = "rank 1" if schedule else "rank 3"
                assert step == 5 and gone in str(error), error
                assert time.monotonic() - begun < 20
                break
            assert step < 5, "backward did not raise"
        for call in (lambda: dist.all_reduce(torch.ones(1)), dist.barrier):
            try:
                call()
            except banyan.PeerLost as error:
                assert gone in str(error), error
            else:
                raise AssertionError("the group works on without a rank")
        old = banyan.torch.group_of(dist.distributed_c10d._get_default_group())
        group = banyan.torch.shrink()
        old.abort(), old.shutdown()  # as torch may do with a group that was shrunk
        rank, size = dist.get_rank(), dist.get_world_size()
        assert size == (2 if schedule else 3) and group.size() == size
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        assert tensor.item() == size
        assert dist.distributed_c10d._pg_names[group] == group.getGroupName() != ""
        pass_on(rank)
    if rank == 1:  # one of two, without the lower: no majority
        try:
            banyan.torch.shrink(exclude=[0])
        except banyan.TooFewRanks as error:
            assert "1 of the last group's 2 ranks is left" in str(error), error
            assert "BANYAN_SHRINK=majority asks for more than half" in str(error), error
        else:
            raise AssertionError("a minority goes on")
        assert banyan.torch.shrink(exclude=[0], rule="any").size() == 1
    print("went on with two")


class EmulatedLane:
    """What a StreamLane is to its group, on an emulated device, whose memory is the host's."""

    def __init__(self, communicator, device):
        self.communicators = [communicator, communicator.split(0, communicator.rank)]

    def close(self):
        for communicator in self.communicators:
            communicator.close()


def mixed():
    """Rank 1 has a CPU tensor where the others have CUDA tensors: in the group's first call, after some on CUDA tensors, or after some
    on CPU tensors; and not at all."""
    rank, size = begin()
    banyan.torch.group.StreamLane = EmulatedLane
    device = torch.device("cuda", 0)
    memory = ctypes.c_void_p()
    assert lib.banyan_mem_alloc_on(ctypes.byref(memory), 4000, 0) == 0
    tensor = torch.frombuffer((ctypes.c_float * 1000).from_address(memory.value), dtype=torch.float32)

    def add(place, group):
        tensor.fill_(1)
        if place == "cpu":
            dist.all_reduce(tensor, group=group)
            return
        lane = banyan.torch.group_of(group)._lane(torch.device("cuda", 1) if place == "on another device" else device)
        (comm := lane.communicators[place == "staged"]).allreduce_on_at(
            tensor.data_ptr(), tensor.data_ptr(), tensor.numel(), "float32", "sum", 0, None
        )
        deadline = time.monotonic() + 30
        while tensor[-1].item() == 1 and time.monotonic() < deadline:  # in the order of a stream
            if comm.failure:
                raise comm.find_failure()
            time.sleep(0.001)

    group = dist.new_group()
    banyan.torch.group_of(group)._worker.uses_streams = True  # as where the first lane could not be made
    add("cpu", group)
    assert torch.all(tensor == size)
    for before in ([], ["direct"], ["staged", "cpu"], ["cpu", "direct", "staged"]):
        for last in ("direct", "staged", "on another device"):
            group, begun = dist.new_group(timeout=datetime.timedelta(seconds=300)), time.monotonic()
            for place in [*before, *before]:
                add(place, group)
                assert torch.all(tensor == size), (before, place, tensor)
            try:
                add("cpu" if rank == 1 else last, group)
            except RuntimeError as error:
                assert "differs" in str(error) and "rank 1" in str(error), error
                assert "GPU" in str(error) or "host memory" in str(error), error
                assert time.monotonic() - begun < 100, "that was the time-out"
            else:
                raise AssertionError(f"after {before}, {last}: rank {rank} knows of nothing")
    print("told")


def leave_during_a_callback():
    """The main thread ends while the group's runs a callback, with torch's C++ above and below it."""
    begin()
    work = dist.all_reduce(torch.ones(1000), async_op=True)
    callback = work.get_future().then(lambda _: time.sleep(0.04))
    work.wait()
    dist.destroy_process_group()
    assert callback


class Torch(unittest.TestCase):
    def test_a_program_may_end_while_callbacks_run(self):
        ranks.on(2, leave_during_a_callback)

    def test_cpu_tensors_on_one_rank_and_cuda_tensors_on_another_are_told(self):
        output = ranks.on(3, mixed, environment={"BANYAN_GPU": "emulated"})
        self.assertEqual(output.count("told"), 3, output)

    def test_works_that_are_dropped_raise(self):
        worker, begun, may_go_on = Worker("test"), threading.Event(), threading.Event()
        worker.submit(lambda: (begun.set(), may_go_on.wait()), None)
        dropped = worker.submit(lambda: None, None)
        begun.wait()
        worker.stop(wait=False)
        with self.assertRaisesRegex(RuntimeError, "has been destroyed"):
            dropped.wait(datetime.timedelta(seconds=20))
        may_go_on.set()

    def test_a_plan_stays_only_if_it_was_faster_in_every_pair_of_turns(self):
        for plan_s, slow_turn, stays in ((0.9, None, True), (1.0, None, False), (1.1, None, False), (0.9, 4, False)):
            trial, turns = Trial(), []
            while not trial.is_over:
                turn = len(trial.times) // 4
                turns[turn:] = [trial.takes_buckets]
                is_first = len(trial.times) % 4 == 0  # on connections that were idle
                trial.times.append(9.0 if is_first else 1.0 if trial.takes_buckets else 1.5 if turn == slow_turn else plan_s)
            self.assertEqual(turns, [False, True, True, False] * 2 + [False, True])
            verdict = judge(trial.times)
            self.assertEqual((verdict.plan_s, verdict.buckets_s, verdict.is_plan_faster), (plan_s, 1.0, stays))
        paused = [2.0 if i == 6 else seconds for i, seconds in enumerate(trial.times)]  # once, in a turn of the buckets
        self.assertEqual(judge(paused), verdict)

    def test_collectives_are_right_for_every_dtype_and_group(self):
        ranks.on(3, collectives)

    def test_gradients_are_those_of_one_process(self):
        ranks.on(3, training)

    def test_a_lost_rank_is_raised_in_backward_and_training_shrinks(self):
        output = ranks.on(4, lost, spare=2)
        self.assertEqual(output.count("went on with two"), 2, output)

    def test_variables_of_other_launchers_are_understood(self):
        mpi = {
            "OMPI_COMM_WORLD_RANK": "1",
            "OMPI_COMM_WORLD_SIZE": "4",
            "OMPI_COMM_WORLD_LOCAL_RANK": "1",
            "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
        }
        adopt_launcher(mpi)
        self.assertEqual((mpi["RANK"], mpi["WORLD_SIZE"], mpi["MASTER_ADDR"]), ("1", "4", "127.0.0.1"))
        far = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "MASTER_ADDR": "a", "MASTER_PORT": "7"}
        self.assertEqual(adopt_launcher(far), ["RANK", "WORLD_SIZE"])
        ports = set()
        for root in ("10.0.0.1:400", "10.0.0.1:401"):
            own = {"BANYAN_RANK": "0", "BANYAN_SIZE": "2", "BANYAN_ROOT": root}
            adopt_launcher(own)
            self.assertEqual(own["MASTER_ADDR"], "10.0.0.1")
            self.assertTrue(20000 <= int(own["MASTER_PORT"]) <= 30000, own)
            ports.add(own["MASTER_PORT"])
        self.assertEqual(len(ports), 2)  # two jobs at a time do not meet
        torchrun = {"RANK": "0", "WORLD_SIZE": "1", "BANYAN_RANK": "5", "BANYAN_SIZE": "6"}
        self.assertEqual(adopt_launcher(torchrun), [])


ranks.main(globals()) if __name__ == "__main__" else None
