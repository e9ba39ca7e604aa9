# SPDX-License-Identifier: Apache-2.0
"""Ranks that leave a process group and ranks that join it: shrink, grow and join, and groups that are reconfigured."""
import datetime
import os
import subprocess
import sys
import time
import types
import unittest

import ranks

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import banyan
import banyan.torch
from banyan.torch import membership
from banyan.torch.group import BanyanGroup
from banyan.torch.reconfigure import Unformed

TIMEOUT = datetime.timedelta(seconds=60)


def begin():
    torch.set_num_threads(1)
    dist.init_process_group("banyan", timeout=TIMEOUT)
    return dist.get_rank(), dist.get_world_size()


def raises(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"nothing was raised: {words}")


def start_again(worker, function="newcomer"):
    """A process in the place of a rank that was lost."""
    environment = {**os.environ, "RANK": str(worker), "BANYAN_RANK": str(worker)}
    return subprocess.Popen([sys.executable, __file__, "--as-rank", function], env=environment)


def check_group():
    """What all of four ranks do once they are together: collectives, a group of some, a message, a model."""
    rank, size = dist.get_rank(), dist.get_world_size()
    assert size == 4 and rank == int(os.environ["RANK"]), (rank, size)
    tensor = torch.tensor([float(rank)])
    dist.all_reduce(tensor)
    assert tensor.item() == 6, tensor
    outer = dist.new_group([0, 2])
    if rank in (0, 2):
        dist.all_reduce(tensor, group=outer)
        assert tensor.item() == 12, tensor
    if rank == 2:
        dist.send(torch.tensor([2.5]), 3)
    elif rank == 3:
        dist.recv(tensor, 2)
        assert tensor.item() == 2.5, tensor
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Linear(3, 1))  # rank 0's parameters for all
    model(torch.ones(1, 3)).sum().backward()
    sums = torch.stack([p.detach().sum() for p in model.parameters()])
    dist.broadcast(sums, 2)
    assert torch.equal(sums, torch.stack([p.detach().sum() for p in model.parameters()]))
    dist.barrier()


def regained():
    rank, size = begin()
    store = dist.distributed_c10d._get_default_store()
    assert banyan.torch.grow() is None  # nobody has asked
    store.add("asked_once", 1)
    if rank == 2:
        while store.add("asked_once", 0) < size:  # the others have their answer, too
            time.sleep(0.01)
        os.kill(os.getpid(), 9)
    raises(banyan.PeerLost, "rank 2", dist.barrier)
    banyan.torch.shrink()
    assert dist.get_world_size() == size - 1
    newcomer = None
    if dist.get_rank() == 0:
        notices = membership._notice_store(None)
        ticket = notices.add("asked", 1)  # one that asks and is silent from then on
        notices.set(f"{ticket}/worker", "7")
        notices.add(f"{ticket}/is_ready", 1)
        newcomer = start_again(2)
    group = None
    while group is None:
        group = banyan.torch.grow(timeout=40)
        time.sleep(0.05)
    assert group is banyan.torch.group_of(dist.distributed_c10d._get_default_group())
    check_group()
    if newcomer:
        assert newcomer.wait(60) == 0
        assert notices.get(f"{ticket}/answer") == b""
    print("four again")


def newcomer():
    torch.set_num_threads(1)
    banyan.torch.join(timeout=TIMEOUT)
    raises(banyan.InvalidUsage, "already", banyan.torch.join)
    check_group()
    print("joined")


def nobody_grows():
    begin()
    if dist.get_rank() == 0:
        left = start_again(5, "waits_in_vain")
        assert left.wait(60) == 0
    dist.barrier()
    assert banyan.torch.grow() is None  # it is not waited for


def waits_in_vain():
    raises(banyan.Timeout, "no group has taken rank 5 in", lambda: banyan.torch.join(timeout=1))


# Groups that are reconfigured.


def all_handles(store, group, size, purpose):
    store.set(f"{purpose}/{os.environ['RANK']}", group.get_reconfigure_handle())
    return [store.get(f"{purpose}/{rank}").decode() for rank in range(size)]


def reconfigure(group, uuid, handles):
    group.reconfigure(types.SimpleNamespace(uuid=uuid, handles=handles, timeout=TIMEOUT, hints={})).wait()


def check_sum(group):
    tensor = torch.tensor([group.rank() + 1.0])
    group.allreduce([tensor]).wait()
    assert tensor.item() == group.size() * (group.size() + 1) / 2, tensor


def reconfigured():
    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, rank == 0, timeout=TIMEOUT)
    group = BanyanGroup(Unformed(rank, size), store, None, TIMEOUT)
    raises(banyan.InvalidUsage, "no members before reconfigure", lambda: check_sum(group))
    handles = all_handles(store, group, size, "first")
    assert group.get_reconfigure_handle() == handles[rank]
    raises(banyan.InvalidArgument, "is not among", lambda: reconfigure(group, 1, [handles[rank - 1]]))
    raises(banyan.InvalidArgument, "of which 1 differ", lambda: reconfigure(group, 1, [handles[rank]] * 2))
    raises(banyan.InvalidArgument, "is no handle", lambda: reconfigure(group, 1, [handles[rank], "gloo:0"]))
    reconfigure(group, 1, set(handles))
    assert (group.rank(), group.size()) == (rank, size)
    check_sum(group)
    raises(banyan.InvalidArgument, "uuid 1 was already used", lambda: reconfigure(group, 1, [group.get_reconfigure_handle()]))
    handles = all_handles(store, group, size, "second")
    if rank != 1:  # the middle one is left out, and the others change places
        reconfigure(group, 2, [handles[2], handles[0]])
        assert (group.rank(), group.size()) == (0 if rank == 2 else 1, 2)
        check_sum(group)
        pass_on(group)
    else:
        reconfigure(group, 3, [handles[1]])
        check_sum(group)
    handles = all_handles(store, group, size, "third")
    reconfigure(group, 4, handles)
    check_sum(group)
    if rank == 0:
        group.abort()
        group.abort()  # twice is fine
    handles = all_handles(store, group, size, "fourth")
    reconfigure(group, 5, handles)
    check_sum(group)
    handles = all_handles(store, group, size, "fifth")
    raises(banyan.Mismatch, "has the uuid", lambda: reconfigure(group, 6 + (rank == 2), handles))
    check_sum(group)  # it is what it was
    if rank != 0:
        store.set(f"done/{rank}", "1")
    else:
        store.get("done/1"), store.get("done/2")
    print("reconfigured")


def pass_on(group):
    tensor = torch.tensor([9.0 if group.rank() == 0 else 0.0])
    (group.send([tensor], 1, 0) if group.rank() == 0 else group.recv([tensor], 0, 0)).wait()
    assert tensor.item() == 9


class Membership(unittest.TestCase):
    def test_a_rank_that_was_started_again_joins(self):
        output = ranks.on(4, regained, spare=1)
        self.assertEqual(output.count("four again"), 3, output)
        self.assertEqual(output.count("joined"), 1, output)

    def test_who_is_not_taken_in_is_told_so_and_not_waited_for(self):
        ranks.on(2, nobody_grows)

    def test_a_group_gets_other_members_in_place(self):
        output = ranks.on(3, reconfigured)
        self.assertEqual(output.count("reconfigured"), 3, output)


ranks.main(globals()) if __name__ == "__main__" else None
