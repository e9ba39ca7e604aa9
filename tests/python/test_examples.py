# SPDX-License-Identifier: Apache-2.0
"""The Python examples, as a user would start them."""
import os
import re
import tempfile
import unittest

import ranks


def example(count, name, *arguments, **options):
    return ranks.launch(count, [os.path.join(ranks.SOURCE, "examples", name), *arguments], **options)


ONLY_TORCH = """
import torch
torch.distributed.init_process_group("gloo")
numbers = torch.tensor([torch.distributed.get_rank() + 1.0])
torch.distributed.all_reduce(numbers)
print("sum", numbers.item())
"""


class Examples(unittest.TestCase):
    def test_arrays_are_added_up(self):
        code, output = example(3, "numpy_allreduce.py")
        self.assertEqual(code, 0, output)
        self.assertIn("3 ranks, 3000 points: y = 3.00 x + 0.50", output)

    def test_the_shortest_job_learns_the_same_on_all_ranks(self):
        path = os.path.join(ranks.SOURCE, "bindings", "python")
        code, output = example(2, "hello_ddp.py", environment={"PYTHONPATH": path})
        self.assertEqual(code, 0, output)
        weights = re.findall(r"weights ([\d.]+)", output)
        self.assertEqual(len(weights), 2, output)
        self.assertEqual(weights[0], weights[1])
        self.assertGreater(float(weights[0]), 0.9)  # towards the sum of the inputs

    def test_a_program_that_knows_only_torch_runs_as_under_torchrun(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
            program.write(ONLY_TORCH)
            program.flush()
            code, output = ranks.launch(2, [program.name])
        self.assertEqual(code, 0, output)
        self.assertEqual(output.count("sum 3.0"), 2, output)

    def test_losses_are_the_same_with_both_backends(self):
        curves = []
        for backend in ("gloo", "banyan"):
            code, output = example(
                2, "torch_ddp.py", "--backend", backend, "--model", "tiny-cnn", "--steps", "9", "--measure-ms", "50"
            )
            self.assertEqual(code, 0, output)
            curves.append([float(loss) for loss in re.findall(r"loss ([\d.]+)", output)])
        self.assertEqual(len(curves[0]), 9)
        for theirs, ours in zip(*curves):
            self.assertAlmostEqual(theirs, ours, delta=2e-5 * theirs)
        self.assertIn("sent in", output)

    def test_training_goes_on_when_a_rank_is_killed(self):
        code, output = example(
            3, "torch_ddp.py", "--steps", "10", "--survive", "--kill-rank", "0", "--kill-step", "7", "--measure-ms", "50",
            spare=1,
        )  # fmt: skip
        self.assertEqual(code, 0, output)
        self.assertEqual(output.count("rank 0 (process"), 3, output)  # two ranks and the launcher name it
        self.assertEqual(output.count("2 ranks go on from step 7"), 2, output)
        losses = re.findall(r"step (\d+): loss", output)
        self.assertEqual(losses, [str(step) for step in range(10)], output)

    def test_ranks_that_are_lost_and_come_back_leave_the_loss_as_it_is(self):
        ends = []
        for lose in ([], ["--lose", "2@8,1@20"]):
            code, output = example(4, "torch_elastic.py", *lose, spare=2, timeout=200)
            self.assertEqual(code, 0, output)
            ends.append(re.findall(r"40 steps with 4 ranks at the end: loss (\d\.\d{6})", output))
            self.assertEqual(len(ends[-1]), 4, output)
        self.assertGreaterEqual(output.count("4 ranks again"), 2, output)  # of those who were there
        self.assertNotIn("differs", output)
        undisturbed, disturbed = float(ends[0][0]), float(ends[1][0])
        self.assertAlmostEqual(undisturbed, disturbed, delta=1e-4 * undisturbed)


ranks.main(globals()) if __name__ == "__main__" else None
