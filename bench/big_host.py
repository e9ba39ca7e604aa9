#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce between all cores of a host, several runs each: does a short call always take the same time, and how far is a long one from
the memory's limit?

    bench/big_host.py BANYAN [RANKS...]     by default 2, 4, 8, 12 and 16 ranks, as far as there are cores

Each line is one run of `banyan bench`: the mean times out of place and in place; for 64 MiB also algbw, and its roofs as the same run has
measured them just before: the rate at which each rank copies its vector while all do. `bound`: the ranks are bound to a core each."""
import json
import os
import subprocess
import sys

RUNS = 5


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


def main():
    banyan = os.path.abspath(sys.argv[1])
    cores = len(os.sched_getaffinity(0))
    counts = [int(word) for word in sys.argv[2:]] or [n for n in (2, 4, 8, 12, 16) if n <= cores]
    print(f"{cores} cores")
    for ranks in counts:
        for _ in range(RUNS):
            sides, _roof = bench([banyan, "bench", "-n", str(ranks)], "1K", 2000)
            print("1 KiB,  %2d ranks: %7.2f us out of place, %7.2f us in place" % (ranks, *(s["time"] for s in sides)), flush=True)
    for ranks in counts:
        bound = [banyan, "run", "-n", str(ranks), "sh", "-c", f'exec taskset -c $BANYAN_LOCAL_RANK {banyan} bench "$@"', "sh"]
        for _ in range(RUNS):
            sides, _roof = bench(bound, "1K", 2000)
            print("1 KiB,  %2d ranks, bound: %7.2f us out of place, %7.2f us in place" % (ranks, *(s["time"] for s in sides)), flush=True)
    for name, options in (("", []), (", private buffers", ["-R", "0"])):
        for ranks in counts:
            for _ in range(RUNS):
                sides, roof = bench([banyan, "bench", "-n", str(ranks)], "64M", 20, *options)
                print("64 MiB, %2d ranks%s: %6.2f GB/s out of place, %6.2f in place; roofs %6.2f and %6.2f GB/s" %
                      (ranks, name, *(s["alg_bw"] for s in sides), roof["out_of_place"] / 1e9, roof["in_place"] / 1e9), flush=True)


if __name__ == "__main__":
    main()
