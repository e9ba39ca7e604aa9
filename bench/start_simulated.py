#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the network adds to the start of 4,096 ranks, the most that a group has, by simulation.

    bench/start_simulated.py measure build/release/banyan [SPEC...]    writes bench/results/start_simulated.csv

A start is a series of collectives along fixed trees, so each of its steps is written as a schedule, proven by `banyan verify`
and run by `banyan sim` in the fluid model, on the networks of bench/scale_simulated.py, whole and with their failures:

    meet   three round trips of 64 bytes between rank 0 and each other (connection, handshake), and every descriptor to rank 0
    hand   all descriptors along the tree of 16 children per rank, each connection after three round trips
    join   the control tree: three round trips along its connections, then a message of 12 bytes up and one of 8 down
    plan   the plan of the first all-reduce, of 1 KiB, as bytes down the control tree
    reduce that all-reduce

Steps follow each other, and round trips along the tree are simulated as messages that go all the way up or down, so the sum
is an upper bound. What processes compute is not simulated."""
import csv
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import scale_simulated as scale

RESULTS = scale.ROOT / "bench/results/start_simulated.csv"
FANOUT, DESCRIPTOR, HELLO, JOINED, READY = 16, 512, 64, 12, 8  # src/bootstrap/store.h, rank_record.h; src/group/control.h
COLLECTIVES = ["allreduce", "reducescatter", "allgather", "broadcast", "reduce", "gather", "scatter", "alltoall"]
STEPS = ["meet_s", "hand_s", "join_s", "plan_s", "reduce_s"]
FIELDS = ["spec", "failures", "ranks", *STEPS, "plan_bytes", "root_out_bytes", "commit", "machine", "date"]


def packed_bytes(schedule):
    """As src/schedule/wire.c writes it: seven bits per byte, ascending values as differences."""
    def number(value):
        return max(1, (value.bit_length() + 6) // 7)

    def numbers(values):
        return number(len(values)) + sum(number(value) for value in values)

    def steps(values):
        return [after - before for before, after in zip([0, *values], values)]

    labels = [schedule["topology"], schedule["algorithm"]]
    head = [COLLECTIVES.index(schedule["collective"]), schedule["root"], schedule["nodes"], schedule.get("barrier", 0)]
    transfers = schedule["transfers"]
    rounds = steps([transfer[0] for transfer in transfers])
    return (sum(map(number, head)) + sum(number(len(label)) + len(label) for label in labels) + numbers(steps(schedule["active"]))
            + numbers(steps(schedule["cut"])[1:]) + 1 + sum(map(number, schedule.get("owner", [])))
            + number(len(schedule["routes"])) + sum(map(numbers, schedule["routes"])) + number(len(transfers))
            + sum(number(step) + sum(map(number, t[1:5])) + number(2 * t[6] + 1) + number(t[7] + 1)
                  for step, t in zip(rounds, transfers)))


def level(rank):
    return 0 if rank == 0 else 1 + level((rank - 1) // FANOUT)


def direct(count, is_gather):
    """Between rank 0 and each other rank at once."""
    return [[0, r, 0, r, 1, "copy", 0, -1] if is_gather else [0, 0, r, r, 1, "copy", 0, -1] for r in range(1, count)]


def down(count):
    return [[level(r) - 1, (r - 1) // FANOUT, r, 0, 1, "copy", 0, -1] for r in range(1, count)]


def up(count):
    """Those below a rank are a range of ranks on each level."""
    deepest, out = level(count - 1), []
    for r in range(1, count):
        low = high = r
        while low < count:
            out.append([deepest - level(r), r, (r - 1) // FANOUT, low, min(high, count - 1) - low + 1, "copy", 0, -1])
            low, high = FANOUT * low + 1, FANOUT * high + FANOUT
    return out


class Start:
    def __init__(self, banyan, spec, failures, folder):
        topology = json.loads(subprocess.check_output([banyan, "topo", "convert", spec]))
        workers = [i for i, node in enumerate(topology["nodes"]) if node["kind"] == "worker"]
        dead = [scale.DEAD_RANK] if failures else []
        self.banyan, self.file, self.nodes = banyan, folder / "schedule.json", len(topology["nodes"])
        self.spec = f"{spec},{failures},down=g{scale.DEAD_RANK}" if failures else spec
        self.active = [node for r, node in enumerate(workers) if r not in dead]
        self.ranks = len(self.active)
        self.options = ["--active", f"0-{scale.DEAD_RANK - 1},{scale.DEAD_RANK + 1}-{len(workers) - 1}"] if failures else []

    def seconds(self, collective, transfers, total_bytes):
        pieces = self.ranks if collective != "broadcast" else 1
        for transfer in transfers:
            transfer[1], transfer[2] = self.active[transfer[1]], self.active[transfer[2]]
        self.file.write_text(json.dumps({"format": "banyan-schedule", "version": 1, "collective": collective, "root": 0,
                                         "nodes": self.nodes, "active": self.active, "whole": pieces,
                                         "cut": list(range(pieces + 1)), "transfers": transfers}))
        subprocess.run([self.banyan, "verify", self.file, "--topo", self.spec, "-q"], check=True)
        done, _, _ = scale.run([self.banyan, "sim", self.spec, "--schedule", str(self.file), "--bytes", str(total_bytes), "--json"])
        return done["results"][0]["seconds"]

    def simulate(self):
        n = self.ranks
        hello = 3 * (self.seconds("gather", direct(n, True), HELLO * n) + self.seconds("scatter", direct(n, False), HELLO * n))
        edge = 3 * (self.seconds("gather", up(n), HELLO * n) + self.seconds("broadcast", down(n), HELLO))
        plan = self.file.with_name("plan.json")
        told, _, _ = scale.run([self.banyan, "plan", self.spec, *self.options, "--bytes", "1KiB", "-o", str(plan), "--json"])
        first, _, _ = scale.run([self.banyan, "sim", self.spec, *self.options, "--bytes", "1KiB", "--algo", told["algorithm"],
                                 "--json"])
        plan_bytes = packed_bytes(json.loads(plan.read_text()))
        return {"ranks": n, "plan_bytes": plan_bytes,
                "meet_s": hello + self.seconds("gather", direct(n, True), DESCRIPTOR * n),
                "hand_s": edge + self.seconds("broadcast", down(n), DESCRIPTOR * n),
                "join_s": edge + self.seconds("gather", up(n), JOINED * n) + self.seconds("broadcast", down(n), READY),
                "plan_s": self.seconds("broadcast", down(n), plan_bytes), "reduce_s": first["results"][0]["seconds"],
                "root_out_bytes": (FANOUT + 1) * DESCRIPTOR * n + FANOUT * plan_bytes}


def stored():
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def store(row):
    """In place of an older row of the same network; the order is that of the families."""
    order = [spec for specs, _ in scale.FAMILIES.values() for spec in specs]
    rows = [old for old in stored() if (old["spec"], old["failures"]) != (row["spec"], row["failures"])] + [row]
    rows.sort(key=lambda row: (order.index(row["spec"]), row["failures"]))
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def measure(banyan, wanted):
    commit = subprocess.check_output(["git", "-C", scale.ROOT, "rev-parse", "--short", "HEAD"], text=True).strip()
    about = {"commit": commit, "machine": f"{platform.machine()}, {os.cpu_count()} cores",
             "date": datetime.date.today().isoformat()}
    for specs, failures in scale.FAMILIES.values():
        for spec in specs[2:3] if not wanted else [spec for spec in specs if spec in wanted]:
            for damage in ("", failures):
                with tempfile.TemporaryDirectory() as folder:
                    done = Start(banyan, spec, damage, pathlib.Path(folder)).simulate()
                done.update({step: f"{done[step]:.4g}" for step in STEPS})
                print(spec, damage, *(f"{step} {done[step]}" for step in STEPS), flush=True)
                store({"spec": spec, "failures": str(int(bool(damage))), **done, **about})


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "measure":
        measure(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(__doc__)
