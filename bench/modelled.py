#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results that a model gives, the same on every machine; bench/tables.py shows them in the manual.

    bench/modelled.py build/release/banyan train    writes bench/results/train_policies.csv
    bench/modelled.py build/release/banyan flit     writes bench/results/flit_authors.csv

train: seconds per iteration of four models under each policy, with the cost of the ASC-WFBP paper (a = 1.4 ms, b = 1.7 ns per byte,
gamma = 1.5, on a link of 9.43 Gb/s). flit: cycles of all-reduces beside those of the simulator by the authors of MultiTree, once with the
default network interface and once with one that works as theirs does; trees and rings are those of their program."""
import csv
import json
import pathlib
import subprocess
import sys

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
TIMEOUT_S = 600
MODELS = ["resnet152", "densenet201", "inceptionv4", "bert_base"]
POLICIES = "wfbp,single,mg-wfbp,asc-wfbp-printed,asc-wfbp-theorem1,asc-wfbp-released,asc-wfbp,ddp,horovod,optimal:1,optimal:2"
COST = "linear:1.4e-3,1.7e-9,1.5,1.6967e-9"


def crossing(each, switches):
    """The order of the authors' ring on a BiGraph: to the other layer with each step, to every switch there in turn."""
    layer = switches // 2
    return ",".join(f"{a * each + i},{(layer + (a + i) % layer) * each + i}" for i in range(each) for a in range(layer))


# algorithm, flow, network, and the authors' cycles by size in KiB
AUTHORS = [
    ("ring", "packet", "torus:4x4", {32: 9344, 1024: 143264, 4096: 557984}),
    ("ring", "message", "torus:4x4", {32: 9134, 1024: 135614}),
    ("ring", "packet", "torus:8x8", {32: 25916, 256: 56912, 1024: 165776, 4096: 601232}),
    ("ring", "packet", "mesh:4x4", {32: 9345, 512: 74145}),
    ("ring", "packet", "fattree:8x2", {32: 18347, 512: 83147}),
    ("ring", "packet", "bigraph:4x8", {32: 33539, 512: 100251}),
    ("ring", "packet", "bigraph:4x16", {32: 63719, 512: 131003}),
    ("multitree", "packet", "torus:4x4", {32: 3508, 512: 37965, 1024: 61984, 4096: 209495}),
    ("multitree", "message", "torus:4x4", {32: 3272, 512: 28913, 1024: 45893, 4096: 186686}),
    ("multitree", "packet", "torus:8x8", {32: 4569, 256: 21985, 1024: 73032, 4096: 268809}),
    ("multitree", "message", "torus:8x8", {32: 4501, 256: 18902, 1024: 56738, 4096: 226756}),
    ("multitree", "packet", "mesh:4x4", {32: 5348, 512: 61126}),
    ("multitree", "message", "mesh:4x4", {32: 5313, 512: 53000}),
    ("multitree", "packet", "fattree:8x2", {32: 5386, 512: 66613}),
    ("multitree", "message", "fattree:8x2", {32: 5095, 512: 62803}),
    ("multitree", "packet", "bigraph:4x8", {32: 5350, 512: 68661}),
    ("multitree", "message", "bigraph:4x8", {32: 5131, 512: 64755}),
    ("multitree", "packet", "bigraph:4x16", {32: 5404, 512: 69685}),
    ("multitree", "message", "bigraph:4x16", {32: 5286, 512: 65779}),
    ("ring2d", "packet", "torus:4x4", {32: 5860, 512: 36588, 1024: 72178, 4096: 263992}),
    ("ring2d", "packet", "torus:8x8", {32: 8790, 256: 42658, 1024: 121378, 4096: 422232}),
    ("ring2d", "packet", "mesh:4x4", {32: 7986, 512: 75834}),
]
# The plans of the authors' program.
PLANS = {
    "multitree": ["--order", "yx", "--steps", "released"],
    ("ring", "bigraph:4x8"): ["--order", crossing(4, 8)],
    ("ring", "bigraph:4x16"): ["--order", crossing(4, 16)],
}


def ask(arguments):
    return json.loads(subprocess.run([*arguments, "--json"], check=True, capture_output=True, timeout=TIMEOUT_S).stdout)


def train(banyan):
    for model in MODELS:
        answer = ask([banyan, "train", "--model", model, "--policy", POLICIES, "--cost", COST])
        for policy, row in zip(POLICIES.split(","), answer["results"]):
            yield [model, policy, f"{row['iteration_s']:.4f}", row["groups"], f"{row['bound_s']:.4f}"]


def flit(banyan):
    for algorithm, flow, network, sizes in AUTHORS:
        for kib, authors in sizes.items():
            cycles = []
            for interface in ("default", "authors"):
                answer = ask([banyan, "sim", f"{network},GBps=16,latency=150ns", "--model", "flit", "--algo", algorithm,
                              *PLANS.get((algorithm, network), PLANS.get(algorithm, [])), "--flow", flow, "--bytes", f"{kib}KiB",
                              *(["--flit", "interface=authors"] if interface == "authors" else [])])
                cycles.append(answer["results"][0]["cycles"])
            yield [algorithm, flow, network, kib, authors, *cycles]


KINDS = {
    "train": (train, "train_policies.csv", ["model", "policy", "iteration_s", "groups", "bound_s"]),
    "flit": (flit, "flit_authors.csv", ["algorithm", "flow", "network", "KiB", "authors", "cycles", "cycles_interface_authors"]),
}


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in KINDS:
        sys.exit(__doc__)
    rows, name, columns = KINDS[sys.argv[2]]
    version = subprocess.run([sys.argv[1], "--version"], check=True, capture_output=True, text=True, timeout=TIMEOUT_S).stdout.strip()
    found = list(rows(sys.argv[1]))
    with open(RESULTS / name, "w", newline="", encoding="utf-8") as file:
        file.write(f"# bench/modelled.py build/release/banyan {sys.argv[2]}; {version}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(found)


if __name__ == "__main__":
    main()
