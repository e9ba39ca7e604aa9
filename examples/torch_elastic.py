#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains while ranks are lost and come back, and ends with the loss of a run that nothing has disturbed.

    banyan run -n 4 python3 examples/torch_elastic.py
    banyan run -n 4 --spare 2 python3 examples/torch_elastic.py --lose 2@8,1@20

Every step uses the same 48 samples, whoever is there to share them, so the losses of both runs differ by the order of
additions alone. Here rank 0 starts a lost rank again after --away steps; in a cluster that is for torchrun, Kubernetes or a person to
do. What the program does itself: shrink() when a call fails, grow() between steps, and agree() on the state after both.
"""
import argparse
import datetime
import os
import signal
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

try:
    import banyan.torch  # registers the backend, and knows the launchers' variables
except ImportError:  # not installed: it lies in the source tree
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bindings", "python"))
    import banyan.torch

SAMPLES = 48  # a step; a multiple of 1, 2, 3 and 4, so that every rank has as many


def make_batch(step):
    """All ranks make all samples, and use some of them."""
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(SAMPLES, 16, generator=generator)
    return inputs, torch.sin(inputs).sum(1, keepdim=True)


class Training:
    """A model, its optimizer, and how many steps they have made; the model is wrapped anew for every group."""

    def __init__(self):
        torch.manual_seed(1)
        self.module = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.02, momentum=0.9)
        self.steps = 0

    def agree(self):
        """All ranks take the state of the one that has come furthest. One that has just joined has made no step."""
        steps = [None] * dist.get_world_size()
        dist.all_gather_object(steps, self.steps)
        state = [(self.module.state_dict(), self.optimizer.state_dict())]
        dist.broadcast_object_list(state, src=steps.index(max(steps)))
        self.module.load_state_dict(state[0][0])
        self.optimizer.load_state_dict(state[0][1])
        self.steps = max(steps)
        self.model = DistributedDataParallel(self.module)

    def step(self, is_last_of_rank):
        rank, size = dist.get_rank(), dist.get_world_size()
        inputs, targets = (tensor[rank::size] for tensor in make_batch(self.steps))
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(inputs), targets)
        if is_last_of_rank:
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        self.optimizer.step()
        self.steps += 1

    def loss(self):
        with torch.no_grad():
            inputs, targets = make_batch(-1)
            return nn.functional.mse_loss(self.module(inputs), targets).item()


def start_again(rank):
    """What a launcher does that replaces ranks."""
    environment = {**os.environ, "RANK": str(rank), "BANYAN_RANK": str(rank)}
    return subprocess.Popen([sys.executable, *sys.argv, "--join"], env=environment)


def grow(options, training):
    """Takes in who is there. Before the last step all are waited for, so that nobody comes to a job that has ended. All
    ranks make the same calls: those who join begin with another grow(), and so do those who have let them in."""
    tries = 0
    while tries <= 10 * options.timeout:
        if banyan.torch.grow(timeout=options.timeout):
            training.agree()
            print(f"step {training.steps}: {dist.get_world_size()} ranks again", flush=True)
            tries = 0
            continue
        if dist.get_world_size() == int(os.environ["WORLD_SIZE"]) or training.steps < options.steps - 1:
            return
        time.sleep(0.1)
        tries += 1


def train(options):
    training, begun = Training(), []
    training.agree()
    lost = dict(options.lose)  # rank: at which step
    own = int(os.environ["RANK"])
    while training.steps < options.steps:
        try:
            grow(options, training)
            training.step(not options.join and lost.get(own) == training.steps)
            time.sleep(options.pause)
        except banyan.InvalidUsage:  # nobody was lost: grow() has no store where ranks could ask
            raise
        except RuntimeError as error:  # banyan.Error is one; in backward, torch makes one of it
            banyan.torch.shrink()
            training.agree()
            print(f"step {training.steps}: {str(error).splitlines()[0]}; {dist.get_world_size()} ranks go on", flush=True)
        if dist.get_rank() == 0:
            for rank in [rank for rank, at in lost.items() if training.steps >= min(at + options.away, options.steps - 1)]:
                begun.append(start_again(rank))
                del lost[rank]
    print(f"{training.steps} steps with {dist.get_world_size()} ranks at the end: loss {training.loss():.6f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    for process in begun:  # which end with this one
        process.wait()


def losses(text):
    return [tuple(map(int, one.split("@"))) for one in text.split(",") if one]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--lose", type=losses, default=[], metavar="RANK@STEP,...", help="ranks that are killed, not 0")
    parser.add_argument("--away", type=int, default=5, help="steps after which a lost rank is started again")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds after each step, in the place of real work")
    parser.add_argument("--timeout", type=float, default=60, help="seconds")
    parser.add_argument("--join", action="store_true", help="for a rank that was started again")
    options = parser.parse_args()
    torch.set_num_threads(1)
    timeout = datetime.timedelta(seconds=options.timeout)
    if options.join:
        banyan.torch.join(timeout=timeout)
    else:
        dist.init_process_group("banyan", timeout=timeout)
    train(options)


if __name__ == "__main__":
    main()
