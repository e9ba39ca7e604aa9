# SPDX-License-Identifier: Apache-2.0
"""The flight recorder writes what torch's own analysis reads; where this torch has the analysis, it is asked."""
import datetime
import os
import pickle
import subprocess
import sys
import tempfile
import time
import unittest

import ranks

import torch
import torch.distributed as dist

import banyan
import banyan.torch

try:
    from torch.distributed.flight_recorder import fr_trace  # noqa: F401

    HAS_ANALYSIS = True
except ImportError:
    HAS_ANALYSIS = False

ENTRY_KEYS = {
    "record_id", "pg_id", "process_group", "collective_seq_id", "p2p_seq_id", "op_id", "profiling_name", "time_created_ns",
    "input_sizes", "input_dtypes", "output_sizes", "output_dtypes", "state", "time_discovered_started_ns",
    "time_discovered_completed_ns", "retired", "timeout_ms", "is_p2p", "frames", "thread_id", "thread_name",
}  # fmt: skip


def begin():
    torch.set_num_threads(1)
    dist.init_process_group("banyan", timeout=datetime.timedelta(seconds=40))
    return dist.get_rank(), dist.get_world_size()


def calls():
    """Calls of many kinds, in two groups; then one that rank 2 does not come to."""
    rank, size = begin()
    dist.all_reduce(torch.ones(3, 5))
    dist.all_gather([torch.empty(2) for _ in range(size)], torch.ones(2))
    dist.broadcast(torch.ones(4, dtype=torch.int64), 1)
    dist.all_reduce(torch.ones(2, 2).t())  # not contiguous: never by the short way
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(torch.ones(6), group=pair)
    if rank == 0:
        dist.send(torch.ones(7), 1)
    elif rank == 1:
        dist.recv(torch.empty(7), 0)
    dist.barrier()
    store = dist.distributed_c10d._get_default_store()
    store.add("past_barrier", 1)
    if rank == 2:
        while store.add("past_barrier", 0) < dist.get_world_size():  # the others are past it, too
            time.sleep(0.01)
        banyan.torch.dump_flight_recorder(os.environ["TORCH_FR_DUMP_TEMP_FILE"])
        os.kill(os.getpid(), 9)
    try:
        dist.all_reduce(torch.ones(8))
    except banyan.PeerLost as error:
        assert "rank 2" in str(error), error
    else:
        raise AssertionError("the call has succeeded")


def kept_few():
    begin()
    for _ in range(9):
        dist.all_reduce(torch.ones(1))
    entries = banyan.torch.dump_flight_recorder()["entries"]
    assert [entry["collective_seq_id"] for entry in entries] == [6, 7, 8, 9], entries
    dist.barrier()


def kept_none():
    begin()
    dist.all_reduce(torch.ones(1))
    assert banyan.torch.dump_flight_recorder()["entries"] == []
    dist.barrier()


class Recorder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="banyan-recorder-")
        self.prefix = os.path.join(self.folder, "trace_rank_")
        self.addCleanup(subprocess.run, ["rm", "-r", self.folder])

    def record(self):
        ranks.on(3, calls, spare=1, environment={"TORCH_FR_DUMP_TEMP_FILE": self.prefix})
        dumps = []
        for rank in range(3):
            with open(f"{self.prefix}{rank}", "rb") as file:
                dumps.append(pickle.load(file))
        return dumps

    def test_a_failed_call_is_the_last_that_the_ranks_wrote(self):
        dumps = self.record()
        names = ["all_reduce", "all_gather", "broadcast", "all_reduce", "all_reduce_barrier"]
        for rank, dump in enumerate(dumps):
            self.assertEqual(dump["version"], "2.10")
            self.assertIn("banyan", dump["comm_lib_version"])
            self.assertEqual(dump["pg_config"]["default_pg"]["ranks"], "[0, 1, 2]")
            self.assertEqual([entry["record_id"] for entry in dump["entries"]], list(range(len(dump["entries"]))))
            for entry in dump["entries"]:
                self.assertEqual(ENTRY_KEYS - set(entry), set())
                self.assertEqual(entry["retired"], entry["state"] == "completed")
            own = [e for e in dump["entries"] if e["process_group"][0] == "default_pg" and not e["is_p2p"]]
            last = ["all_reduce"] if rank < 2 else []
            self.assertEqual([e["profiling_name"] for e in own], [f"nccl:{name}" for name in names + last])
            self.assertEqual([e["collective_seq_id"] for e in own], list(range(1, len(own) + 1)))
            self.assertEqual([e["state"] for e in own], ["completed"] * 5 + (["started"] if last else []))
            self.assertEqual((own[0]["input_sizes"], own[0]["input_dtypes"]), ([[3, 5]], ["Float"]))
            self.assertEqual((own[1]["input_sizes"], own[1]["output_sizes"]), ([[2]], [[6]]))
            self.assertEqual(own[2]["output_dtypes"], ["Long"])
            self.assertEqual(own[4]["input_sizes"], [[]])
        (sent,) = [e for e in dumps[0]["entries"] if e["is_p2p"]]
        (taken,) = [e for e in dumps[1]["entries"] if e["is_p2p"]]
        self.assertEqual((sent["profiling_name"], taken["profiling_name"]), ("nccl:send 0->1", "nccl:recv 1<-0"))
        (pair,) = [name for name in dumps[0]["pg_config"] if name != "default_pg"]
        self.assertEqual(dumps[0]["pg_config"][pair]["ranks"], "[0, 1]")
        self.assertNotIn(pair, dumps[2]["pg_config"])
        self.assertEqual(dumps[0]["pg_status"]["0"]["last_completed_collective"], 5)
        self.assertEqual(dumps[0]["pg_status"]["0"]["last_started_collective"], 6)

    @unittest.skipUnless(HAS_ANALYSIS, f"torch {torch.__version__} has no analysis of such files")
    def test_torch_names_the_rank_that_is_missing(self):
        self.record()
        done = subprocess.run(
            [sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace", "-p", "trace_rank_", self.folder],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"missing ranks: \{2\}", done.stdout)

    def test_so_many_calls_are_kept_as_the_setting_says(self):
        ranks.on(2, kept_few, environment={"TORCH_FR_BUFFER_SIZE": "4"})
        ranks.on(2, kept_none, environment={"TORCH_FR_BUFFER_SIZE": "0"})


ranks.main(globals()) if __name__ == "__main__" else None
