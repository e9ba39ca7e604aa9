#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How soon a group that was told nothing follows a network that changes in mid-job (docs/learning.md).

Hosts are network namespaces, as in bench/rivals.py. All ranks make one all-reduce of 1 MiB after another, with real-time priority, and check
every sum, while links of 500 Mbit/s fall to 50 and come back and a host loses its processor. Each event is followed by a phase of some
seconds. Of each phase the result says

    plan_s, plan_calls        from the event until all ranks had a new plan that stayed; empty: there was none
    settled_s, settled_calls  from the event until five calls in a row had a median within 15 % of the bound of the network as it is now;
                              empty: never
    of_bound                  median time of the last half of the calls, divided by that bound
    fixed_of_bound            the same in a job that does not learn (BANYAN_LEARN=0)
    told_of_bound             the same in a job that was told the network as it is now
    plan_changes              plans that were put on trial or given up in this phase; in a quiet phase there should be none
    calls_lost                calls that failed or had a wrong sum

What a processor that is taken away leaves has no bound: `of_bound` is then that of the network. Needs root, and NumPy.

    bench/drift.py --csv bench/results/drift.csv
"""
import argparse
import csv
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")  # with NumPy
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
MIB = 1 << 20
WITHIN = 1.15
ROW = 5  # calls whose median is compared with that
COLUMNS = ["network", "event", "seconds", "calls", "bound_ms", "plan_s", "plan_calls", "settled_s", "settled_calls", "of_bound", "fixed_of_bound",
           "told_of_bound", "plan_changes", "calls_lost"]

# Networks and what happens to them: event, what falls, to which part of its speed, in which directions, phase in seconds.
# The network afterwards is the original one, degraded so. A cable is one of a host, or of the rack of a host.
BOTH = ("out", "in")
SCENARIOS = {
    "hosts": ("hosts:1+1+1+1,gbps=0.5", [
        ("learning", None, 1, BOTH, 10),
        ("quiet", None, 1, BOTH, 30),
        ("a host falls to 50 Mbit/s", "h2", 0.1, BOTH, 15),
        ("it comes back", "h2", 1, BOTH, 15),
        ("a host sends at 50 Mbit/s", "h2", 0.1, ("out",), 15),
        ("it comes back", "h2", 1, BOTH, 15),
        ("a host has a tenth of its processor", "cpu h2", 0.1, BOTH, 15),
        ("it comes back", "cpu h2", 1, BOTH, 15),
        ("quiet", None, 1, BOTH, 15),
    ]),
    "racks": ("racks:2x2x1,gbps=0.5,rack_gbps=0.5", [
        ("learning", None, 1, BOTH, 10),
        ("quiet", None, 1, BOTH, 15),
        ("a trunk falls to 50 Mbit/s", "r1", 0.1, BOTH, 15),
        ("it comes back", "r1", 1, BOTH, 15),
        ("a host falls to 50 Mbit/s", "h2", 0.1, BOTH, 15),
        ("it comes back", "h2", 1, BOTH, 15),
    ]),
}
HOST_OF_RACK = {"r1": "h2"}


def degraded(spec, what, share, ways):
    """The spec of the network as it is then."""
    if not what or what.startswith("cpu") or share == 1:
        return spec
    above = "net" if what.startswith("r") or not spec.startswith("racks") else next(r for r, h in HOST_OF_RACK.items() if h == what)
    link = f"{what}-{above}" if len(ways) == 2 else f"{what}->{above}" if ways[0] == "out" else f"{above}->{what}"
    return f"{spec},degrade={link}:{share}"


def live(folder, bytes_):
    """A rank: calls until the folder has a file 'stop'. Rank 0 writes a line per call: its beginning, its end, whether the sum was
    right, and which lines its log has since got."""
    import numpy
    import banyan

    rank = int(os.environ["BANYAN_RANK"])
    open(f"{folder}/pid.{rank}.new", "w").write(str(os.getpid()))
    os.rename(f"{folder}/pid.{rank}.new", f"{folder}/pid.{rank}")
    out = open(f"{folder}/calls.{rank}", "w", buffering=1)
    with banyan.init() as comm:
        data, result = numpy.full(bytes_ // 4, rank + 1, numpy.float32), numpy.empty(bytes_ // 4, numpy.float32)
        total = comm.size * (comm.size + 1) / 2
        log = open(f"{folder}/log.{rank}") if os.path.exists(f"{folder}/log.{rank}") else None
        while True:
            data[0] = rank == 0 and os.path.exists(f"{folder}/stop")
            begin = time.monotonic()
            comm.allreduce(data, out=result)
            end = time.monotonic()
            is_right = bool(result[1] == total and (result[1:] == total).all())
            said = [line.rstrip("\n") for line in log.readlines()] if log and rank == 0 else []
            out.write(json.dumps([begin, end, is_right, said]) + "\n")
            if result[0]:
                return


class Job:
    """The network with its ranks, and a hand on its cables."""

    def __init__(self, options, spec, folder, environment):
        self.folder, self.spec = folder, spec
        os.makedirs(folder)
        told = {"BANYAN_DEBUG": "INFO", "BANYAN_DEBUG_SUBSYS": "GRAPH", "BANYAN_STATUS_FOLDER": "off", **environment}
        command = [*options.priority.split(), options.banyan, "run", "--net", spec, "--", "sh", "-c",
                   'BANYAN_DEBUG_FILE="$0/log.$BANYAN_RANK" exec "$@"', folder, PYTHON, os.path.abspath(__file__),
                   "--rank", folder, "--bytes", str(options.bytes)]
        self.keeper = subprocess.Popen(command, env={**os.environ, **told}, stdin=subprocess.DEVNULL)
        self.ranks = len([n for n in json.loads(subprocess.run([options.banyan, "topo", "convert", spec], check=True,
                                                               capture_output=True).stdout)["nodes"] if n["kind"] == "worker"])
        deadline = time.time() + 30
        while not all(os.path.exists(f"{folder}/calls.{r}") for r in range(self.ranks)):
            if time.time() > deadline or self.keeper.poll() is not None:
                raise SystemExit(f"drift: the job on {spec} does not start")
            time.sleep(0.05)
        self.pid = [int(open(f"{folder}/pid.{r}").read()) for r in range(self.ranks)]
        self.speeds = {}
        self.find_cables()

    def devices(self, pid):
        shown = subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", "-json", "link"], check=True, capture_output=True).stdout
        return {d["ifindex"]: d for d in json.loads(shown)}

    def find_cables(self):
        """Both ends of each host's cable, and of the cable of its switch to the next one."""
        children = subprocess.run(["pgrep", "-P", str(self.keeper.pid)], capture_output=True, text=True).stdout.split()
        for switches in children:
            ports = self.devices(switches)
            if any(d["ifname"] == "s0" for d in ports.values()):
                break
        self.cables = {}
        for rank, pid in enumerate(self.pid):
            eth = next(d for d in self.devices(pid).values() if d["ifname"] == "eth0")
            port = ports[eth["link_index"]]
            self.cables[f"h{rank}"] = {"out": (pid, "eth0"), "in": (switches, port["ifname"])}
            for rack, host in HOST_OF_RACK.items():
                if host != f"h{rank}":
                    continue
                for d in ports.values():  # both ends of a trunk are in this namespace
                    if "link" in d and d.get("master") == port["master"]:
                        self.cables[rack] = {"out": (switches, d["ifname"]), "in": (switches, d["link"])}

    def set_speed(self, what, share, ways):
        for way in ways:
            pid, device = self.cables[what][way]
            tc = ["nsenter", "-t", str(pid), "-n", "tc"]
            if (what, way) not in self.speeds:
                shown = json.loads(subprocess.run(tc + ["-json", "qdisc", "show", "dev", device], check=True, capture_output=True).stdout)
                self.speeds[what, way] = next(q for q in shown if q["kind"] == "tbf")["options"]["rate"]
            rate = 8 * self.speeds[what, way] * share
            burst = max(24000, rate / 8 * 0.0002)
            subprocess.run(tc + ["qdisc", "change", "dev", device, "root", "tbf", "rate", f"{rate:.0f}bit", "burst", f"{burst:.0f}",
                                 "limit", "1000000"], check=True)

    def calls(self):
        return [json.loads(line) for line in open(f"{self.folder}/calls.0") if line.endswith("\n")]

    def is_over(self):
        return self.keeper.poll() is not None

    def end(self):
        """How the job ended; None: not by itself."""
        open(f"{self.folder}/stop", "w").close()
        try:
            return self.keeper.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.keeper.terminate()
            self.keeper.wait()
            return None


def steal(pid, share):
    """Lets a process run for a part of each 20 ms, until this one is ended."""
    while True:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.02 * (1 - share))
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.02 * share)


class Thief:
    """Takes a process's processor away, before all others."""

    def __init__(self, pid, share):
        self.pid = pid
        self.process = subprocess.Popen(["chrt", "-r", "2", sys.executable, os.path.abspath(__file__), "--steal", str(pid), str(share)],
                                        stderr=subprocess.DEVNULL)

    def end(self):
        self.process.terminate()
        self.process.wait()
        os.kill(self.pid, signal.SIGCONT)


def play(job, events, seconds_of):
    """Beginnings of the phases, and the end of the last one."""
    moments, thief = [], None
    for event in events:
        _, what, share, ways, seconds = event
        if what and what.startswith("cpu"):
            if thief:
                thief.end()
            thief = Thief(job.pid[int(what[-1])], share) if share < 1 else None
        elif what:
            job.set_speed(what, share, ways)
        moments.append(time.monotonic())
        until = time.monotonic() + seconds_of(seconds)
        while time.monotonic() < until and not job.is_over():
            time.sleep(0.02)
    if thief:
        thief.end()
    return moments + [time.monotonic()]


def phases(calls, moments):
    """The calls that ended in each phase."""
    return [[call for call in calls if begin <= call[1] < end] for begin, end in zip(moments, moments[1:])]


def middle_of(calls):
    """Of the last half: a phase begins with what is being measured otherwise."""
    return statistics.median(end - begin for begin, end, *_ in calls[len(calls) // 2:]) if calls else None


def judge(calls, begin, bound_s):
    """When a new plan came that stayed, when calls were as fast as they should be, how many plans were tried or given up."""
    plan, tried, settled, changes = None, None, None, 0
    for i, (_, end, _, said) in enumerate(calls):
        for line in said:
            if "what was learnt promises" in line and float(line.split("promises")[1].split("%")[0]) >= 5:
                tried, changes = (end - begin, i + 1), changes + 1
            elif "it stays" in line:
                plan = plan or tried
            elif "it goes" in line:
                changes += 1
    for i in range(len(calls) - ROW + 1):
        if not settled and statistics.median(end - start for start, end, *_ in calls[i:i + ROW]) <= WITHIN * bound_s:
            settled = (calls[i][1] - begin, i + 1)
    return plan, settled, changes


def seconds_of_bound(options, spec):
    shown = json.loads(subprocess.run([options.banyan, "bound", spec, "--json"], check=True, capture_output=True).stdout)
    return options.bytes / shown["allreduce"]["bytes_per_s"]


def measure_told(options, scratch, spec, event, known):
    """The median time in a job that is told this network, where the event takes a processor away, too."""
    what, share = event[1:3] if event[1] and event[1].startswith("cpu") else (None, 1)
    if (spec, what, share) not in known:
        job = Job(options, spec, tempfile.mktemp(prefix="told.", dir=scratch), {"BANYAN_TOPO": spec})
        moments = play(job, [("", what, share, BOTH, 3), ("", what, 1, BOTH, 0)], lambda seconds: seconds)
        job.end()
        known[spec, what, share] = middle_of(phases(job.calls(), moments)[0])
    return known[spec, what, share]


def measure(options, scratch, name):
    spec, events = SCENARIOS[name]
    found = []
    for kind, environment, seconds_of in (("learnt", {"BANYAN_LEARN": "1"}, lambda s: s), ("fixed", {"BANYAN_LEARN": "0"}, lambda s: min(s, 3))):
        print(f"# {time.strftime('%H:%M:%S')} {spec}, {kind}", file=sys.stderr, flush=True)
        job = Job(options, spec, f"{scratch}/{name}.{kind}", {"BANYAN_TOPO": "", **environment})
        moments = play(job, events, seconds_of)
        code = job.end()
        found.append((job.calls(), moments, code))
        if options.keep:
            shutil.copy(f"{scratch}/{name}.{kind}/calls.0", f"{options.keep}.{name}.{kind}")
    (calls, moments, code), (fixed, fixed_moments, _) = found
    fixed_phases, told = phases(fixed, fixed_moments), {}
    for i, (event, phase) in enumerate(zip(events, phases(calls, moments))):
        now = degraded(spec, *event[1:4])
        bound_s = seconds_of_bound(options, now)
        plan, settled, changes = judge(phase, moments[i], bound_s)
        lost = sum(not call[2] for call in phase) + (i == len(events) - 1 and code != 0)
        show = lambda pair: ("", "") if not pair else (f"{pair[0]:.2f}", pair[1])
        share = lambda seconds: "" if seconds is None else f"{seconds / bound_s:.3f}"
        yield [spec, event[0], event[4], len(phase), f"{1e3 * bound_s:.1f}", *show(plan), *show(settled), share(middle_of(phase)),
               share(middle_of(fixed_phases[i])), share(measure_told(options, scratch, now, event, told)), changes, lost]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--banyan", default=f"{ROOT}/build/release/banyan")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help="which, with commas")
    parser.add_argument("--bytes", type=int, default=MIB)
    parser.add_argument("--csv", help="write the rows here")
    parser.add_argument("--priority", default="chrt -r 1", help="what starts the ranks")
    parser.add_argument("--keep", metavar="PREFIX", help="keep the calls of each job in files that begin so")
    parser.add_argument("--steal", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--rank", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        return live(options.rank, options.bytes)
    if options.steal:
        return steal(int(options.steal[0]), float(options.steal[1]))
    if os.geteuid() != 0:
        raise SystemExit("drift: networks and real-time priority need root")
    scratch = tempfile.mkdtemp(prefix="banyan-drift.")
    rows = []
    try:
        print(*COLUMNS, sep=",")
        for name in options.scenarios.split(","):
            for row in measure(options, scratch, name):
                rows.append(row)
                print(*row, sep=",", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if options.csv:
        commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            file.write(f"# bench/drift.py: a stream of all-reduces of {options.bytes} bytes, told nothing, while the network changes; columns as in bench/drift.py --help\n"
                       f"# {time.strftime('%Y-%m-%d', time.gmtime())}, commit {commit or 'unknown'}, {platform.machine()}, {os.cpu_count()} cores; "
                       f"{' '.join(['bench/drift.py'] + sys.argv[1:])}\n")
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows)


if __name__ == "__main__":
    main()
