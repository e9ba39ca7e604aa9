#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with DistributedDataParallel, on data that it makes up. Only two lines differ between the
backends: the name, and schedule(), which schedules gradients for this network.

    banyan run -n 4 python3 examples/torch_ddp.py --backend banyan
    banyan run -n 4 python3 examples/torch_ddp.py --backend gloo
    torchrun --nproc-per-node 4 examples/torch_ddp.py --model cnn

The losses that it prints are the same with both, up to the order of float additions. With --survive, training goes
on with those who are left when a rank is lost; --kill-rank and --kill-step have one killed, to see that.
"""
import argparse
import datetime
import os
import signal
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


def mlp(inputs, width):
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(inputs, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, 10),
    )  # fmt: skip


class Block(nn.Module):
    """Two convolutions and a way around them, as in ResNet."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip
        is_same = stride == 1 and inputs == outputs
        self.around = nn.Identity() if is_same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        return torch.relu(self.path(x) + self.around(x))


def cnn(widths):
    layers = [nn.Conv2d(3, widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()]
    for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        layers.append(Block(inputs, outputs, 2 if inputs != outputs else 1))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], 10))


class Transformer(nn.Module):
    """Reads the inputs as a sequence of vectors, and classifies by the mean of what comes out."""

    def __init__(self, inputs, width, layers):
        super().__init__()
        self.enter = nn.Linear(inputs, width)
        layer = nn.TransformerEncoderLayer(width, nhead=4, dim_feedforward=4 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.leave = nn.Linear(width, 10)

    def forward(self, x):
        return self.leave(self.encoder(self.enter(x)).mean(1))


def deep(width, layers):
    """Many layers, each of them small."""
    return nn.Sequential(
        nn.Flatten(),
        *(part for _ in range(layers) for part in (nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU())),
        nn.Linear(width, 10),
    )


# name: (network, shape of one input)
MODELS = {
    "tiny": (lambda: mlp(64, 128), (64,)),
    "tiny-cnn": (lambda: cnn([8, 8, 16]), (3, 16, 16)),
    "transformer": (lambda: Transformer(64, 256, 6), (16, 64)),  # 4.8 M parameters
    "deep": (lambda: deep(96, 120), (96,)),  # 1.1 M in 482 tensors
    "mlp": (lambda: mlp(1264, 2048), (1264,)),  # 11.0 M parameters
    "mlp40": (lambda: mlp(1584, 4096), (1584,)),  # 40.1 M
    "small-cnn": (lambda: cnn([64, 64, 128, 128, 256, 256, 320]), (3, 32, 32)),  # 4.4 M
    "cnn": (lambda: cnn([64, 64, 128, 256, 256, 480, 480]), (3, 32, 32)),  # 9.9 M
}


def make_batch(shape, size, step, rank, seed):
    """The same for a step and a rank, whatever the backend; labels that can be learned."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + step * 1009 + rank)
    inputs = torch.randn(size, *shape, generator=generator)
    labels = (inputs.flatten(1)[:, :10]).argmax(1)
    return inputs, labels


class Training:
    """What lives as long as the group of ranks does; made again when it shrinks."""

    def __init__(self, options, model):
        self.options = options
        self.model = DistributedDataParallel(model, gradient_as_bucket_view=True)  # rank 0's parameters for all
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=options.lr, momentum=0.9)
        self.schedule = None
        if options.backend == "banyan" and options.schedule:
            self.schedule = banyan.torch.schedule(self.model, measure_ms=options.measure_ms)

    def step(self, number):
        options = self.options
        shape = MODELS[options.model][1]
        inputs, labels = make_batch(shape, options.batch, number, dist.get_rank(), options.seed)
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        if number == options.kill_step and os.environ["RANK"] == str(options.kill_rank):
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        self.optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        return mean.item() / dist.get_world_size()


def go_on_without(options, model, optimizer, number):
    """A group of the survivors, whose lowest rank says how far it had got."""
    banyan.torch.shrink()
    state = [number, optimizer.state_dict()]
    dist.broadcast_object_list(state, src=0)
    training = Training(options, model)
    training.optimizer.load_state_dict(state[1])
    return training, state[0]


def train(options):
    torch.manual_seed(options.seed)
    training = Training(options, MODELS[options.model][0]())
    if dist.get_rank() == 0:
        count = sum(p.numel() for p in training.model.parameters())
        print(f"{options.model}: {count / 1e6:.1f} M parameters, {dist.get_world_size()} ranks, {options.backend}")
    number, times = 0, []
    while number < options.steps:
        begun = time.perf_counter()
        try:
            loss = training.step(number)
        except RuntimeError as error:  # banyan.Error is one; in backward, torch makes one of it
            if not options.survive:
                raise
            sentence = str(error).split("\n")[0]
            model, optimizer = training.model.module, training.optimizer
            training, number = go_on_without(options, model, optimizer, number)
            print(f"{sentence}; {dist.get_world_size()} ranks go on from step {number}", flush=True)
            continue
        times.append(time.perf_counter() - begun)
        if dist.get_rank() == 0:
            print(f"step {number}: loss {loss:.6f}, {times[-1]:.3f} s", flush=True)
        number += 1
    if dist.get_rank() == 0:
        late = sorted(times[len(times) // 2 :])
        print(f"median of the last {len(late)} steps: {late[len(late) // 2]:.3f} s")
        if training.schedule:
            print(f"schedule: {training.schedule}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--backend", default="banyan", choices=["banyan", "gloo"])
    parser.add_argument("--model", default="tiny", choices=sorted(MODELS))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32, help="of each rank")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60, help="seconds")
    parser.add_argument("--measure-ms", type=int, default=500, help="how long schedule() measures the network")
    parser.add_argument("--no-schedule", dest="schedule", action="store_false", help="buckets, as DDP makes them")
    parser.add_argument("--survive", action="store_true", help="go on with the others when a rank is lost")
    parser.add_argument("--kill-rank", type=int, default=-1)
    parser.add_argument("--kill-step", type=int, default=-1)
    options = parser.parse_args()
    if options.survive and options.backend != "banyan":
        parser.error("only banyan can shrink")
    torch.set_num_threads(1)
    dist.init_process_group(options.backend, timeout=datetime.timedelta(seconds=options.timeout))
    train(options)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
