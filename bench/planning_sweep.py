#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans forest on hundreds of damaged networks, with some workers idle, and holds it against what we ask of it.

    bench/planning_sweep.py build/release/banyan --sizes 8,16 --jobs 2 --markdown
    bench/planning_sweep.py build/release/banyan --case torus:8x8/third/75/0 --keep .

A case is BASE/DAMAGE/PER CENT ACTIVE/SEED; the same name is the same network everywhere. Bases are banyan's own networks and
three by chance: rg, a ring with as many chords; rs, workers behind switches that forward; rd, behind switches of which some copy
or add, and with cables between workers. Asked are 99 % of the bound with at most 64 trees (99.9 % with more), and planning in
10 ms of CPU time for up to 16 workers, 100 ms for 64, 2 s for 256 and a minute for 1,024. Cases that fall short are listed; --csv writes
them all."""
import argparse
import concurrent.futures
import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile

BASES = {
    8: ["dgx1", "ring:8", "torus:2x4", "mesh:2x4", "switch:8", "hosts:2x4", "hosts:2+3+3", "full:8", "fattree:2x4", "rs:8", "rg:8",
        "spark:8", "kautz:8x2", "hyperx:2x2x2", "dgxh100", "mi300x", "rails:1x2x4"],
    16: ["torus:4x4", "mesh:4x4", "switch:16", "fattree:4x4", "fattree:4x4:4", "dgxa100:2", "hosts:4x4", "hosts:3+5+8",
         "bigraph:4x4", "full:16", "abci:16", "racks:2x4x2", "rs:16", "rg:16", "rd:16", "spark:16", "kautz:16x3", "dragonfly:4x2x2", "dragonfly+:4x2x2x2", "hyperx:4x4",
         "dgxh100:2", "dgxb200:2", "mi300x:2", "rails:1x2x8"],
    32: ["torus:4x8", "torus:2x4x4", "mesh:4x8", "switch:32", "dgxa100:4", "hosts:4x8", "racks:2x4x4", "full:32", "abci:32",
         "rs:32", "rg:32", "rd:32", "kautz:32x3", "dragonfly:4x4x2", "dragonfly+:4x2x2x4", "hyperx:4x4:2", "slimfly:3x2",
         "dgxh100:4", "dgxb200:4", "mi300x:4", "rails:2x2x8"],
    64: ["torus:8x8", "torus:4x4x4", "mesh:8x8", "switch:64", "fattree:8x8", "fattree:8x8:4", "dgxa100:8", "hosts:8x8",
         "racks:4x4x4", "bigraph:8x8", "full:64", "abci:64", "rs:64", "rg:64", "rd:64", "kautz:64x4", "tpuv4:4x4x4",
         "dragonfly:8x4x2", "dragonfly+:4x4x4x4", "hyperx:4x4:4", "slimfly:3x4", "dgxh100:8", "dgxb200:8", "nvl72", "mi300x:8",
         "rails:2x4x8"],
    256: ["torus:16x16", "torus:8x8x4", "mesh:16x16", "switch:256", "fattree:16x16", "fattree:16x16:4", "dgxa100:32",
          "hosts:32x8", "racks:8x8x4", "bigraph:16x16", "abci:256", "rs:256", "rg:256", "kautz:256x4", "tpuv4:8x8x4",
          "dragonfly:8x8x4", "dragonfly+:8x8x4x4", "hyperx:8x8:4", "slimfly:5", "dgxh100:32", "dgxb200:32", "nvl72:4", "mi300x:32",
          "rails:1x32x8"],
    1024: ["torus:32x32", "mesh:32x32", "switch:1024", "fattree:32x32:4", "dgxa100:128", "hosts:128x8", "abci:1024",
           "kautz:1024x4", "tpuv4:16x8x8", "dragonfly:16x8x8", "dragonfly+:16x8x8x8", "hyperx:8x8:16", "slimfly:11x4",
           "dgxh100:128", "dgxb200:128", "nvl72:14", "mi300x:128", "rails:4x32x8"],
}
DAMAGES = {
    "plain": "as it is",
    "one": "one cable at half its width",
    "oneway": "one link at half its width, so that its cable's directions are unlike",
    "lost": "one cable in forty lost",
    "quarter": "a quarter of the cables at 0.25, 0.5 or 0.75",
    "random": "each cable at 0.1 to 1",
    "third": "a third of the links at half their width",
    "unlike": "each link at 0.5 to 1",
}
UNLIKE = ("oneway", "third", "unlike")
WORK = ("lp_solves", "tree_searches", "max_flows", "visits")
SECONDS = {8: 0.010, 16: 0.010, 32: 0.100, 64: 0.100, 256: 2, 1024: 60}


def make_base(kind, workers, rng):
    """A network by chance."""
    nodes = [{"name": f"g{i}", "kind": "worker"} for i in range(workers)]
    links = []

    def add(a, b, width):
        links.extend({"src": s, "dst": d, "bytes_per_s": width * 1e9} for s, d in ((a, b), (b, a)))

    if kind == "rg":
        pairs = {tuple(sorted((i, (i + 1) % workers))) for i in range(workers)}
        while len(pairs) < min(2 * workers, workers * (workers - 1) // 2):
            pairs.add(tuple(sorted(rng.sample(range(workers), 2))))
        for a, b in sorted(pairs):
            add(f"g{a}", f"g{b}", rng.choice([1, 1, 2, 4]))
        return {"format": "banyan-topology", "version": 1, "nodes": nodes, "links": links}
    switches = max(2, workers // (6 if kind == "rs" else 8))
    for k in range(switches):
        nodes.append({"name": f"s{k}", "kind": "switch"})
        if kind == "rd":
            nodes[-1].update({ability: True for ability in ("multicast", "reduce") if rng.random() < 0.5})
    for k in range(1, switches):
        add(f"s{k}", f"s{rng.randrange(k)}", rng.choice([2, 4, 8]))
    for _ in range(switches // 2):
        a, b = rng.sample(range(switches), 2)
        add(f"s{a}", f"s{b}", rng.choice([2, 4, 8]))
    for i in range(workers):
        for k in rng.sample(range(switches), min(switches, rng.choice([1, 1, 2]))):
            add(f"g{i}", f"s{k}", rng.choice([1, 2]))
    for _ in range(workers // 2 if kind == "rd" else 0):
        a, b = rng.sample(range(workers), 2)
        add(f"g{a}", f"g{b}", 1)
    return {"format": "banyan-topology", "version": 1, "nodes": nodes, "links": links}


def load_base(banyan, base, rng):
    kind, _, size = base.partition(":")
    if kind in ("rs", "rg", "rd"):
        return make_base(kind, int(size), rng)
    topology = json.loads(subprocess.run([banyan, "topo", "convert", base], capture_output=True, text=True, check=True).stdout)
    links = []
    for link in topology["links"]:
        both = link.pop("both", False)
        links.append(link)
        if both:
            links.append({**link, "src": link["dst"], "dst": link["src"]})
    topology["links"] = links
    return topology


def find_cables(links):
    """Two links that are the directions of one cable, or one that has none in the other direction."""
    waiting, cables = {}, []
    for i, link in enumerate(links):
        back = waiting.get((link["dst"], link["src"]))
        if back:
            cables[back.pop(0)].append(i)
        else:
            waiting.setdefault((link["src"], link["dst"]), []).append(len(cables))
            cables.append([i])
    return cables


def is_whole(topology, lost):
    near = {}
    for i, link in enumerate(topology["links"]):
        if i not in lost:
            near.setdefault(link["src"], []).append(link["dst"])
    seen = {topology["nodes"][0]["name"]}
    stack = list(seen)
    while stack:
        for name in near.get(stack.pop(), []):
            if name not in seen:
                seen.add(name)
                stack.append(name)
    return len(seen) == len(topology["nodes"])


def lose_cables(topology, cables, rng):
    """One in forty, but none without which the network falls apart."""
    lost = set()
    for cable in rng.sample(cables, 1 + len(cables) // 40):
        if is_whole(topology, lost | set(cable)):
            lost |= set(cable)
    if lost:
        topology.pop("grid", None)
    topology["links"] = [link for i, link in enumerate(topology["links"]) if i not in lost]


def damage_network(topology, damage, rng):
    links = topology["links"]
    cables = find_cables(links)

    def narrow(which, factor):
        for i in which:
            links[i]["bytes_per_s"] *= factor

    if damage == "one":
        narrow(rng.choice(cables), 0.5)
    elif damage == "oneway":
        narrow([rng.choice(rng.choice(cables))], 0.5)
    elif damage == "lost":
        lose_cables(topology, cables, rng)
    elif damage == "quarter":
        for cable in cables:
            if rng.random() < 0.25:
                narrow(cable, rng.choice([0.25, 0.5, 0.75]))
    elif damage == "random":
        for cable in cables:
            narrow(cable, rng.uniform(0.1, 1))
    elif damage == "third":
        narrow([i for i in range(len(links)) if rng.random() < 1 / 3], 0.5)
    elif damage == "unlike":
        for i in range(len(links)):
            narrow([i], rng.uniform(0.5, 1))


def make_case(banyan, name):
    """The network, and the active workers (None: all)."""
    base, damage, per_cent, seed = name.split("/")
    rng = random.Random(name)
    topology = load_base(banyan, base, rng)
    damage_network(topology, damage, rng)
    topology["name"] = name
    workers = sum(node["kind"] == "worker" for node in topology["nodes"])
    if per_cent == "100":
        return topology, workers, None
    return topology, workers, sorted(rng.sample(range(workers), max(2, round(workers * int(per_cent) / 100))))


def plan(options, folder, name):
    topology, workers, active = make_case(options.banyan, name)
    path = os.path.join(folder, re.sub(r"\W+", "_", name) + ".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(topology, file)
    command = [options.banyan, "plan", path, "--algo", "forest", "--json", "--max-trees", str(options.trees), "--relays", options.relays]
    if active:
        command += ["--active", ",".join(map(str, active))]
    row = {"case": name, "max_trees": options.trees, "relays": options.relays, "workers": workers,
           "active": len(active or range(workers)), "share": 0, "cpu_s": options.limit, "bytes_per_s": 0, "bound_bytes_per_s": 0,
           "predicted_s": 0, "depth": 0, "trees": 0, **dict.fromkeys(WORK, 0), "failure": ""}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit, check=False)
    except subprocess.TimeoutExpired:
        row["failure"] = f"no answer in {options.limit} s"
        return row, command
    if done.returncode:
        row["failure"] = (done.stderr.strip().splitlines() or ["no word"])[-1]
    else:
        answer = json.loads(done.stdout)
        row.update(share=answer["share_of_bound"], cpu_s=answer["planning_s"], bytes_per_s=answer["bytes_per_s"],
                   bound_bytes_per_s=answer["bytes_per_s"] / answer["share_of_bound"], predicted_s=answer["predicted_s"],
                   depth=answer["depth"], trees=answer["trees"], **answer["work"])
    return row, command


def judge(row, least):
    """What is wrong with it; nothing if it is as asked."""
    base = row["case"].split("/")[0]
    size = next(size for size, bases in BASES.items() if base in bases)
    if row["failure"]:
        return ["FAILED"]
    return (["LOW"] if row["share"] < least else []) + (["SLOW"] if row["cpu_s"] > SECONDS[size] else [])


def summarise(rows, least):
    """One line for each size and kind of network."""
    groups = {}
    for row in rows:
        base, damage, per_cent, _ = row["case"].split("/")
        size = next(size for size, bases in BASES.items() if base in bases)
        kind = ("all active" if per_cent == "100" else "some idle") + (", unlike" if damage in UNLIKE else "")
        groups.setdefault((size, kind), []).append(row)
    print("| workers | networks | cases | below %g %% | least | over time | median CPU ms | no answer |" % (100 * least))
    print("|---|---|---|---|---|---|---|---|")
    for (size, kind), members in groups.items():
        verdicts = [judge(row, least) for row in members]
        good = sorted((row for row in members if not row["failure"]), key=lambda row: row["cpu_s"]) or [{"share": 0, "cpu_s": 0}]
        print("| %d | %s | %d | %d | %.2f %% | %d | %.3g | %d |" % (
            size, kind, len(members), sum("LOW" in v for v in verdicts), 100 * min(row["share"] for row in good),
            sum("SLOW" in v for v in verdicts), 1e3 * good[len(good) // 2]["cpu_s"], sum("FAILED" in v for v in verdicts)))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("banyan", help="the command line, as in build/release/banyan")
    parser.add_argument("--sizes", default="8,16,32,64", help="workers: " + ", ".join(map(str, BASES)))
    parser.add_argument("--bases", default="", help="only bases that match this regular expression")
    parser.add_argument("--damages", default=",".join(DAMAGES), help="; ".join(f"{k}: {v}" for k, v in DAMAGES.items()))
    parser.add_argument("--active", default="100,90,75,50,25", help="per cent of the workers")
    parser.add_argument("--seeds", default="0", help="as in 0-4")
    parser.add_argument("--trees", type=int, default=64, help="at most; 4096 for what there is before rounding")
    parser.add_argument("--relays", default="add", choices=("add", "forward", "none"), help="what idle workers may do")
    parser.add_argument("--limit", type=float, default=60, help="seconds to wait for an answer")
    parser.add_argument("--jobs", type=int, default=1, help="at once; more than the cores make times longer")
    parser.add_argument("--csv", help="write all cases there")
    parser.add_argument("--markdown", action="store_true", help="a table in the end")
    parser.add_argument("--keep", help="leave the networks in this folder")
    parser.add_argument("--case", help="only this one; its command is printed")
    options = parser.parse_args()
    damages = [options.case.split("/")[1]] if options.case and options.case.count("/") == 3 else options.damages.split(",")
    if not os.access(options.banyan, os.X_OK):
        parser.error(f"{options.banyan} cannot be run")
    if options.case and not re.fullmatch(r"[^/]+/[^/]+/\d+/\d+", options.case):
        parser.error(f"--case {options.case} is not BASE/DAMAGE/PER CENT ACTIVE/SEED")
    for damage in damages:
        if damage not in DAMAGES:
            parser.error(f"no damage is called {damage}")
    for size in options.sizes.split(","):
        if not size.isdigit() or int(size) not in BASES:
            parser.error(f"--sizes {size} is none of {', '.join(map(str, BASES))}")
    if not re.fullmatch(r"\d+(-\d+)?", options.seeds):
        parser.error(f"--seeds {options.seeds} is no number or range")
    return options


def list_cases(options):
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    return [f"{base}/{damage}/{per_cent}/{seed}" for size in map(int, options.sizes.split(",")) for base in BASES[size]
            if re.search(options.bases, base) for damage in options.damages.split(",")
            for per_cent in options.active.split(",") for seed in seeds
            if (damage, per_cent) != ("plain", "100") or seed == seeds[0] or base[:2] in ("rs", "rg", "rd")]


def main():
    options = read_options()
    least = 0.99 if options.trees <= 64 else 0.999
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        if options.case:
            row, command = plan(options, folder, options.case)
            print(" ".join(command), row, sep="\n")
            return 1 if row["failure"] else 0
        rows = []
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for row, _ in pool.map(lambda name: plan(options, folder, name), list_cases(options)):
                rows.append(row)
                verdict = judge(row, least)
                if verdict:
                    print("%-36s %3d active  %.4f  %8.1f ms  %s %s" % (
                        row["case"], row["active"], row["share"], 1e3 * row["cpu_s"], " ".join(verdict), row["failure"]), flush=True)
    if options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    if options.markdown:
        summarise(rows, least)
    return 0


if __name__ == "__main__":
    sys.exit(main())
