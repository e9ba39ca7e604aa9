# SPDX-License-Identifier: Apache-2.0
"""The process group for torchft, through three quorums: all ranks, without one that was killed, and with it again. Where torchft is not
installed, the base class below stands in for what it declares: a group that is made anew, by _create_pg, for each quorum."""
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

import banyan

TIMEOUT = datetime.timedelta(seconds=60)


def stand_in():
    class ProcessGroupWrapper(dist.ProcessGroup):
        def __init__(self, timeout, pg=None):
            super().__init__(0, 1)
            self._pg = pg

        def configure(self, store_addr, replica_id, rank, world_size, quorum_id=None):
            self.abort()
            self._pg = self._create_pg(create_store_client(store_addr, TIMEOUT), rank, world_size)

        def abort(self):
            if self._pg is not None:
                self._pg.abort()
            self._pg = None

        def size(self):
            return self._pg.size()

        def allreduce(self, tensors, opts):
            return self._pg.allreduce(tensors, opts)

    def create_store_client(store_addr, timeout):
        place, _, prefix = store_addr.partition("/")
        host, _, port = place.partition(":")
        return dist.PrefixStore(prefix, dist.TCPStore(host, int(port), is_master=False, wait_for_workers=False, timeout=timeout))

    package, module = types.ModuleType("torchft"), types.ModuleType("torchft.process_group")
    module.ProcessGroupWrapper, module.create_store_client = ProcessGroupWrapper, create_store_client
    sys.modules.update({"torchft": package, "torchft.process_group": module})


try:
    import torchft.process_group
except ImportError:
    stand_in()

from banyan.torch.torchft import ProcessGroupBanyan


def enter(group, number, rank, size):
    """The quorum of that number, and a sum in it."""
    place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}/quorum/{number}"
    group.configure(place, f"replica {rank}", rank, size, quorum_id=number)
    assert group.size() == size and group.errored() is None
    tensor = torch.tensor([rank + 1.0])
    group.allreduce([tensor], dist.ReduceOp.MAX).wait()
    assert tensor.item() == size, tensor


def replicas():
    rank, store = int(os.environ["RANK"]), None
    if rank == 0:  # torchft's manager keeps it, outside of the groups
        store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), is_master=True, wait_for_workers=False)
    group = ProcessGroupBanyan(timeout=TIMEOUT)
    enter(group, 1, rank, 3)
    if rank == 2:
        os.kill(os.getpid(), 9)
    begun = time.monotonic()
    try:
        group.allreduce([torch.ones(1)], dist.ReduceOp.SUM).wait()
    except RuntimeError as error:
        assert "rank 2" in str(error) and time.monotonic() - begun < 30, error
    else:
        raise AssertionError("a killed rank has taken part")
    assert isinstance(group.errored(), banyan.PeerLost) and "rank 2" in str(group.errored()), group.errored()
    enter(group, 2, rank, 2)
    again = None
    if rank == 0:
        environment = {**os.environ, "RANK": "2", "BANYAN_RANK": "2"}
        again = subprocess.Popen([sys.executable, __file__, "--as-rank", "newcomer"], env=environment)
    enter(group, 3, rank, 3)
    assert again is None or again.wait() == 0
    print("went through three quorums")


def newcomer():
    enter(ProcessGroupBanyan(timeout=TIMEOUT), 3, 2, 3)


class TorchFt(unittest.TestCase):
    def test_quorums_change_and_a_killed_rank_is_named(self):
        output = ranks.on(3, replicas, spare=1, timeout=300)
        self.assertEqual(output.count("went through three quorums"), 2, output)


if __name__ == "__main__":
    ranks.main(globals())
