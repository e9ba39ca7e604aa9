#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce of 64 MiB at 256 to 16,384 ranks by simulation: what is planned, how long it would take, what planning costs.

    bench/scale_simulated.py measure build/release/banyan [FAMILY|SPEC...]    writes bench/results/scale_simulated.csv
    bench/scale_simulated.py draw                     writes docs/images/scale-simulated.svg; bench/tables.py makes the table

Each network is taken whole and with failures: one rank dead, one cable lost, one cable at half its speed. For each,
`banyan plan` chooses the algorithm, `banyan sim` runs it in the fluid model, and `banyan bound` says what no algorithm can
beat. CPU time and memory are those of the whole `banyan plan` process: choosing, proving, predicting."""
import csv
import datetime
import fcntl
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results/scale_simulated.csv"
PICTURE = ROOT / "docs/images/scale-simulated.svg"
TIMEOUT_S = 600
BYTES = "64MiB"
DEAD_RANK = 7

# Networks by rising size, and the failures besides the dead rank.
FAMILIES = {
    "fat-tree": (["fattree:16x16", "fattree:32x32", "fattree:64x64", "fattree:128x128"], "down=l0-s0,degrade=g5:0.5"),
    "dragonfly": (["dragonfly:8x8x4", "dragonfly:16x8x8", "dragonfly:32x16x8", "dragonfly:64x16x16"],
                  "down=r0-r1,degrade=g5:0.5"),
    "torus": (["torus:8x8x4", "torus:16x8x8", "torus:16x16x16", "torus:32x32x16"], "down=g0-g1,degrade=g4-g5:0.5"),
    "DGX H100, rails": (["rails:1x32x8", "rails:4x32x8", "rails:16x32x8", "rails:64x32x8"], "down=g0-l0,degrade=g5-l5:0.5"),
    "NVL72": (["nvl72:4", "nvl72:14", "nvl72:56", "nvl72:227"], "down=g0-ib,degrade=g5-ib:0.5"),
}
FIELDS = ["family", "spec", "failures", "ranks", "algorithm", "trees", "transfers", "messages", "simulated_s", "bytes_per_s",
          "bound_bytes_per_s", "plan_cpu_s", "plan_MiB", "sim_cpu_s", "sim_MiB", "commit", "machine", "date"]
COLOURS = ["#1b6ca8", "#c99a1e", "#3a7d44", "#c8553d", "#7a4fa3"]


def run(arguments):
    """The command's JSON, its CPU seconds and its peak MiB."""
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    timer = threading.Timer(TIMEOUT_S, process.kill)
    timer.start()
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)}: exit status {process.returncode}, after at most {TIMEOUT_S} s")
    return json.loads(text), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(banyan, family, spec, failures):
    problem = [spec]
    if failures:
        workers = json.loads(subprocess.check_output([banyan, "topo", "show", spec, "--json"], timeout=TIMEOUT_S))["workers"]
        problem = [f"{spec},{failures},down=g{DEAD_RANK}", "--active", f"0-{DEAD_RANK - 1},{DEAD_RANK + 1}-{workers - 1}"]
    plan, plan_cpu_s, plan_mib = run([banyan, "plan", *problem, "--bytes", BYTES, "--json"])
    sim, sim_cpu_s, sim_mib = run([banyan, "sim", *problem, "--bytes", BYTES, "--algo", plan["algorithm"], "--json"])
    bound, _, _ = run([banyan, "bound", *problem, "--json"])
    sim = sim["results"][0]
    return {"family": family, "spec": spec, "failures": int(bool(failures)), "ranks": plan["workers"],
            "algorithm": plan["algorithm"], "trees": plan["trees"], "transfers": plan["transfers"],
            "messages": sim["messages"], "simulated_s": f"{sim['seconds']:.6g}", "bytes_per_s": f"{plan['bytes_per_s']:.6g}",
            "bound_bytes_per_s": f"{bound['allreduce']['bytes_per_s']:.6g}", "plan_cpu_s": f"{plan_cpu_s:.3g}",
            "plan_MiB": f"{plan_mib:.0f}", "sim_cpu_s": f"{sim_cpu_s:.3g}", "sim_MiB": f"{sim_mib:.0f}"}


def stored():
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def store(rows):
    order = {spec: i for i, spec in enumerate(spec for specs, _ in FAMILIES.values() for spec in specs)}
    rows.sort(key=lambda row: (order[row["spec"]], int(row["failures"])))
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def add(row):
    """In place of an older row of the same network; several of these scripts may run at once."""
    with open(__file__) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = [old for old in stored() if (old["spec"], old["failures"]) != (row["spec"], str(row["failures"]))]
        store(kept + [row])


def measure_all(banyan, wanted):
    commit = subprocess.check_output(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], text=True).strip()
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    for family, (specs, failures) in FAMILIES.items():
        for spec in specs if not wanted or family in wanted else [spec for spec in specs if spec in wanted]:
            for damage in ("", failures):
                row = measure(banyan, family, spec, damage)
                row.update(commit=commit, machine=machine, date=datetime.date.today().isoformat())
                add(row)
                print(spec, damage, row["algorithm"], row["simulated_s"], "s simulated,", row["plan_cpu_s"], "s to plan",
                      flush=True)


def ticks(low, high):
    return [10.0 ** e for e in range(round(math.log10(low)), round(math.log10(high)) + 1)]


def chart(left, top, title, low, high, column, rows):
    """One panel of 380 x 220, logarithmic both ways: a line per family, dashed with failures."""
    def x(row):
        return left + 380 * math.log2(float(row["ranks"]) / 200) / math.log2(20000 / 200)

    def y(value):
        return top + 220 * (1 - math.log10(value / low) / math.log10(high / low))

    out = [f'<text x="{left}" y="{top - 14}" font-weight="bold">{title}</text>']
    for value in ticks(low, high):
        out.append(f'<line x1="{left}" x2="{left + 380}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for ranks in (256, 1024, 4096, 16384):
        at = x({"ranks": ranks})
        out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{top + 220}" stroke="#eee"/>')
        out.append(f'<text x="{at:.1f}" y="{top + 236}" text-anchor="middle">{ranks:,}</text>')
    for colour, family in zip(COLOURS, FAMILIES):
        for failures, dash in (("0", ""), ("1", ' stroke-dasharray="5 4"')):
            line = [row for row in rows if row["family"] == family and row["failures"] == failures]
            points = " ".join(f"{x(row):.1f},{y(float(row[column])):.1f}" for row in line)
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
            out += [f'<circle cx="{x(row):.1f}" cy="{y(float(row[column])):.1f}" r="3" fill="{colour}"/>' for row in line]
    return out


def draw(rows):
    panels = [("time of 64 MiB, simulated, seconds", 1e-4, 1e-1, "simulated_s"), ("messages", 1e3, 1e7, "messages"),
              ("planning, CPU seconds", 1e-1, 1e3, "plan_cpu_s"), ("planning, MiB", 1e0, 1e3, "plan_MiB")]
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="930" height="660" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>']
    for i, (title, low, high, column) in enumerate(panels):
        out += chart(70 + i % 2 * 460, 40 + i // 2 * 290, title, low, high, column, rows)
    for i, (colour, family) in enumerate(zip(COLOURS, FAMILIES)):
        if all(row["family"] != family for row in rows):
            continue
        out.append(f'<line x1="{70 + i * 140}" x2="{94 + i * 140}" y1="620" y2="620" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{100 + i * 140}" y="624">{family}</text>')
    out.append('<text x="70" y="646">horizontal: ranks; dashed: one rank dead, one cable lost, one at half its speed</text>')
    PICTURE.write_text("\n".join(out + ["</svg>\n"]))


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "measure":
        measure_all(sys.argv[2], sys.argv[3:])
    elif sys.argv[1:] == ["draw"]:
        draw(stored())
    else:
        sys.exit(__doc__)
