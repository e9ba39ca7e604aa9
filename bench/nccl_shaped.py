#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streams of NCCL-sized calls through the plugin on shaped networks, beside a ring over the same sockets and the bound (needs root).

bench/nccl_shaped.py BUILD_FOLDER [--json FILE] [--times N] [--network SPEC]...

Every line is one run of bench_nccl_stream (see there): the ratio of its median time to the least time that any algorithm needs on the network. TCP carries
956 of 1000 bits as payload, so no ratio is below 1.05.
"""
import argparse
import json
import os
import platform
import subprocess
import sys

NETWORKS = ("hosts:1+1+1+1,gbps=0.4",
            "hosts:1+1+1+1,gbps=0.4,degrade=h2:0.5",
            "hosts:1+1+1+1+1+1,gbps=0.4,degrade=h1:0.5,degrade=h4:0.25",
            "racks:2x2x1,gbps=0.4,rack_gbps=0.2",
            "racks:2x3x1,gbps=0.4,rack_gbps=0.2")
CALLS = ((4 << 20, 128 << 10), (16 << 20, 512 << 10), (32 << 20, 4 << 20))


def run(build, network, total, call, times):
    command = [os.path.join(build, "banyan"), "run", "--nccl", "--timeout", "300s", "--net", network,
               os.path.join(build, "bench", "bench_nccl_stream"), "-b", str(total), "-c", str(call), "-n", str(times)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=320)
    if done.returncode:
        sys.exit("%s: %s" % (network, done.stderr.strip() or done.returncode))
    return json.loads(done.stdout)


def describe(build):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"benchmark": "nccl-shaped", "commit": commit, "machine": "%s, %d cores" % (platform.machine(), os.cpu_count())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--json")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--network", action="append")
    options = parser.parse_args()
    results = []
    print("%-62s %8s %8s %9s %8s" % ("network", "call", "bound s", "banyan", "ring"))
    for network in options.network or NETWORKS:
        for total, call in CALLS:
            result = run(options.build, network, total, call, options.times)
            result["load"] = os.getloadavg()[0]
            results.append(result)
            print("%-62s %7dK %8.3f %9.2f %8.2f" % (network, call >> 10, result["bound_s"], result["banyan_ratio"],
                                                    result["ring_ratio"]), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({**describe(options.build), "results": results}, file, indent=1)
            file.write("\n")


main()
