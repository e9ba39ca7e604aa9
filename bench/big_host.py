#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce between all cores of a host, several runs each: does a short call always take the same time, and how far is a long one from
the memory's limit?

    bench/big_host.py BANYAN [RANKS...]     by default 2, 4, 8, 12 and 16 ranks, as far as there are cores
    ... --runs 2 --brief                    how many runs of each; no bound ranks, no private buffers, 1 KiB only where ranks are many

Each line is one run of `banyan bench`: the mean times out of place and in place; for 64 MiB also algbw, and its roofs as the same run has
measured them just before: the rate at which each rank copies its vector while all do. `bound`: the ranks are bound to a core each."""
import argparse
import json
import os
import subprocess
import sys

def bench(command, size, iterations, *options):
    done = subprocess.run(
        [*command, "-b", size, "-e", size, "--iters", str(iterations), "-w", "20", "--json", *options],
        env={**os.environ, "BANYAN_STATUS_FOLDER": "off", "BANYAN_SOCKET_IFNAME": "lo"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout)
    found = json.loads(done.stdout)
    sides = found["results"][0]["out_of_place"], found["results"][0]["in_place"]
    return sides, found["config"].get("memory_bytes_per_s")


def short_calls(banyan, counts, runs, brief):
    for ranks in counts:
        for _ in range(0 if brief and ranks < 12 else runs):
            sides, _roof = bench([banyan, "bench", "-n", str(ranks)], "1K", 2000)
            print("1 KiB,  %2d ranks: %7.2f us out of place, %7.2f us in place" % (ranks, *(s["time"] for s in sides)), flush=True)
    for ranks in [] if brief else counts:
        bound = [banyan, "run", "-n", str(ranks), "sh", "-c", f'exec taskset -c $BANYAN_LOCAL_RANK {banyan} bench "$@"', "sh"]
        for _ in range(runs):
            sides, _roof = bench(bound, "1K", 2000)
            print("1 KiB,  %2d ranks, bound: %7.2f us out of place, %7.2f us in place" % (ranks, *(s["time"] for s in sides)), flush=True)


def long_calls(banyan, counts, runs, brief):
    for name, options in (("", []), (", private buffers", ["-R", "0"]))[:1 if brief else 2]:
        for ranks in counts:
            for _ in range(runs):
                sides, roof = bench([banyan, "bench", "-n", str(ranks)], "64M", 20, *options)
                print("64 MiB, %2d ranks%s: %6.2f GB/s out of place, %6.2f in place; roofs %6.2f and %6.2f GB/s" %
                      (ranks, name, *(s["alg_bw"] for s in sides), roof["out_of_place"] / 1e9, roof["in_place"] / 1e9), flush=True)


def main():
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser()
    parser.add_argument("banyan", type=os.path.abspath)
    parser.add_argument("ranks", type=int, nargs="*", default=[n for n in (2, 4, 8, 12, 16) if n <= cores])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--brief", action="store_true")
    a = parser.parse_args()
    print(f"{cores} cores")
    short_calls(a.banyan, a.ranks, a.runs, a.brief)
    long_calls(a.banyan, a.ranks, a.runs, a.brief)


if __name__ == "__main__":
    main()
