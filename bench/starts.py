#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each start of the forest is worth: the planner is built without it, and stored networks are planned again.

    bench/starts.py > bench/results/starts.csv        some hours on two cores; minutes with --sizes and --every

A start is a line of the list in src/algorithms/forest/starts.c. For each a copy of the source is built in which that line is missing; the
sample is every EVERY-th of the networks that `make check-plans` plans, of those sizes that are given. A row says on how many networks the
share of the bound falls by more than 0.2 % without the start, what the mean share is, and which network loses most; "time" is what 64 MiB are
predicted to take, divided by what they take with all starts (geometric mean), "slower" on how many networks that is more than 2 % longer.
Starts that nobody misses go."""
import argparse
import csv
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import check_plans
import planning_sweep as sweep

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LIST = "src/algorithms/forest/starts.c"
LINE = re.compile(r"^    \{\w+, (\w+), [A-Z]+, \w+\},.*\n", re.M)
COLUMNS = ("without", "networks", "lose", "no_answer", "mean_share", "least_share", "visits", "time", "slower", "loses_most", "share_with", "share_without")


def build(folder, text):
    """The command line of a tree in which the list is that text."""
    with open(os.path.join(folder, LIST), "w", encoding="utf-8") as file:
        file.write(text)
    for command in (["cmake", "--preset", "release"], ["cmake", "--build", "build/release", "-j", str(os.cpu_count()), "--target", "banyan_cli"]):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "build/release/banyan")


def copy_source(folder):
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), os.path.join(folder, name))


def share(row, bound):
    return 0 if row["failure"] else row["bytes_per_s"] / bound


def judge(name, rows, before, now):
    """The row of one start. Shares are of the stored bounds: those are the same for both."""
    bounds = [row["bound_bytes_per_s"] for row in rows]
    shares = [(share(old, bound), share(new, bound)) for old, new, bound in zip(before, now, bounds)]
    worst = min(range(len(rows)), key=lambda i: shares[i][1] - shares[i][0])
    answered = [new for _, new in shares if new]
    times = [new["predicted_s"] / old["predicted_s"] for old, new in zip(before, now) if not old["failure"] and not new["failure"]]
    row = {"without": name, "networks": len(rows), "lose": sum(new < old - check_plans.LOSS for old, new in shares),
           "no_answer": len(shares) - len(answered), "mean_share": "%.5f" % (sum(answered) / len(answered)), "least_share": "%.4f" % min(answered),
           "visits": int(sum(new["visits"] for new in now if not new["failure"])),
           "time": "%.4f" % math.exp(sum(map(math.log, times)) / len(times)), "slower": sum(time > 1.02 for time in times), "loses_most": "", "share_with": "", "share_without": ""}
    if shares[worst][1] < shares[worst][0] - check_plans.LOSS:
        row.update(loses_most="%s relays %s" % (rows[worst]["case"], rows[worst]["relays"]), share_with="%.4f" % shares[worst][0],
                   share_without="%.4f" % shares[worst][1])
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=13, help="of the stored networks (default 13)")
    parser.add_argument("--sizes", default="8,16,32,64,256", help="workers (default 8,16,32,64,256)")
    parser.add_argument("--limit", type=float, default=60, help="seconds to wait for one answer")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at once")
    parser.add_argument("--only", default="", help="just these starts, as in peel,partition")
    options = parser.parse_args()
    stored = check_plans.load(os.path.join(check_plans.DATA, platform.machine() + ".csv"))
    rows = [row for row in stored if str(check_plans.size_of(row)) in options.sizes.split(",")][::options.every]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    print(f"# bench/starts.py {' '.join(sys.argv[1:])}, at {commit}, {platform.machine()}")
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    with tempfile.TemporaryDirectory() as folder:
        copy_source(folder)
        text = open(os.path.join(ROOT, LIST), encoding="utf-8").read()
        names = [match.group(1) for match in LINE.finditer(text)]
        before = None
        for name in ["nothing", *names]:
            if before and options.only and name not in options.only.split(","):
                continue
            options.banyan = build(folder, LINE.sub(lambda match: "" if match.group(1) == name else match.group(0), text))
            now = [new for _, new in check_plans.plan_all(options, rows)]
            before = before or now
            writer.writerow(judge(name, rows, before, now))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
