#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From the start of a launcher to the first all-reduce that is done on every rank, of 1 KiB, on this machine:

    bench/first_allreduce.py build/release/banyan build/release/bench/bench_first_allreduce [RANKS...]

Contestants take turns, repetition by repetition: Banyan under `banyan run` and under Open MPI's mpirun, Open MPI itself, and
Gloo. Gloo's ranks are forks of one Python process that has imported torch before the clock starts, since an import takes
longer than everything else; its ranks meet at a TCPStore. Each figure is the median, in seconds, with the least and the most.
In the environment, PYTHON is an interpreter with torch, and COMMIT says what was built where git does not know it. With bench/results/first_allreduce.txt:

    bench/first_allreduce.py ... 16 64 256 > bench/results/first_allreduce.txt
"""
import argparse
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")  # with torch

GLOO = """
import datetime, os, sys, time
import torch
import torch.distributed as dist
size = int(sys.argv[1])
torch.set_num_threads(1)
started, port = time.time(), int(sys.argv[2])

def live(rank):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size,
                            timeout=datetime.timedelta(seconds=300))
    data = torch.ones(256)
    dist.all_reduce(data)
    os.write(1, f"done {time.time():.6f}\\n".encode() if data[255] == size else b"wrong\\n")

os.write(1, f"start {started:.6f}\\n".encode())
for rank in range(size):
    if os.fork() == 0:
        live(rank)
        os._exit(0)
while True:
    try:
        if os.wait()[1]:
            sys.exit(1)
    except ChildProcessError:
        break
"""


def free_port():
    import socket
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def measure(command, ranks, limit_s, environment):
    """Seconds until the last rank is done, or None."""
    started = time.time()
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                           start_new_session=True)
    try:
        output, errors = run.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGTERM)  # mpirun ends its ranks, which have groups of their own
        try:
            run.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
        print(f"# {command[0]} with {ranks} ranks took more than {limit_s:g} s", file=sys.stderr)
        return None
    told = re.search(r"start ([0-9.]+)", output)
    done = [float(x) for x in re.findall(r"done ([0-9.]+)", output)]
    if run.returncode or len(done) != ranks:
        print(f"# {command[0]} with {ranks} ranks ended with {run.returncode}, {len(done)} done: "
              f"{errors.strip()[-300:]}", file=sys.stderr)
    if len(done) != ranks:  # how ranks end is not measured
        return None
    return max(done) - (float(told.group(1)) if told else started)


def contestants(options, folder):
    """name: what starts that many ranks. Those of --only, or all that are here."""
    wanted = options.only.split(";") if options.only else None
    mpirun, found = shutil.which("mpirun.openmpi"), {}

    def wants(*names):
        return wanted is None or any(name in wanted for name in names)

    if wants("banyan run"):
        found["banyan run"] = lambda n: [options.banyan, "run", "-n", str(n), "--", options.program]
    if mpirun and wants("banyan, mpirun", "Open MPI"):
        start = [mpirun, "--oversubscribe", "--mca", "btl", "self,vader"]
        start += ["--allow-run-as-root"] if os.geteuid() == 0 else []
        found["banyan, mpirun"] = lambda n: start + ["-n", str(n), options.program]
        compiler, binary = shutil.which("mpicc.openmpi"), os.path.join(folder, "mpi")
        if compiler:
            subprocess.run([compiler, "-O2", "-DUSE_MPI", "-o", binary, os.path.join(HERE, "first_allreduce.c")], check=True)
            found["Open MPI"] = lambda n: start + ["-n", str(n), binary]
    if wants("Gloo, forked") and subprocess.run([PYTHON, "-c", "import torch.distributed"], capture_output=True).returncode == 0:
        script = os.path.join(folder, "gloo.py")
        with open(script, "w") as file:
            file.write(GLOO)
        found["Gloo, forked"] = lambda n: [PYTHON, script, str(n), str(free_port())]
    missing = [name for name in wanted or [] if name not in found]
    if missing:
        sys.exit(f"first_allreduce: there is no {missing[0]!r} here")
    return {name: found[name] for name in wanted or found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("banyan")
    parser.add_argument("program")
    parser.add_argument("ranks", nargs="*", type=int, default=[16, 64, 256])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300, help="seconds that a run may take")
    parser.add_argument("--only", help="these contestants alone: 'banyan run;Gloo, forked'")
    options = parser.parse_intermixed_args()
    options.banyan, options.program = os.path.abspath(options.banyan), os.path.abspath(options.program)
    commit = os.environ.get("COMMIT") or subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    environment = dict(os.environ, BANYAN_STATUS_FOLDER="off", BANYAN_TIMEOUT_MS="240000", GLOO_SOCKET_IFNAME="lo")
    print(f"# bench/first_allreduce.py, commit {commit}, {platform.machine()}, {os.cpu_count()} cores, "
          f"{time.strftime('%Y-%m-%d')}; seconds: median (least to most) of {options.repeat}")
    with tempfile.TemporaryDirectory() as folder:
        found = contestants(options, folder)
        print(f"{'ranks':>6}" + "".join(f"  {name:>24}" for name in found), flush=True)
        failed = set()  # who could not do it with fewer ranks does not fill the machine with more
        for ranks in options.ranks:
            times = {name: [None] if name in failed else [] for name in found}
            for _ in range(options.repeat):
                for name, command in found.items():
                    if None not in times[name]:  # who has failed once is not asked again
                        times[name].append(measure(command(ranks), ranks, options.limit, environment))
            cells = []
            for name in found:
                ok = [t for t in times[name] if t is not None]
                if len(ok) == options.repeat:
                    cells.append(f"{statistics.median(ok):.2f} ({min(ok):.2f} to {max(ok):.2f})")
                else:
                    cells.append("not tried" if name in failed else f"none in {options.limit:g} s")
                    failed.add(name)
            print(f"{ranks:>6}" + "".join(f"  {cell:>24}" for cell in cells), flush=True)


main()
