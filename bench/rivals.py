#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Banyan beside Open MPI, MPICH and Gloo, on the same shaped networks, in one run.

Every network is made once, by `banyan run --net`; inside it all contestants take turns, repetition by repetition, each
with real-time priority, float32 sums, separate send buffers where the interface has them, and data checked in every
run. Of each rival several variants run and the best one counts, picked after the fact for each network and size.
Between hosts Banyan runs three times: with the topology given, with nothing given and learning off, and with nothing given after 20
calls, in which it learns the network. Within a host Banyan runs twice: with buffers of banyan_mem_alloc, which ranks reach in place, and with private ones; MPI's
are of MPI_Alloc_mem.
What is printed is time / bound: the bound is what `banyan bound` says for the network (payload at line rate; TCP/IP
headers alone cost 1.046), and for shared memory the time to copy the vector once for each rank.

Needs root, for namespaces and priority. It installs what it compares with (Debian packages), unless --no-setup.
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

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PACKAGES = ["openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "python3-torch", "iproute2"]
KIB, MIB = 1 << 10, 1 << 20
SIZES = [KIB, MIB, 16 * MIB, 64 * MIB]
RT = ["chrt", "-r", "1"]
if subprocess.run(RT + ["true"], capture_output=True).returncode:
    RT = []

# name: (what it is, how the network is made)
NETWORKS = {
    "a": ("2 hosts, 2+3 ranks, 1 Gbit/s", "hosts:2+3,gbps=1"),
    "a-rr": ("the same, ranks dealt round robin", ("round robin", "hosts:2+3,gbps=1")),
    "b": ("2 hosts, 2+2 ranks, 1 Gbit/s", "hosts:2+2,gbps=1"),
    "c": ("3 hosts, 3+3+4 ranks, 1 Gbit/s", "hosts:3+3+4,gbps=1"),
    "d": ("4 hosts, one rank each, 200/500/1000/1000 Mbit/s", ("speeds", "hosts:1+1+1+1,gbps=1", [0.2, 0.5, 1, 1])),
    "e": ("2 racks x 2 hosts x 2 ranks, 1 Gbit/s, trunk 500 Mbit/s", "racks:2x2x2,gbps=1,rack_gbps=0.5"),
    "e-rr": ("the same, ranks dealt round robin", ("round robin", "racks:2x2x2,gbps=1,rack_gbps=0.5")),
    "slow": ("6 hosts, one rank each, one of them at 250 Mbit/s", ("speeds", "hosts:1+1+1+1+1+1,gbps=1", [1, 1, 0.25, 1, 1, 1])),
    "racks3": ("3 racks x 2 hosts, one rank each, 1 Gbit/s, up-links 500 Mbit/s", "racks:3x2x1,gbps=1,rack_gbps=0.5"),
    "equal": ("4 hosts, one rank each, 1 Gbit/s", "hosts:1+1+1+1,gbps=1"),
    "f2": ("one host, shared memory, 2 ranks", 2),
    "f4": ("one host, shared memory, 4 ranks", 4),
    "f8": ("one host, shared memory, 8 ranks", 8),
}

OPENMPI = {
    "default": [],
    "recursive doubling": ["3"],
    "ring": ["4"],
    "segmented ring": ["5"],
    "rabenseifner": ["6"],
    "han": None,
}
MPICH = {
    "default": "auto",
    "recursive doubling": "recursive_doubling",
    "reduce-scatter all-gather": "reduce_scatter_allgather",
}


def say(text):
    print(text, flush=True)


class Lab:
    """One network and the processes that keep it; commands are started in the places of its ranks."""

    def __init__(self, banyan, name, scratch):
        self.banyan, self.name = banyan, name
        self.folder = tempfile.mkdtemp(prefix="network.", dir=scratch)
        self.what, how = NETWORKS.get(name) or (name, name)
        self.is_local = isinstance(how, int)
        self.spec = None if self.is_local else self.write_spec(how)
        command = [banyan, "run"] + (["-n", str(how)] if self.is_local else ["--net", self.spec])
        keep = 'hostname > "$0/host.$BANYAN_RANK"; echo $$ > "$0/pid.$BANYAN_RANK.new"; ' \
               'mv "$0/pid.$BANYAN_RANK.new" "$0/pid.$BANYAN_RANK"; exec sleep 86400'
        self.keeper = subprocess.Popen(command + ["sh", "-c", keep, self.folder], stdin=subprocess.DEVNULL)
        self.ranks = how if self.is_local else self.ask("topo", "show", self.spec)["workers"]
        deadline = time.time() + 30
        while len(self.pids()) < self.ranks:
            if time.time() > deadline or self.keeper.poll() is not None:
                raise SystemExit(f"rivals: network {name} could not be made")
            time.sleep(0.05)
        self.pid = self.pids()
        self.host = [open(f"{self.folder}/host.{r}").read().strip() for r in range(self.ranks)]
        self.is_dealt = any(self.host[r] in self.host[:r - 1] and self.host[r] != self.host[r - 1] for r in range(2, self.ranks))
        self.write_rsh()
        self.port = 20000 + os.getpid() % 10000
        self.bound = None if self.is_local else self.ask("bound", self.spec)["allreduce"]["bytes_per_s"]

    def ask(self, *arguments):
        return json.loads(subprocess.run([self.banyan, *arguments, "--json"], check=True, capture_output=True).stdout)

    def write_spec(self, how):
        if isinstance(how, str):
            return how
        text = subprocess.run([self.banyan, "topo", "convert", how[1]], check=True, capture_output=True)
        topology = json.loads(text.stdout)
        if how[0] == "round robin":
            by_host = {}
            for node in topology["nodes"]:
                if node["kind"] == "worker":
                    by_host.setdefault(node["host"], []).append(node)
            dealt = [nodes[i] for i in range(max(map(len, by_host.values()))) for nodes in by_host.values() if i < len(nodes)]
            topology["nodes"] = dealt + [n for n in topology["nodes"] if n["kind"] != "worker"]
        else:
            hosts = []
            for node in topology["nodes"]:
                if node["kind"] == "worker" and node["host"] not in hosts:
                    hosts.append(node["host"])
            fastest = max(link["bytes_per_s"] for link in topology["links"] if set(hosts) & {link["src"], link["dst"]}
                          and not (link["src"].startswith("g") or link["dst"].startswith("g")))
            for link in topology["links"]:
                for host, share in zip(hosts, how[2]):
                    if host in (link["src"], link["dst"]) and link["bytes_per_s"] == fastest:
                        link["bytes_per_s"] = fastest * share
        topology["name"] = self.name
        path = f"{self.folder}/network.json"
        json.dump(topology, open(path, "w"))
        return path

    def write_rsh(self):
        for rank in reversed(range(self.ranks)):
            open(f"{self.folder}/of.{self.host[rank]}", "w").write(str(self.pid[rank]))
        path = f"{self.folder}/rsh"
        with open(path, "w") as out:
            out.write('#!/bin/sh\nwhile case $1 in -*) true ;; *) false ;; esac; do shift; done\nhost=$1; shift\n'
                      f'exec nsenter -t "$(cat "{self.folder}/of.$host")" -n -u -i -m -- sh -c "cd \'{ROOT}\'; $*"\n')
        os.chmod(path, 0o755)

    def pids(self):
        found = {}
        for rank in range(1024):
            path = f"{self.folder}/pid.{rank}"
            if not os.path.exists(path):
                break
            found[rank] = int(open(path).read())
        return found

    def inside(self, rank, command):
        if self.is_local:
            return command
        return ["nsenter", "-t", str(self.pid[rank]), "-n", "-u", "-i", "-m", "--", "sh", "-c", 'cd "$0"; exec "$@"', ROOT] + command

    def address(self):
        if self.is_local:
            return "127.0.0.1"
        out = subprocess.run(self.inside(0, ["hostname", "-I"]), check=True, capture_output=True, text=True).stdout
        return out.split()[0]

    def run_ranks(self, command, environment, timeout):
        """One process per rank, started by us; returns what rank 0 prints, or None when anybody fails."""
        jobs = []
        for rank in range(self.ranks):
            local = [r for r in range(self.ranks) if self.host[r] == self.host[rank]]
            own = dict(os.environ, **environment(rank, local.index(rank), len(local)))
            jobs.append(subprocess.Popen(self.inside(rank, RT + command), env=own, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL, text=True))
        return finish(jobs, timeout)

    def close(self):
        self.keeper.terminate()
        self.keeper.wait()


def finish(jobs, timeout):
    try:
        output = jobs[0].communicate(timeout=timeout)[0]
        codes = [job.wait(timeout=30) for job in jobs]
        return output if not any(codes) else None
    except subprocess.TimeoutExpired:
        return None
    finally:
        for job in jobs:
            if job.poll() is None:
                end_tree(job.pid)
                job.wait()


def calls_for(lab, size):
    """Few calls where one takes long; about a second in all."""
    if lab.is_local:
        return {KIB: 2000, MIB: 300}.get(size, 30 if size <= 16 * MIB else 6)
    return {KIB: 500, MIB: 15}.get(size, 4 if size <= 16 * MIB else 2)


def words(lab, sizes):
    return [f"{size}:{calls_for(lab, size)}" for size in sizes]


def rows(output):
    """Seconds by size of what a contestant printed; sizes with wrong results do not count."""
    found = {}
    for line in (output or "").splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            if not row["wrong"]:
                found[row["bytes"]] = row["seconds"]
    return found


# What Banyan knows of the network: the suffix of the variant's name, what the ranks are told, calls before the clock starts.
KNOWLEDGE = {
    "told": ("", {}, 0),
    "nothing": (", nothing given", {"BANYAN_TOPO": "", "BANYAN_LEARN": "0"}, 0),
    "learnt": (", learnt", {"BANYAN_TOPO": "", "BANYAN_LEARN": "1"}, 20),
}


def run_banyan(lab, algorithm, sizes, is_shared=True, knowledge="told"):
    found = {}
    _, told, calls_before = KNOWLEDGE[knowledge]
    lab.port += 1
    root, secret = f"{lab.address()}:{lab.port}", os.urandom(16).hex()

    def environment(rank, local_rank, local_size):
        own = {"BANYAN_RANK": str(rank), "BANYAN_SIZE": str(lab.ranks), "BANYAN_LOCAL_RANK": str(local_rank),
               "BANYAN_LOCAL_SIZE": str(local_size), "BANYAN_ROOT": root, "BANYAN_SECRET": secret}
        if lab.spec:
            own.update(BANYAN_TOPO=lab.spec, BANYAN_SOCKET_IFNAME="eth0")
            own.update(told)
        return own

    for size in sizes:
        root = f"{lab.address()}:{lab.port}"
        lab.port += 1
        command = [lab.banyan, "bench", "-b", str(size), "-e", str(size), "--iters", str(calls_for(lab, size)),
                   "--warmup_iters", "20" if calls_for(lab, size) > 50 else str(calls_before), "--algo", algorithm,
                   "--local_register", str(int(is_shared)), "--json"]
        output = lab.run_ranks(command, environment, 120)
        if output:
            row = json.loads(output)["results"][0]
            sides = [row[side] for side in ("out_of_place", "in_place")]
            if not any(side["nwrong"] for side in sides):
                found[size] = [side["time"] * 1e-6 for side in sides]
    return found


def run_openmpi(lab, variant, sizes, tools):
    hosts = {}
    for host in lab.host:
        hosts[host] = hosts.get(host, 0) + 1
    setting = OPENMPI[variant]
    options = ["--mca", "coll_han_priority", "100"] if setting is None else []
    if setting:
        options = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm", setting[0]]
    interface = "lo" if lab.is_local else "eth0"
    command = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(lab.ranks),
               "--map-by", "node" if lab.is_dealt else "slot",
               "--mca", "plm_rsh_agent", f"{lab.folder}/rsh", "--mca", "plm_rsh_no_tree_spawn", "1",
               "--mca", "oob_tcp_if_include", interface, "--mca", "btl_tcp_if_include", interface,
               "--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp", "--mca", "mpi_yield_when_idle", "1"]
    if not lab.is_local:
        command += ["--host", ",".join(f"{host}:{count}" for host, count in hosts.items())]
    return run_mpi(lab, command + options + [tools["openmpi"]] + words(lab, sizes), sizes)


def run_mpich(lab, variant, sizes, tools):
    hosts = {}
    for host in lab.host:
        hosts[host] = hosts.get(host, 0) + 1
    command = ["mpirun.mpich", "-np", str(lab.ranks)]
    if not lab.is_local:
        command += ["-launcher", "rsh", "-launcher-exec", f"{lab.folder}/rsh", "-iface", "eth0"]
        listed = lab.host if lab.is_dealt else [f"{host}:{count}" for host, count in hosts.items()]
        command += ["-hosts", ",".join(listed)]
    command += ["-genv", "LD_PRELOAD", tools["yield"], "-genv", "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", MPICH[variant]]
    return run_mpi(lab, command + [tools["mpich"]] + words(lab, sizes), sizes)


def run_mpi(lab, command, sizes):
    """Reads until every size has its row: MPICH's ranks now and then stay in MPI_Finalize for ever."""
    job = subprocess.Popen(lab.inside(0, RT + command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
    output, deadline = b"", time.time() + 90
    os.set_blocking(job.stdout.fileno(), False)
    while output.count(b"\n") < len(sizes) and time.time() < deadline:
        ended = job.poll() is not None
        output += job.stdout.read() or b""
        if ended:
            break
        time.sleep(0.02)
    try:
        job.wait(timeout=3)
    except subprocess.TimeoutExpired:
        end_tree(job.pid)
        job.wait()
    return rows(output.decode())


def end_tree(pid):
    """Ends a process with all it has started: what a launcher leaves behind at real-time priority would disturb the next."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = int(open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    tree = [pid]
    for parent in tree:
        tree += [child for child, its_parent in parents.items() if its_parent == parent]
    for each in tree:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run_gloo(lab, sizes):
    lab.port += 1
    address = lab.address()

    def environment(rank, local_rank, local_size):
        return {"RANK": str(rank), "WORLD_SIZE": str(lab.ranks), "MASTER_ADDR": address, "MASTER_PORT": str(lab.port),
                "GLOO_SOCKET_IFNAME": "lo" if lab.is_local else "eth0", "OMP_NUM_THREADS": "1"}

    return rows(lab.run_ranks(["/usr/bin/python3", f"{HERE}/rivals/gloo.py"] + words(lab, sizes), environment, 90))


def compile_tools(scratch, listed):
    """What the listed contestants need."""
    tools, names = {}, {who for who, _ in listed}
    for name, compiler in (("openmpi", "mpicc.openmpi"), ("mpich", "mpicc.mpich")):
        if name in names:
            tools[name] = f"{scratch}/{name}"
            subprocess.run([compiler, "-O2", "-o", tools[name], f"{HERE}/rivals/mpi.c"], check=True)
    if "mpich" in names:
        tools["yield"] = f"{scratch}/yield.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", tools["yield"], f"{HERE}/rivals/yield.c", "-ldl"], check=True)
    return tools


def contestants(chosen, algorithms, knowledge):
    """Banyan's variants are an algorithm and what it knows of the network."""
    listed = [("banyan", algorithm + KNOWLEDGE[known][0]) for algorithm in algorithms for known in knowledge]
    listed += [("openmpi", variant) for variant in OPENMPI]
    listed += [("mpich", variant) for variant in MPICH]
    listed += [("gloo", "pytorch")]
    if not chosen:
        return listed
    return [(who, variant) for who, variant in listed
            if any(c == who or c == f"{who}:{variant}" for c in chosen)]


def measure_network(lab, listed, sizes, repeat, tools):
    times = {}
    for repetition in range(repeat):
        for who, variant in listed:
            if who == "banyan" and "," in variant:
                if lab.is_local:
                    continue
                algorithm, suffix = variant.split(",", 1)
                known = next(name for name, entry in KNOWLEDGE.items() if entry[0] == "," + suffix)
                found = {size: both[0] for size, both in run_banyan(lab, algorithm, sizes, True, known).items()}
            elif who == "banyan":
                found = {}
                for name, is_shared in ((variant, True), (variant + ", private", False)):
                    if not is_shared and not lab.is_local:
                        continue
                    for size, (apart, in_place) in run_banyan(lab, variant, sizes, is_shared).items():
                        times.setdefault((who, name + ", in place", size), []).append(in_place)
                        if is_shared:
                            found[size] = apart
                        else:
                            times.setdefault((who, name, size), []).append(apart)
            elif who == "openmpi":
                found = run_openmpi(lab, variant, sizes, tools)
            elif who == "mpich":
                found = run_mpich(lab, variant, sizes, tools)
            else:
                found = run_gloo(lab, sizes)
            print(f"# {time.strftime('%H:%M:%S')} {lab.name} {who} ({variant})", file=sys.stderr, flush=True)
            for size, seconds in found.items():
                times.setdefault((who, variant, size), []).append(seconds)
            missing = [size for size in sizes if size not in found]
            if missing:
                say(f"# {lab.name}: {who} ({variant}) gave nothing for {', '.join(map(show_bytes, missing))}")
    return times


def show_bytes(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def copy_rate():
    """Bytes a second that one core copies, out of the caches."""
    import ctypes
    size = 256 * MIB
    a, b = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
    best = 0.0
    for _ in range(4):
        begin = time.perf_counter()
        ctypes.memmove(b, a, size)
        best = max(best, size / (time.perf_counter() - begin))
    return best


def bound_of(lab, size, rate):
    return lab.ranks * size / rate if lab.is_local else size / lab.bound


def summarise(lab, times, sizes, rate):
    result = []
    for size in sizes:
        best = {}
        for (who, variant, bytes_), seconds in times.items():
            if bytes_ == size:
                middle = statistics.median(seconds)
                if who != "banyan":
                    if who not in best or middle < best[who][0]:
                        best[who] = (middle, variant)
        row = {"network": lab.name, "bytes": size, "bound_s": bound_of(lab, size, rate), "rivals": {}, "banyan": {}}
        for who, (seconds, variant) in best.items():
            row["rivals"][who] = {"seconds": seconds, "of_bound": seconds / row["bound_s"], "variant": variant}
        for (who, variant, bytes_), seconds in times.items():
            if bytes_ == size and who == "banyan":
                middle = statistics.median(seconds)
                row["banyan"][variant] = {"seconds": middle, "of_bound": middle / row["bound_s"]}
        result.append(row)
    return result


def show_time(seconds):
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def cell(entry, is_small):
    return "-" if not entry else show_time(entry["seconds"]) if is_small else f"{entry['of_bound']:.3f}"


def markdown(rows_, names):
    lines = ["| network | size | bound | Banyan out of place / in place | nothing given | learnt | with private buffers | Open MPI best | MPICH best | Gloo (PyTorch) | "
             "best rival / Banyan out of place, private |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows_:
        small = row["bytes"] < MIB
        own, apart = row["banyan"].get("auto, in place"), row["banyan"].get("auto")
        private = row["banyan"].get("auto, private"), row["banyan"].get("auto, private, in place")
        rivals = row["rivals"]
        named = [f"{cell(rivals.get(w), small)}" + (f" ({rivals[w]['variant']})" if w in rivals and w != "gloo" else "")
                 for w in ("openmpi", "mpich", "gloo")]
        lead = min((r["seconds"] for r in rivals.values()), default=0)
        ratio = ", ".join(f"{lead / one['seconds']:.2f}" for one in (apart, private[0]) if one and lead) or "-"
        shown = f"{cell(private[0], small)} / {cell(private[1], small)}" if any(private) else "-"
        lines.append(f"| {row['network']} | {show_bytes(row['bytes'])} | {show_time(row['bound_s'])} | {cell(apart, small)} / {cell(own, small)} | "
                     f"{cell(row['banyan'].get('auto, nothing given'), small)} | {cell(row['banyan'].get('auto, learnt'), small)} | {shown} | " + " | ".join(named) + f" | {ratio} |")
    return "\n".join(lines + [""] + [f"- {name}: {NETWORKS[name][0]}" for name in names if name in NETWORKS]) + "\n"


CSV_COLUMNS = ["run", "network", "bytes", "buffers", "unit", "banyan", "banyan_in_place", "banyan_nothing", "banyan_learnt", "openmpi",
               "openmpi_variant", "mpich", "gloo"]


def csv_rows(rows_):
    """A row per network, size and kind of buffers: times in us for short vectors, else divided by the bound."""
    for row in rows_:
        unit = "us" if row["bytes"] < MIB else "bound"
        value = {"us": lambda entry: f"{entry['seconds'] * 1e6:.1f}", "bound": lambda entry: f"{entry['of_bound']:.3f}"}[unit]
        rivals = row["rivals"]
        is_local = "auto, private" in row["banyan"]
        for buffers, name in (("shared", "auto"), ("private", "auto, private")) if is_local else (("private", "auto"),):
            suffixes = ["", ", in place"] + [KNOWLEDGE[known][0] for known in ("nothing", "learnt")]
            own = [row["banyan"].get(name + suffix) for suffix in suffixes]
            yield [1, row["network"], row["bytes"], buffers, unit, *("" if not one else value(one) for one in own),
                   "" if "openmpi" not in rivals else value(rivals["openmpi"]), rivals.get("openmpi", {}).get("variant", ""),
                   *("" if who not in rivals else value(rivals[who]) for who in ("mpich", "gloo"))]


def write_csv(path, rows_, result):
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write('# bench/rivals.py: all-reduce of float32 beside Open MPI, MPICH and Gloo. "unit" says what the figures are: "us", or '
                   '"bound", the time divided by the bound.\n# "banyan": the network told; "banyan_nothing": neither told nor learnt; "banyan_learnt": '
                   'not told, after 20 calls. "buffers": shared is memory of banyan_mem_alloc. Medians.\n'
                   f"# run 1: {result['date']}, commit {commit or 'unknown'}, {platform.machine()}, {result['cores']} cores; {result['command']}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        writer.writerows(csv_rows(rows_))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--banyan", default=f"{ROOT}/build/release/banyan")
    parser.add_argument("--networks", default=",".join(NETWORKS), help="which, with commas")
    parser.add_argument("--network", action="append", default=[], metavar="SPEC",
                        help="measure this network, a file or a generator, instead of those above; may be repeated")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="bytes, with commas")
    parser.add_argument("--repeat", type=int, default=3, help="turns of every contestant; the median counts")
    parser.add_argument("--only", default="", help="contestants: banyan, openmpi:han, mpich, gloo, ...")
    parser.add_argument("--algos", default="auto", help="Banyan's algorithms, with commas")
    parser.add_argument("--knowledge", default=",".join(KNOWLEDGE),
                        help="what Banyan knows of a network, with commas: told, nothing (no topology, no learning), learnt "
                             "(no topology, after 20 calls)")
    parser.add_argument("--json", help="write all figures here")
    parser.add_argument("--csv", help="write the rows here, in the form of bench/results/rivals.csv")
    parser.add_argument("--markdown", help="write the table here")
    parser.add_argument("--no-setup", action="store_true", help="install nothing")
    return parser.parse_args()


def main():
    options = parse()
    sizes = [int(word) for word in options.sizes.split(",")]
    names = options.network or options.networks.split(",")
    if os.geteuid() != 0:
        raise SystemExit("rivals: networks and real-time priority need root")
    unknown = [name for name in names if name not in NETWORKS and not options.network]
    if unknown:
        raise SystemExit(f"rivals: {unknown[0]} is none of {', '.join(NETWORKS)}")
    if not options.no_setup:
        subprocess.run([f"{ROOT}/scripts/setup.sh"] + PACKAGES, check=True)
    scratch = tempfile.mkdtemp(prefix="banyan-rivals.")
    all_rows, figures = [], []
    rate = copy_rate()
    try:
        listed = contestants([word for word in options.only.split(",") if word], options.algos.split(","),
                             options.knowledge.split(","))
        tools = compile_tools(scratch, listed)
        for name in names:
            lab = Lab(options.banyan, name, scratch)
            say(f"# network {name}: {lab.what}")
            try:
                times = measure_network(lab, listed, sizes, options.repeat, tools)
            finally:
                lab.close()
            found = summarise(lab, times, sizes, rate)
            all_rows += found
            figures += [{"network": name, "contestant": who, "variant": variant, "bytes": size, "seconds": seconds}
                        for (who, variant, size), seconds in times.items()]
            say(markdown(found, [name]))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    result = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "command": " ".join(["bench/rivals.py"] + sys.argv[1:]),
              "cores": os.cpu_count(), "copy_bytes_per_s": rate, "results": all_rows, "measurements": figures}
    if options.json:
        json.dump(result, open(options.json, "w"), indent=1)
    if options.csv:
        write_csv(options.csv, all_rows, result)
    if options.markdown:
        open(options.markdown, "w").write(markdown(all_rows, names))


if __name__ == "__main__":
    main()
