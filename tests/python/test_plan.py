# SPDX-License-Identifier: Apache-2.0
"""Planning from Python: networks, bounds, plans, verdicts and predictions as NumPy arrays."""
import gc
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import ranks

import banyan
import numpy


class Networks(unittest.TestCase):
    def test_links_are_arrays(self):
        network = banyan.Topology("hosts:2+3,gbps=8")
        self.assertEqual((network.name, network.worker_count, network.host_count), ("hosts:2+3,gbps=8", 5, 2))
        links = network.links
        self.assertEqual(sorted(links), ["bytes_per_s", "dst", "latency_s", "src"])
        self.assertEqual(links["src"].shape, (network.link_count,))
        self.assertEqual(links["bytes_per_s"].min(), network.slowest_bytes_per_s)
        self.assertEqual(network.nodes["is_switch"].sum(), network.node_count - 5)
        self.assertEqual(network.node_names[:2], ["g0", "g1"])

    def test_files_and_damage(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "network.json")
            banyan.Topology("ring:4").save(path)
            again = banyan.Topology(path)
        self.assertEqual(again.digest, banyan.Topology.generate("ring:4").digest)
        damaged = again.damage("down=g0-g1")
        self.assertEqual(damaged.link_count, again.link_count - 2)
        self.assertEqual(damaged.check(), 4)
        with self.assertRaisesRegex(banyan.InvalidArgument, "g2"):
            again.damage("down=g2").check()
        self.assertEqual(again.damage("down=g2").check([0, 1, 3]), 3)
        self.assertTrue(again.export("svg").startswith("<"))

    def test_a_wrong_name_is_a_sentence(self):
        with self.assertRaisesRegex(ValueError, "hostz"):
            banyan.plan("hostz:2+3")


class Plans(unittest.TestCase):
    def test_a_plan_reaches_the_bound(self):
        plan = banyan.plan("hosts:2+3", algorithm="forest")
        best = banyan.bound("hosts:2+3")
        self.assertGreater(plan.bytes_per_s, 0.99 * best.allreduce_bytes_per_s)
        self.assertTrue(banyan.verify(best.json, "hosts:2+3"))
        self.assertFalse(banyan.verify(best.json, "hosts:2+3,degrade=h0-net:0.5"))
        self.assertTrue(plan.schedule.verify("hosts:2+3"))

    def test_it_says_its_share_of_the_bound(self):
        for collective in ("allreduce", "allgather", "reducescatter"):
            plan = banyan.plan("hosts:2+3", algorithm="forest", collective=collective)
            best = getattr(banyan.bound("hosts:2+3"), f"{collective}_bytes_per_s")
            self.assertAlmostEqual(plan.share_of_bound, plan.bytes_per_s / best)
        self.assertIsNone(banyan.plan("hosts:2+3", collective="broadcast").share_of_bound)
        some = banyan.compare("dgx1", algorithms=["ring", "forest"], active="0,1", relays="none")
        best = banyan.bound("dgx1", active="0,1", relays="none").allreduce_bytes_per_s
        self.assertAlmostEqual(some.plans[0].share_of_bound, some.plans[0].bytes_per_s / best)

    def test_sizes_are_written_as_on_the_command_line(self):
        sizes = {"4096": 4096, "64KiB": 1 << 16, "1.5M": 3 << 19, "2 GB": 2 * 10**9, "1e3": 1000}
        for text, size in sizes.items():
            self.assertEqual(banyan.plan("ring:4", bytes=text, algorithm="ring").bytes, size)
        self.assertEqual(banyan.bound("ring:4", bytes="1MiB").bytes, 1 << 20)

    def test_it_says_what_the_command_line_says(self):
        plan = banyan.plan("torus:4x4", bytes="1MiB")
        output = subprocess.run(
            [ranks.BANYAN, "plan", "torus:4x4", "--bytes", "1MiB", "--json"], capture_output=True, text=True
        ).stdout
        figures = json.loads(output)
        self.assertEqual(plan.algorithm, figures["algorithm"])
        self.assertEqual(plan.schedule.digest, figures["digest"])
        self.assertAlmostEqual(plan.predicted_s, figures["predicted_s"])
        self.assertIn(plan.algorithm, plan.explanation)

    def test_transfers_are_arrays_that_add_up(self):
        schedule = banyan.plan("ring:4", algorithm="ring").schedule  # the plan lives as long as its schedule
        gc.collect()
        transfers = schedule.transfers
        self.assertEqual({len(column) for column in transfers.values()}, {24})
        values = numpy.zeros((4, schedule.piece_count))
        values[:] = numpy.array([1, 10, 100, 1000])[:, None]
        for round in range(schedule.round_count):
            before = values.copy()
            for i in numpy.flatnonzero(transfers["round"] == round):
                first = transfers["first_piece"][i]
                pieces = slice(first, first + transfers["piece_count"][i])
                sent = before[transfers["src"][i], pieces]
                if transfers["is_copy"][i]:
                    values[transfers["dst"][i], pieces] = sent
                else:
                    values[transfers["dst"][i], pieces] += sent
        numpy.testing.assert_array_equal(values, 1111)
        self.assertEqual(list(schedule.active), [0, 1, 2, 3])
        self.assertEqual(schedule.cut[0], 0)

    def test_a_schedule_of_teccl_is_read_for_its_network(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "teccl")
        path, network = (os.path.join(folder, name) for name in ("two_machines.json", "two_machines_network.json"))
        schedule = banyan.Schedule.load(path, network)
        self.assertEqual((schedule.collective, schedule.active_count, schedule.transfer_count), ("allgather", 4, 12))
        self.assertTrue(schedule.verify(network))
        self.assertEqual(banyan.Schedule.load(path).node_count, 6)  # as the file numbers them
        with self.assertRaisesRegex(banyan.InvalidArgument, "the schedule has 4 GPUs, the network 8 workers"):
            banyan.Schedule.load(path, "ring:8")

    def test_predictions_grow_with_the_size(self):
        schedule = banyan.plan("ring:4", algorithm="ring").schedule
        small, large = (schedule.predict("ring:4", size) for size in (1 << 32, 1 << 33))
        self.assertAlmostEqual(large.total_s / small.total_s, 2, places=2)
        begin, end = large.times
        self.assertTrue((end > begin).all() and end.max() <= large.total_s)
        self.assertTrue(schedule.predict("ring:4", 1 << 20, model="fluid").utilization > 0.4)
        self.assertGreater(schedule.predict("ring:4", 1 << 12, model="flit", flow="message").cycles, 100)
        trace = json.loads(schedule.export("trace", "ring:4", bytes=1 << 20))
        self.assertEqual(len(json.loads(schedule.export("mscclpp"))["gpus"]), 4)
        with tempfile.TemporaryDirectory() as folder:
            schedule.save_chakra(os.path.join(folder, "ring"), bytes=4096)
            self.assertEqual(sorted(os.listdir(folder)), [f"ring.{rank}.et" for rank in range(4)])
        self.assertTrue(trace["traceEvents"])

    def test_parameters_reach_the_algorithm(self):
        few = banyan.plan("torus:4x4", algorithm="forest", max_trees=4)
        self.assertLessEqual(few.schedule.flow_count, 8)
        with self.assertRaisesRegex(banyan.InvalidArgument, "colour"):
            banyan.plan("torus:4x4", algorithm="forest", colour="red")

    def test_every_algorithm_that_applies_is_verified(self):
        network = banyan.Topology("torus:4x4")
        applied = 0
        for name in banyan.algorithms():
            try:
                schedule = network.plan(algorithm=name, effort="estimate").schedule
            except banyan.Unsupported:
                continue
            self.assertTrue(schedule.verify(network), name)
            applied += 1
        self.assertGreater(applied, 10)

    def test_a_comparison_holds_what_a_plan_is_chosen_from(self):
        both = banyan.compare("hosts:2+3", bytes=1 << 20)
        chosen = banyan.plan("hosts:2+3", bytes=1 << 20)
        self.assertEqual(both.chosen.schedule.digest, chosen.schedule.digest)
        times = [plan.predicted_s for plan in both.plans]
        self.assertEqual(times, sorted(times))
        self.assertTrue(all(plan.why_not and plan.schedule is None for plan in both.others))
        self.assertEqual(len({plan.algorithm for plan in both.plans + both.others}), len(banyan.algorithms()))
        two = banyan.Topology("hosts:2+3").compare(algorithms=["ring", "forest"])
        self.assertEqual(sorted(plan.algorithm for plan in two.plans), ["forest", "ring"])
        first = two.plans[0]
        del two
        gc.collect()
        self.assertTrue(first.schedule.verify("hosts:2+3"))
        with self.assertRaisesRegex(ValueError, "rong"):
            banyan.compare("hosts:2+3", algorithms="rong")

    def test_a_lost_link_is_planned_around(self):
        network = banyan.Topology("torus:4x4").damage("down=g0-g1")
        self.assertTrue(network.plan(algorithm="forest").schedule.verify(network))

    def test_what_is_wrong_is_one_sentence(self):
        for size in (0, -1, 1 << 54):
            with self.assertRaisesRegex(banyan.InvalidArgument, "bytes is not from 1 to"):
                banyan.plan("ring:4", bytes=size)
        for size in (1.5, "1.5", "1Mb", "much", "-1", "nan", [1]):
            with self.assertRaisesRegex(banyan.InvalidArgument, re.escape(f"{size!r} is not a size in bytes")):
                banyan.plan("ring:4", bytes=size)
        with self.assertRaisesRegex(banyan.InvalidArgument, "did you mean ring"):
            banyan.plan("ring:4", algorithm="rign")
        with self.assertRaisesRegex(banyan.Unsupported, "."):
            banyan.plan("hosts:2+3", algorithm="swing")
        with self.assertRaisesRegex(banyan.Timeout, "time was up"):
            banyan.plan("torus:8x8", timeout=0.001)
        self.assertEqual(banyan.plan("line:1").schedule.transfer_count, 0)
        self.assertTrue(math.isinf(banyan.bound("line:1").allreduce_bytes_per_s))

    def test_progress_is_told(self):
        seen = []
        banyan.plan("ring:4", progress=lambda done, all: seen.append((done, all)))
        self.assertEqual([done for done, _ in seen], list(range(1, seen[-1][1] + 1)))

    def test_threads_share_a_network(self):
        network, digests = banyan.Topology("hosts:2+3+2"), []
        threads = [
            threading.Thread(target=lambda: digests.append(network.plan(algorithm="forest").schedule.digest))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(digests)), 1)
        self.assertEqual(len(digests), 4)

    def test_the_example_runs(self):
        environment = dict(os.environ, PYTHONPATH=os.path.join(ranks.SOURCE, "bindings", "python"))
        example = os.path.join(ranks.SOURCE, "examples", "plan.py")
        done = subprocess.run([sys.executable, example], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("of the bound", done.stdout)


ranks.main(globals()) if __name__ == "__main__" else None
