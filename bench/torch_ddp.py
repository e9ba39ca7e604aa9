#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Iteration time of DistributedDataParallel with Gloo and with Banyan and its schedule, side by side in one job: the
same model, batches and ranks, a few steps of one and a few of the other in turn.

    banyan run --net hosts:2+3,gbps=0.2 python3 bench/torch_ddp.py --model mlp

Prints the time of an iteration, their ratio, the hidden share of the communication, and the exposed time against what the
scheduler predicted, both as means of all ranks: how long backward() waits once a rank's own gradients are ready. --json
gives the same as one line. Before anything is counted the schedule has tried its plan and DDP's buckets; which of them it took is told. The
plan's prediction is noted then, and compared with the iterations that follow, or with those of the trial if the buckets were taken.

An iteration counts from the end of the one before to its own: the mean of all ranks, of that the median. Ranks follow one
another without a barrier, as in training, so it does not matter which of those that share a processor has its turn first.
The worst iteration of each is told, too, and the share of the processors that a hypervisor gave to others meanwhile; rounds
in which that was over 1 % are made again, so long as they are not more than those that count.
"""
import argparse
import csv
import dataclasses
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "examples"), os.path.join(HERE, "..", "bindings", "python")]

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import banyan.torch
from torch_ddp import MODELS, make_batch

MOST_STOLEN = 0.01  # of the processors' time in a round


class Contestant:
    def __init__(self, name, model, group):
        self.name = name
        self.model = DistributedDataParallel(model, process_group=group, gradient_as_bucket_view=True)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.times, self.losses = [], []
        self.number = 0

    def run(self, options, steps, is_counted=False):
        """So many iterations; the first one only sets the pace where they are counted."""
        batches = [self.make_batch(options) for _ in range(steps + is_counted)]
        dist.barrier(group=options.gloo)
        ends = []
        for batch in batches:
            self.losses.append(self.step(*batch))
            ends.append(time.perf_counter())
        if is_counted:
            self.times += [end - begin for begin, end in zip(ends, ends[1:])]

    def make_batch(self, options):
        self.number += 1
        return make_batch(MODELS[options.model][1], options.batch, self.number - 1, dist.get_rank(), 1)

    def step(self, inputs, labels):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def share_times(self):
        """Of each iteration the mean of all ranks."""
        times = torch.tensor(self.times, dtype=torch.float64)
        dist.all_reduce(times)
        self.times = (times / dist.get_world_size()).tolist()


def read_processors():
    """Clock ticks of all processors since the machine began, and those of them that other machines on the same host had."""
    try:
        with open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
    except OSError:
        return 0, 0
    return sum(ticks), ticks[7]


def compete(options):
    options.gloo = dist.new_group(backend="gloo")
    contestants = []
    entered = [("gloo", options.gloo), ("banyan", dist.group.WORLD)]
    if options.plain:
        entered.append(("buckets", dist.group.WORLD))
    for name, group in entered:
        torch.manual_seed(1)
        contestants.append(Contestant(name, MODELS[options.model][0](), group))
    gloo, ours = contestants[:2]
    schedule = banyan.torch.schedule(
        ours.model, profile_iterations=options.profile, measure_ms=options.measure_ms, policy=options.policy
    )
    for other in contestants[:1] + contestants[2:]:
        other.run(options, options.warm)
    wait_for_plan(options, ours, schedule)
    promised = schedule.stats()
    run_rounds(options, contestants)
    while not has_figures(options, schedule):
        ours.run(options, options.steps)
    stats = mean_of_ranks(promised, schedule.stats())
    options.verdict = schedule.verdict
    for one in contestants:
        one.share_times()
    schedule.close()
    return gloo, ours, stats, contestants[2:]


def run_rounds(options, contestants):
    """All contestants in turn. A round in which others had the processors is made again, at most as often as there are rounds."""
    options.stolen, options.again = 0, 0
    done = 0
    while done < options.rounds:
        before = read_processors()
        for one in contestants:
            one.run(options, options.steps, is_counted=True)
        stolen = share_stolen(options, before, read_processors())
        if stolen > MOST_STOLEN and options.again < options.rounds:
            options.again += 1
            for one in contestants:
                del one.times[-options.steps :]
            continue
        options.stolen += stolen / options.rounds
        done += 1


def share_stolen(options, before, after):
    """What the hypervisor gave to others, as a share of all; the most that a rank saw, so that all decide alike."""
    share = torch.tensor((after[1] - before[1]) / max(after[0] - before[0], 1))
    dist.all_reduce(share, op=dist.ReduceOp.MAX, group=options.gloo)
    return share.item()


def wait_for_plan(options, ours, schedule):
    """Steps until the schedule has tried both ways, and one more; as many between two barriers as when they count."""
    for _ in range(100):
        ours.run(options, options.steps + 1)
        stats = schedule.stats()
        ready = torch.tensor(int(stats is not None and stats.plan >= options.plans and schedule.is_decided))
        dist.all_reduce(ready, op=dist.ReduceOp.MIN, group=options.gloo)
        if ready:
            break
    ours.run(options, 1)


def takes_buckets(verdict):
    return verdict is not None and not verdict.is_plan_faster


def has_figures(options, schedule):
    """On all ranks: a plan that was made just now has none yet, and gets none if DDP's buckets were taken."""
    has = torch.tensor(float(schedule.stats().measured_step_s > 0 or takes_buckets(schedule.verdict)))
    dist.all_reduce(has, op=dist.ReduceOp.MIN, group=options.gloo)
    return has.item() > 0


def mean_of_ranks(promised, found):
    """What was promised before, and found after; of a plan that was made in between, the promise is later."""
    names = ("predicted_exposed_s", "predicted_step_s", "measured_exposed_s", "measured_step_s", "hidden_share")
    mine = promised if promised.plan == found.plan else found
    figures = torch.tensor([getattr(mine, name) for name in names[:2]] + [getattr(found, name) for name in names[2:]])
    dist.all_reduce(figures)
    return dataclasses.replace(found, **dict(zip(names, (figures / dist.get_world_size()).tolist())))


CSV_COLUMNS = [
    *("machine", "model", "parameters_M", "gbps", "gloo_s", "banyan_s", "exposed_s", "predicted_exposed_s", "hidden_percent", "buckets_s"),
    *("taken", "tried_plan_s", "tried_buckets_s"),
]


def append_csv(options, result):
    """A row in the form of bench/results/torch_ddp.csv; a new file begins with the columns and what the machine is."""
    is_new = not os.path.exists(options.csv)
    speed = re.search(r"gbps=([0-9.]+)", result["network"])
    buckets = result.get("buckets_s")
    with open(options.csv, "a", newline="", encoding="utf-8") as file:
        if is_new:
            commit = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "describe", "--always", "--dirty"],
                                    capture_output=True, text=True).stdout.strip()
            file.write(f"# bench/torch_ddp.py: seconds per iteration of DistributedDataParallel with Gloo and with Banyan's schedule. Medians; exposed times "
                       f"are means.\n# machine {options.machine}: {platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}, "
                       f"{datetime.date.today()}, commit {commit or 'unknown'}\n{','.join(CSV_COLUMNS)}\n")
        csv.writer(file, lineterminator="\n").writerow(
            [options.machine, result["model"], f"{result['parameters'] / 1e6:.1f}", speed[1] if speed else "", f"{result['gloo_s']:.4f}",
             f"{result['banyan_s']:.4f}", f"{result['exposed_s']:.4f}", f"{result['predicted_exposed_s']:.4f}",
             f"{100 * result['hidden_share']:.0f}", "" if buckets is None else f"{buckets:.4f}", result["taken"],
             *("" if result[name] is None else f"{result[name]:.4f}" for name in ("tried_plan_s", "tried_buckets_s"))])


def tell(options, gloo, ours, stats, others):
    theirs_s, ours_s = statistics.median(gloo.times), statistics.median(ours.times)
    common = min(len(gloo.losses), len(ours.losses))
    drift = max(abs(a - b) / abs(a) for a, b in zip(gloo.losses[:common], ours.losses[:common]))
    result = {
        "model": options.model,
        "network": os.environ.get("BANYAN_TOPO", "this machine"),
        "parameters": sum(p.numel() for p in gloo.model.parameters()),
        "gloo_s": theirs_s,
        "banyan_s": ours_s,
        "ratio": theirs_s / ours_s,
        "hidden_share": stats.hidden_share,
        "exposed_s": stats.measured_exposed_s,
        "predicted_exposed_s": stats.predicted_exposed_s,
        "step_s": stats.measured_step_s,
        "predicted_step_s": stats.predicted_step_s,
        "exposed_off_by": stats.measured_exposed_s / max(stats.predicted_exposed_s, 1e-9) - 1,
        "plan": stats.plan,
        "groups": stats.groups,
        "streams": stats.streams,
        "loss_difference": drift,
        "other_s": stats.other_s,
        "start_s": stats.start_s,
        "s_per_byte": stats.s_per_byte,
        "stolen": options.stolen,
        "rounds_again": options.again,
        "taken": "buckets" if takes_buckets(options.verdict) else "plan",
        "tried_plan_s": options.verdict and options.verdict.plan_s,
        "tried_buckets_s": options.verdict and options.verdict.buckets_s,
    }
    for other in others:
        result[f"{other.name}_s"] = statistics.median(other.times)
    for one in [gloo, ours, *others]:
        result[f"{one.name}_times"] = [round(seconds, 4) for seconds in one.times]
    if options.csv:
        append_csv(options, result)
    if options.json:
        print(json.dumps(result))
        return
    print(
        f"{result['model']:>6} {result['parameters'] / 1e6:5.1f} M  {result['network']:<20} gloo {theirs_s:6.3f} s  "
        f"banyan {ours_s:6.3f} s  {result['ratio']:5.2f}x  hidden {100 * stats.hidden_share:3.0f} %  exposed "
        f"{stats.measured_exposed_s:.3f} s (predicted {stats.predicted_exposed_s:.3f})  {stats.groups} groups, "
        f"{stats.streams} at a time, {result['taken']} taken  losses within {drift:.0e}  worst {max(gloo.times):.3f} and {max(ours.times):.3f} s  "
        f"stolen {100 * options.stolen:.1f} %, {options.again} rounds again",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--model", default="mlp", choices=sorted(MODELS))
    parser.add_argument("--batch", type=int, default=0, help="of each rank (default: 32, 24 for CNNs)")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=2, help="of each that count, in each round")
    parser.add_argument("--profile", type=int, default=2, help="iterations that the scheduler profiles")
    parser.add_argument("--warm", type=int, default=2, help="steps of the others before anything is counted")
    parser.add_argument("--plans", type=int, default=2, help="that the scheduler makes before anything is counted")
    parser.add_argument("--measure-ms", type=int, default=2000)
    parser.add_argument("--policy", default=None)
    parser.add_argument("--plain", action="store_true", help="also Banyan with the buckets that DDP makes")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--csv", help="append a row here, in the form of bench/results/torch_ddp.csv")
    parser.add_argument("--machine", default="A", help="how --csv calls this machine")
    options = parser.parse_args()
    options.batch = options.batch or (24 if options.model.endswith("cnn") else 32)
    torch.set_num_threads(1)
    dist.init_process_group("banyan", timeout=datetime.timedelta(seconds=120))
    outcome = compete(options)
    if dist.get_rank() == 0:
        tell(options, *outcome)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
