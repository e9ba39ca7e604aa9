#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What banyan.torch.schedule's hooks cost backward on one CPU, for a model of many small tensors: CPU time per gradient with hooks in
Python and, where the C++ backend has been built, in C++, over that of backward alone. The three take turns, iteration by iteration.

    PYTHONPATH=bindings/python BANYAN_LIBRARY=build/release/libbanyan.so.0 python3 bench/torch_hooks.py
"""
import argparse
import datetime
import os
import platform
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "examples"), os.path.join(HERE, "..", "bindings", "python")]

import torch

from banyan.torch import native, readiness
from torch_ddp import MODELS


def make(kind, name):
    """(the model, what notes its gradients): one unit, which nobody is told of."""
    model = MODELS[name][0]()
    parameters = list(model.parameters())
    noted = None
    if kind == "Python":
        noted = readiness.Readiness(parameters)
    elif kind == "C++":
        noted = native.module().Readiness(parameters, 0)
    if noted:
        noted.plan([0] * len(parameters), [0], [0], 0, [], 1, lambda unit: None)
    return model, noted


def backward_s(model, noted, inputs):
    model.zero_grad(set_to_none=True)
    loss = model(inputs).sum()
    if noted:
        noted.reset()
        noted.is_armed = True
    began = time.thread_time()
    loss.backward()
    return time.thread_time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", default="deep", choices=sorted(MODELS))
    parser.add_argument("--iterations", type=int, default=300)
    options = parser.parse_args()
    torch.set_num_threads(1)
    kinds = ["none", "Python"] + (["C++"] if native.module() else [])
    sets = {kind: make(kind, options.model) for kind in kinds}
    inputs = torch.randn(32, *MODELS[options.model][1])
    times = {kind: [] for kind in kinds}
    for i in range(options.iterations + 10):
        for kind, (model, noted) in sets.items():
            seconds = backward_s(model, noted, inputs)
            if i >= 10:
                times[kind].append(seconds)
    count = sum(1 for _ in sets["none"][0].parameters())
    commit = os.environ.get("COMMIT") or subprocess.run(
        ["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    alone_s = statistics.median(times["none"])
    print(f"# bench/torch_hooks.py, commit {commit}, {platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}, {datetime.date.today()}: "
          f"{options.model}, {count} gradients, backward alone {1e3 * alone_s:.1f} ms; median CPU time per gradient")
    for kind in kinds[1:]:
        print(f"hooks in {kind}\t{1e6 * (statistics.median(times[kind]) - alone_s) / count:.2f} us")


main()
