#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ASC-WFBP's Fig. 4, Fig. 5 and Table IV, measured: ranks are processes in a shaped network of `banyan run --net`.

    bench/asc_live.py [build/release]    writes data/reproduce/asc-live.json, which `banyan reproduce asc` shows

Eight machines with one rank each and a ring, as in the paper; 250 Mbit/s instead of its 10 Gb/s, so that a busy computer moves the bytes in time. Every tensor
has as many fewer bytes as the network takes longer for each, so that a model's gradients together take what they take in the paper; numbers of tensors and
computing times are the paper's (data/models), and computing is slept. Start-ups are those of this machine. All policies run in one job, one after the other,
and jobs are repeated in turn; medians over jobs. Needs root; wants a machine that does little besides."""
import csv
import datetime
import io
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOSTS, GBPS = 8, 0.25
NET = f"hosts:{'+'.join(['1'] * HOSTS)},gbps={GBPS}"
PAPERS_S_PER_BYTE = 1.7e-9
PAYLOAD = 1448 / 1514  # of a frame, with its header
LINK_BYTES_PER_S = GBPS * 1e9 / 8 * PAYLOAD
S_PER_BYTE = 2 * (HOSTS - 1) / HOSTS / LINK_BYTES_PER_S  # of a ring that fills its links
MODELS = ["resnet152", "densenet201", "inceptionv4", "bert_base"]
POLICIES = ["wfbp", "mg-wfbp", "asc-wfbp-released", "asc-wfbp", "ddp", "optimal:2", "optimal:4"]
TURNS, ITERATIONS = 3, 6


def first_class():
    """What starts ranks with real-time priority, where that is allowed."""
    return ["chrt", "-r", "1"] if subprocess.run(["chrt", "-r", "1", "true"], capture_output=True, timeout=10).returncode == 0 else []


def run(banyan, *command):
    line = [*first_class(), banyan, "run", "--net", NET, "--timeout", "500s", "--", *command]
    answer = subprocess.run(line, check=True, capture_output=True, text=True, timeout=550,
                            env={**os.environ, "BANYAN_STATUS_FOLDER": "off", "BANYAN_ALGO": "ring"})
    return json.loads(answer.stdout)


def scaled(model):
    """The model's table with as many fewer elements."""
    with open(ROOT / f"data/models/{model}.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["name", "elements", "t_b"])
    for row in rows:
        writer.writerow([row["name"], max(1, round(int(row["elements"]) * PAPERS_S_PER_BYTE / S_PER_BYTE)), row["t_b"]])
    return out.getvalue()


def median_of(rows, field):
    return round(statistics.median(row[field] for row in rows), 6)


def train(banyan, model, folder):
    path = pathlib.Path(folder) / f"{model}.csv"
    path.write_text(scaled(model), encoding="utf-8")
    return run(banyan, banyan, "train", "--model", str(path), "--policy", ",".join(POLICIES), "--measure", "--iterations", str(ITERATIONS), "--json")


def summed_up(model, jobs):
    lives = [{row["policy"]: row for row in job["live"]} for job in jobs]
    bounds = [{row["policy"]: row["bound_s"] for row in job["results"]} for job in jobs]
    first = jobs[0]
    return {
        "model": model,
        "tensors": first["tensors"],
        "bytes": first["bytes"],
        "compute_s": round(first["results"][0]["forward_s"] + first["results"][0]["backward_s"], 6),
        "start_s": median_of([job["cost"] for job in jobs], "start_s"),
        "s_per_byte": statistics.median(job["cost"]["s_per_byte"] for job in jobs),
        "policies": [
            {
                "policy": policy,
                "groups": statistics.median_low(live[policy]["groups"] for live in lives),
                "predicted_s": median_of([live[policy] for live in lives], "predicted_iteration_s"),
                "measured_s": median_of([live[policy] for live in lives], "measured_iteration_s"),
                "bound_s": round(statistics.median(bound[policy] for bound in bounds), 6),
            }
            for policy in POLICIES
        ],
    }


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release").resolve()
    banyan, pairs = str(build / "banyan"), str(build / "bench/bench_simultaneous")
    sizes, jobs = [], {model: [] for model in MODELS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TURNS):
            sizes.append(run(banyan, pairs))
            for model in MODELS:
                jobs[model].append(train(banyan, model, folder))
                print(model, [(row["policy"], round(row["measured_iteration_s"], 3)) for row in jobs[model][-1]["live"]], file=sys.stderr, flush=True)
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, timeout=60).stdout.strip()
    result = {
        "command": "bench/asc_live.py",
        "when": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}, commit {commit}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "hosts": HOSTS,
        "link_bytes_per_s": LINK_BYTES_PER_S,
        "sizes": [{"bytes": rows[0]["bytes"], "one_s": median_of(rows, "one_s"), "two_s": median_of(rows, "two_s")} for rows in zip(*sizes)],
        "models": [summed_up(model, jobs[model]) for model in MODELS],
    }
    (ROOT / "data/reproduce/asc-live.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
