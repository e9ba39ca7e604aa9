#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How forest's planning time and memory grow with the number of workers, as an SVG and a table.

    bench/planning_growth.py build/release/banyan docs/images/planning-growth.svg

Time is `planning_s` of `banyan plan`, the least of three (one above half a second); memory is the whole process's peak,
which also holds the bound, the proof and the prediction."""
import json
import math
import os
import subprocess
import sys

FAMILIES = {
    "torus": ["torus:4x4", "torus:8x4", "torus:8x8", "torus:16x8", "torus:16x16", "torus:32x16", "torus:32x32"],
    "mesh": ["mesh:4x4", "mesh:8x4", "mesh:8x8", "mesh:16x8", "mesh:16x16", "mesh:32x16", "mesh:32x32"],
    "fat-tree 4:1": ["fattree:4x4:4", "fattree:4x8:4", "fattree:8x8:4", "fattree:8x16:4", "fattree:16x16:4",
                     "fattree:16x32:4", "fattree:32x32:4"],
    "DGX A100": ["dgxa100:2", "dgxa100:4", "dgxa100:8", "dgxa100:16", "dgxa100:32", "dgxa100:64", "dgxa100:128"],
    "switch": ["switch:16", "switch:32", "switch:64", "switch:128", "switch:256", "switch:512", "switch:1024"],
}
WORKERS = [16, 32, 64, 128, 256, 512, 1024]
TARGETS = [(16, 0.010), (64, 0.100), (256, 2.0), (1024, 60.0)]
COLOURS = ["#1b6ca8", "#c99a1e", "#c8553d", "#3a7d44", "#7a4fa3"]
LEFT, TOP, WIDTH, HEIGHT = 70, 40, 380, 300


def measure(banyan, spec):
    """Seconds of planning, peak MiB, share of the bound."""
    least, peak, share = math.inf, 0, 0
    for _ in range(3):
        process = subprocess.Popen([banyan, "plan", spec, "--algo", "forest", "--json"], stdout=subprocess.PIPE)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            sys.exit(f"{spec}: banyan plan failed")
        answer = json.loads(text)
        least, share = min(least, answer["planning_s"]), answer["share_of_bound"]
        peak = max(peak, usage.ru_maxrss / 1024)
        if least > 0.5:
            break
    return least, peak, share


def chart(left, title, unit, low, high, lines, targets):
    def x(workers):
        return left + WIDTH * math.log2(workers / 16) / 6

    def y(value):
        return TOP + HEIGHT * (1 - math.log10(value / low) / math.log10(high / low))

    out = [f'<text x="{left}" y="{TOP - 16}" font-weight="bold">{title}</text>']
    value = low
    while value <= high * 1.001:
        out.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g} {unit}</text>')
        value *= 10
    for workers in WORKERS:
        out.append(f'<text x="{x(workers):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{workers}</text>')
    for colour, values in zip(COLOURS, lines):
        points = " ".join(f"{x(w):.1f},{y(max(v, low)):.1f}" for w, v in zip(WORKERS, values))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for workers, value in targets:
        out.append(f'<path d="M{x(workers) - 9:.1f} {y(value):.1f}h18" stroke="#000" stroke-width="3"/>')
    return out


def main():
    banyan, path = sys.argv[1], sys.argv[2]
    found = {name: [measure(banyan, spec) for spec in specs] for name, specs in FAMILIES.items()}
    for name, specs in FAMILIES.items():
        for spec, (seconds, peak, share) in zip(specs, found[name]):
            print(f"{spec:16s} {seconds * 1e3:9.2f} ms {peak:7.1f} MiB  {share * 100:.2f} % of the bound")
    second = LEFT + WIDTH + 110
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{second + WIDTH + 30}" height="{TOP + HEIGHT + 70}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="#fff"/>']
    out += chart(LEFT, "Planning time by workers (bars: targets)", "s", 0.001, 100.0,
                 [[r[0] for r in found[name]] for name in FAMILIES], TARGETS)
    out += chart(second, "Peak memory by workers (bar: target)", "MiB", 1.0, 10000.0,
                 [[r[1] for r in found[name]] for name in FAMILIES], [(1024, 2048)])
    for i, name in enumerate(FAMILIES):
        out.append(f'<text x="{LEFT + 120 * i}" y="{TOP + HEIGHT + 48}" fill="{COLOURS[i]}">{name}</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")


if __name__ == "__main__":
    main()
