#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The all-reduces of FlexReduce's Fig. 4 (a, b), measured: ranks are processes in a shaped network of `banyan run --net`.

    bench/flexreduce_live.py [build/release/banyan]    writes data/reproduce/flexreduce-live.json, which `banyan reproduce flexreduce` shows

The machines are the paper's, 4 to 12 learners in two and three of them; 100 Mbit/s between machines, so that a busy computer moves the bytes in time, and
shared memory inside. Ring and FlexReduce take turns; a row has the medians over all turns. Needs root."""
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOSTS = ["2+2", "2+3", "3+3", "3+4", "4+4", "3+3+3", "3+3+4", "3+4+4", "4+4+4"]
GBPS, BYTES, CALLS, TURNS = 0.1, 8 << 20, 2, 3
ALGORITHMS = ["ring", "flexreduce"]


def first_class():
    """What starts ranks with real-time priority, where that is allowed."""
    return ["chrt", "-r", "1"] if subprocess.run(["chrt", "-r", "1", "true"], capture_output=True, timeout=10).returncode == 0 else []


def measure(banyan, hosts, algorithm):
    """Seconds of all-reduces, out of place and in place."""
    command = [*first_class(), banyan, "run", "--net", f"hosts:{hosts},gbps={GBPS}", "--timeout", "200s", "--", banyan, "bench", "--algo", algorithm,
               "-b", str(BYTES), "-e", str(BYTES), "-w", "1", "--iters", str(CALLS), "--json"]
    answer = subprocess.run(command, check=True, capture_output=True, timeout=250, env={**os.environ, "BANYAN_STATUS_FOLDER": "off"})
    row = json.loads(answer.stdout)["results"][0]
    return [row[side]["time"] * 1e-6 for side in ("out_of_place", "in_place")]


def main():
    banyan = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/banyan")
    seconds = {(hosts, algorithm): [] for hosts in HOSTS for algorithm in ALGORITHMS}
    for _ in range(TURNS):
        for hosts, algorithm in seconds:
            seconds[hosts, algorithm] += measure(banyan, hosts, algorithm)
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, timeout=60).stdout.strip()
    result = {
        "command": "bench/flexreduce_live.py",
        "when": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, commit {commit}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "bytes": BYTES,
        "bytes_per_s": GBPS * 1e9 / 8,
        "results": [{"hosts": hosts, **{f"{a}_s": round(statistics.median(seconds[hosts, a]), 6) for a in ALGORITHMS}} for hosts in HOSTS],
    }
    text = json.dumps(result, indent=1)
    (ROOT / "data/reproduce/flexreduce-live.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
