# SPDX-License-Identifier: Apache-2.0
"""A network that is cut in two under torch: one side shrinks and goes on, the other raises TooFewRanks, and `banyan run
--spare` lets the first finish if there are spare ranks enough for the second."""
import datetime
import os
import re
import subprocess
import unittest

import ranks

import torch
import torch.distributed as dist

import banyan
import banyan.torch

NETWORK = "hosts:1+1+1+1+1,gbps=1"
TIMEOUT = datetime.timedelta(seconds=8)


def cut_and_shrink():
    """What ranks do. Those in CUT_OFF cut themselves off from the others, whose packets vanish."""
    torch.set_num_threads(1)
    dist.init_process_group("banyan", timeout=TIMEOUT)
    rank, cut_off = dist.get_rank(), [int(word) for word in os.environ["CUT_OFF"].split(",")]
    try:
        for step in range(1000000):
            dist.all_reduce(torch.ones(100))
            if step == 50 and rank in cut_off:
                for other in set(range(dist.get_world_size())) - set(cut_off):
                    subprocess.run(["ip", "route", "add", "blackhole", f"10.77.0.{other + 1}/32"], check=True)
    except RuntimeError:
        pass
    try:
        banyan.torch.shrink()
        ones = torch.ones(100)
        for _ in range(20):
            dist.all_reduce(ones)
        print(f"rank {rank} goes on", flush=True)
        os._exit(0)  # torch's store, which rank 0 holds, may be on the other side
    except banyan.TooFewRanks as problem:
        print(f"rank {rank} ends: {problem}", flush=True)
        os._exit(4)


class Cut(unittest.TestCase):
    def setUp(self):
        done = subprocess.run(
            [ranks.BANYAN, "run", "--net", "hosts:1+1,gbps=1", "true"], stderr=subprocess.PIPE, text=True
        )
        if done.returncode:
            self.skipTest(done.stderr.strip())

    def cut(self, cut_off, spare):
        """(exit code, the ranks that went on, all output)"""
        code, output = ranks.launch(
            5,
            [os.path.abspath(__file__), "--as-rank", "cut_and_shrink"],
            spare=spare,
            network=NETWORK,
            timeout=300,
            environment={"CUT_OFF": cut_off, "BANYAN_STATUS_FOLDER": "off", "BANYAN_SHRINK": "majority"},
        )
        return code, sorted(int(word) for word in re.findall(r"rank (\d) goes on", output)), output

    def test_the_larger_side_goes_on(self):
        cuts = [("0,1", [2, 3, 4]), ("3,4", [0, 1, 2])]
        for cut_off, going in cuts if "BANYAN_TEST_ALL" in os.environ else cuts[:1]:  # tests/multi/partition.c has all
            code, found, output = self.cut(cut_off, spare=2)
            self.assertEqual((code, found), (0, going), output)
            self.assertEqual(output.count("ends: ranks"), 2, output)

    def test_more_losses_than_spare_ranks_end_the_job(self):
        code, found, output = self.cut("3,4", spare=1)
        self.assertEqual(code, 4, output)
        self.assertFalse({3, 4} & set(found), output)


ranks.main(globals()) if __name__ == "__main__" else None
