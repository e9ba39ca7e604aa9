#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The all-gather schedules that TE-CCL published, imported, proven and simulated, and ours beside.

    bench/teccl.py FOLDER [build/release/banyan]    writes data/reproduce/te-ccl.json, which `banyan reproduce field` shows

FOLDER is teccl/examples/experiments/output_provided of a copy of microsoft/TE-CCL, or any part of it that keeps the names of folders
(NDv2_output/4_chassis/AllGather/Slow/1MB.json). The networks are those of its evaluation, with switches that copy. With two NDv2 its program takes node 0, a
GPU, for a switch, so that 15 GPUs gather and node 0 only forwards; such files are played on that network. Chunks travel whole, and in a second run in sixteen
slices each, which pass a switch as they come."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLICES = 16  # of a chunk
SIZES = {"KB": 1e3, "MB": 1e6, "GB": 1e9}
DGX1 = ["02112000", "20120100", "11020020", "12200001", "20000211", "01002012", "00201102", "00011220"]  # in 25 GB/s


def worker(name):
    return {"name": name, "kind": "worker"}


def switch(name):
    return {"name": name, "kind": "switch", "multicast": True}


def link(src, dst, gigabytes, us):
    return {"src": src, "dst": dst, "bytes_per_s": gigabytes * 1e9, "latency_s": us * 1e-6}


def dgx1(first):
    return [link(f"n{first + i}", f"n{first + j}", 25 * int(count), 0.7) for i, row in enumerate(DGX1) for j, count in enumerate(row) if count != "0"]


def ndv2(machines, forwards):
    """Two machines are joined directly: GPU 0 of each sends to GPU 1 of the other; four by a switch, node 0."""
    if machines == 2:
        nodes = [worker(f"n{i}") for i in range(16)]
        links = dgx1(0) + dgx1(8) + [link("n0", "n9", 12.5, 1.3), link("n8", "n1", 12.5, 1.3)]
        if forwards:
            nodes[0] = switch("n0")
        return nodes, links
    nodes, links = [switch("n0")], []
    for machine in range(machines):
        first = 1 + 8 * machine
        nodes += [worker(f"n{first + i}") for i in range(8)]
        links += dgx1(first) + [link(f"n{first}", "n0", 12.5, 1.3), link("n0", f"n{first + 1}", 12.5, 1.3)]
    return nodes, links


def dgx2(machines):
    """Nodes 0 and 17 are the switches; the GPUs of odd number send to those of even number in the other machine."""
    nodes, links = [], []
    for machine in range(machines):
        first, other = 17 * machine, 17 * (1 - machine)
        nodes += [switch(f"n{first}"), *(worker(f"n{first + 1 + i}") for i in range(16))]
        for i in range(16):
            links += [link(f"n{first + 1 + i}", f"n{first}", 125, 0.35), link(f"n{first}", f"n{first + 1 + i}", 125, 0.35)]
        links += [link(f"n{first + 2 + i}", f"n{other + 1 + i}", 12.5, 2.6) for i in range(0, 16, 2)]
    return nodes, links


def network_of(path, flows):
    machines = int(re.search(r"/(\d+)_chassis/", path)[1])
    if "/NDv2_output/" in path:
        forwards = any(re.search(r"via switches 0\b", flow) for flow in flows)
        nodes, links = ndv2(machines, forwards)
        return f"NDv2 x{machines}", nodes, links, 8 * machines
    return (f"DGX-2 x{machines}", *dgx2(machines), 16 * machines)


def ask(banyan, *words):
    answer = subprocess.run([banyan, *words, "--json"], capture_output=True, text=True, timeout=500)
    if answer.returncode not in (0, 1):
        sys.exit(f"banyan {' '.join(words)}: {answer.stderr.strip()}")
    return json.loads(answer.stdout)


def best_of_ours(banyan, spec, size):
    """The fastest of all our plans on the links alone, and the CPU time that it took to make."""
    rows = ask(banyan, "sim", spec, "--collective", "allgather", "--bytes", size, "--algo", "all")["results"]
    best = min(rows, key=lambda row: row["seconds"])
    plan = ask(banyan, "plan", spec, "--collective", "allgather", "--bytes", size, "--algo", best["algorithm"])
    return best["algorithm"], best["seconds"], plan["planning_s"]


def measure(banyan, path, folder):
    document = json.loads(path.read_text(encoding="utf-8"))
    name, nodes, links, gpus = network_of(str(path), document["7-Flows"])
    spec = str(pathlib.Path(folder) / "network.json")
    pathlib.Path(spec).write_text(json.dumps({"format": "banyan-topology", "version": 1, "name": name, "nodes": nodes, "links": links}), encoding="utf-8")
    label = path.stem
    workers = sum(node["kind"] == "worker" for node in nodes)
    # Each GPU has its share of the size; where one only forwards, what is gathered is that much less.
    gathered = float(re.match(r"[0-9]+", label)[0]) * SIZES[label[-2:]] * workers / gpus
    size = str(round(gathered))
    verdict = ask(banyan, "verify", str(path), "--topo", spec)
    sliced = str(max(1, round(gathered / workers / SLICES)))
    theirs = [ask(banyan, "sim", spec, "--schedule", str(path), "--collective", "allgather", "--bytes", size, "--slice", slice_, "--service", "turns")
              for slice_ in ("whole", sliced)]
    algorithm, ours_s, planning_s = best_of_ours(banyan, spec, size)
    return {
        "network": name,
        "label": f"{label}, {path.parent.name.replace('_', ' ').lower()}",
        "file": str(path)[str(path).index(f"{path.parts[-5]}"):],
        "gpus": workers,
        "bytes": gathered,
        "flows": len(document["7-Flows"]),
        "epochs": document["3-Epochs_Required"],
        "finish_s": document["4-Collective_Finish_Time"],
        "solver_s": document["Solver_Time"],
        "is_proven": verdict["ok"],
        "why": verdict["problems"][0] if verdict["problems"] else "",
        "simulated_s": theirs[0]["results"][0]["seconds"],
        "sliced_s": theirs[1]["results"][0]["seconds"],
        "ours_s": ours_s,
        "algorithm": algorithm,
        "planning_s": planning_s,
        "bound_s": gathered / ask(banyan, "bound", spec)["allgather"]["bytes_per_s"],
    }


def size_of(path):
    return float(re.match(r"[0-9]+", path.stem)[0]) * SIZES[path.stem[-2:]]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1]).resolve()
    banyan = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else ROOT / "build/release/banyan")
    paths = sorted(source.glob("**/*_output/*/AllGather/*/*.json"), key=lambda path: (str(path.parent), size_of(path)))
    if not paths:
        sys.exit(f"{source} has no *_output/*/AllGather/*/*.json")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            rows.append(measure(banyan, path, folder))
            print(rows[-1], file=sys.stderr, flush=True)
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, timeout=60).stdout.strip()
    result = {"command": "bench/teccl.py", "when": f"commit {commit}", "machine": "any: all times are simulated, but those of planning", "results": rows}
    (ROOT / "data/reproduce/te-ccl.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
