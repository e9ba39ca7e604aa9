#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FlexReduce's Fig. 4 (f), measured: ResNet-18 trained by DistributedDataParallel in shaped networks of `banyan run --net`.

    bench/flexreduce_ddp.py [build/release/banyan]    writes data/reproduce/flexreduce-ddp.json, which `banyan reproduce flexreduce` shows

The learners are the paper's, 4 to 12 in two and three machines; 1 Gbit/s between machines and shared memory inside, CPUs instead of GPUs, images of 32x32, four
per learner. One job has a model for each algorithm, and these take turns: one step that is not counted, and some that are. The mean of all ranks counts, of that the
median. Steps that do not communicate tell the computing time. Needs root and torch; wants a machine that does little besides."""
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOSTS = ["2+2", "2+3", "3+3", "3+4", "4+4", "3+3+3", "3+3+4", "3+4+4", "4+4+4"]
ALGORITHMS = ["ring", "blueconnect", "flexreduce"]
GBPS, TURNS, STEPS, BATCH, PIXELS, CLASSES = 1, 5, 2, 4, 32, 1000
PYTHON = os.environ.get("BANYAN_PYTHON", "/usr/bin/python3")


# ---- A rank.


def resnet18(nn):
    """He et al., 'Deep residual learning for image recognition', 2016: 11,689,512 parameters."""

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.path = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
                                      nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
            self.around = nn.Identity()
            if stride != 1 or inputs != outputs:
                self.around = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x):
            return nn.functional.relu(self.path(x) + self.around(x))

    layers, width = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for outputs in (64, 128, 256, 512):
        layers += [Block(width, outputs, 1 if outputs == 64 else 2), Block(outputs, outputs, 1)]
        width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, CLASSES))


def run_rank():
    sys.path.insert(0, str(ROOT / "bindings/python"))
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    import banyan.torch  # registers the backend

    def make(algorithm):
        os.environ["BANYAN_ALGO"] = algorithm  # read when the group is made
        group = dist.new_group(backend="banyan")
        torch.manual_seed(1)
        return DistributedDataParallel(resnet18(nn), process_group=group, gradient_as_bucket_view=True)

    def step(model):
        begin = time.perf_counter()
        model.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        return time.perf_counter() - begin

    def mean_of_ranks(values):
        shared = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(shared)
        return (shared / dist.get_world_size()).tolist()

    torch.set_num_threads(1)
    dist.init_process_group("banyan", timeout=datetime.timedelta(seconds=200))
    torch.manual_seed(100 + dist.get_rank())
    images, labels = torch.randn(BATCH, 3, PIXELS, PIXELS), torch.randint(CLASSES, (BATCH,))
    models = {algorithm: make(algorithm) for algorithm in ALGORITHMS}
    times = {name: [] for name in [*ALGORITHMS, "compute"]}
    for turn in range(TURNS + 1):  # the first one is not counted: DDP's buckets and the plans are made in it
        for name in times:
            model = models.get(name, models["ring"])
            dist.barrier()
            if name == "compute":
                with model.no_sync():
                    found = [step(model) for _ in range(STEPS + 1)]
            else:
                found = [step(model) for _ in range(STEPS + 1)]
            times[name] += found[1:] if turn else []
    if dist.get_rank() == 0:
        parameters = sum(p.numel() for p in models["ring"].parameters())
    medians = {name: statistics.median(mean_of_ranks(values)) for name, values in times.items()}
    if dist.get_rank() == 0:
        print(json.dumps({"parameters": parameters, **{f"{name}_s": round(seconds, 6) for name, seconds in medians.items()}}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


# ---- The measurement.


def first_class():
    """What starts ranks with real-time priority, where that is allowed."""
    return ["chrt", "-r", "1"] if subprocess.run(["chrt", "-r", "1", "true"], capture_output=True, timeout=10).returncode == 0 else []


def measure(banyan, hosts):
    command = [*first_class(), banyan, "run", "--net", f"hosts:{hosts},gbps={GBPS}", "--timeout", "400s", "--", PYTHON, __file__, "--rank"]
    environment = {**os.environ, "BANYAN_STATUS_FOLDER": "off", "BANYAN_LIBRARY": str(pathlib.Path(banyan).parent / "libbanyan.so")}
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=450, env=environment)
    return json.loads(answer.stdout.strip().splitlines()[-1])


def main():
    banyan = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/banyan")
    rows = []
    for hosts in HOSTS:
        rows.append({"hosts": hosts, **measure(banyan, hosts)})
        print(rows[-1], file=sys.stderr, flush=True)
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, timeout=60).stdout.strip()
    result = {
        "command": "bench/flexreduce_ddp.py",
        "when": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, commit {commit}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "bytes_per_s": GBPS * 1e9 / 8,
        "batch": BATCH,
        "results": rows,
    }
    (ROOT / "data/reproduce/flexreduce-ddp.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run_rank() if "--rank" in sys.argv else main()
