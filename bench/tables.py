#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of results in README.md and docs/, made from the files that benchmarks have written.

    bench/tables.py             writes every table
    bench/tables.py --check     fails if one is not what its results say

A page has a table between a line `<!-- table: NAME, by bench/tables.py -->` and a line `<!-- end of table -->`."""
import collections
import csv
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
SIZES = {1 << 10: "1 KiB", 1 << 20: "1 MiB", 4 << 20: "4 MiB", 16 << 20: "16 MiB", 64 << 20: "64 MiB"}
HOSTS = {
    "a": "hosts of 2 and 3 ranks",
    "a-rr": "hosts of 2 and 3 ranks, ranks round-robin",
    "b": "hosts of 2 and 2 ranks",
    "c": "hosts of 3, 3 and 4 ranks",
    "d": "4 hosts at 200, 500, 1000, 1000 Mbit/s",
    "e": "2 racks of 2 hosts of 2 ranks, 500 Mbit/s between racks",
    "e-rr": "2 racks of 2 hosts of 2 ranks, 500 Mbit/s between racks, ranks round-robin",
    "equal": "4 equal hosts",
    "slow": "6 hosts, one of them at 250 Mbit/s",
    "racks3": "3 racks of 2 hosts, 500 Mbit/s between racks",
    "f2": "one host, 2 ranks",
    "f4": "one host, 4 ranks",
    "f8": "one host, 8 ranks",
}
RIVALS = {"openmpi": "Open MPI", "mpich": "MPICH", "gloo": "Gloo"}
MODELS = {"resnet152": "ResNet-152", "densenet201": "DenseNet-201", "inceptionv4": "Inception-v4", "bert_base": "BERT-Base"}
ALGORITHMS = {"ring": "RING", "multitree": "MULTITREE", "ring2d": "2D-RING"}
ASYMMETRIC = ("oneway", "third", "unlike")


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def table(*rows):
    head, *body = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def figure(row, column):
    if not row[column]:
        return "-"
    return f"{float(row[column]):.0f} us" if row["unit"] == "us" else f"{float(row[column]):.2f}"


def best_rival(row):
    return min((float(row[name]), name) for name in RIVALS if row[name])


def rivals():
    rows = [["network", "size", "Banyan, told", "nothing given", "learnt", *RIVALS.values(), "best rival / Banyan"]]
    for row in read(RESULTS / "rivals.csv"):
        name = HOSTS[row["network"]]
        if row["network"].startswith("f"):
            name += ", `banyan_mem_alloc`" if row["buffers"] == "shared" else ", private buffers"
        variant = f" ({row['openmpi_variant']})" if row["openmpi_variant"] else ""
        own = [figure(row, column) for column in ("banyan", "banyan_nothing", "banyan_learnt")]
        rows.append([name, SIZES[int(row["bytes"])], *own, figure(row, "openmpi") + variant, figure(row, "mpich"), figure(row, "gloo"),
                     f"{best_rival(row)[0] / float(row['banyan']):.2f}"])
    return table(*rows)


def rivals_short():
    """A row per network: 1 KiB and 16 MiB, private buffers, the best rival alone."""
    rows = [["network", "1 KiB: Banyan", "best rival", "16 MiB: told", "nothing given", "learnt", "best rival"]]
    found = {(row["network"], int(row["bytes"])): row for row in read(RESULTS / "rivals.csv") if row["buffers"] == "private"}
    for network in dict.fromkeys(network for network, _ in found):
        cells = [HOSTS[network]]
        for size, columns in ((1 << 10, ["banyan"]), (16 << 20, ["banyan", "banyan_nothing", "banyan_learnt"])):
            row = found[(network, size)]
            name = best_rival(row)[1]
            cells += [*(figure(row, column) for column in columns), f"{figure(row, name)} ({RIVALS[name]})"]
        rows.append(cells)
    return table(*rows)


# Of README: network, size and buffers in rivals.csv.
SHOWN = [("slow", 16 << 20, "private"), ("e", 1 << 20, "private"), ("f4", 16 << 20, "private")]
SHOWN_MODEL = ("A", "MLP", "40.1", "1")


def summary():
    rows = [["what", "Banyan", "best rival", "speed-up"]]
    found = {(row["network"], int(row["bytes"]), row["buffers"]): row for row in read(RESULTS / "rivals.csv")}
    for key in SHOWN:
        row = found[key]
        theirs, name = best_rival(row)
        ours = float(row["banyan"])
        rows.append([f"all-reduce of {SIZES[key[1]]}: {HOSTS[key[0]]}", f"{ours:.2f} x bound", f"{theirs:.2f} x bound ({RIVALS[name]})",
                     f"**{theirs / ours:.1f} x**"])
    for row in read(RESULTS / "torch_ddp.csv"):
        if (row["machine"], row["model"], row["parameters_M"], row["gbps"]) == SHOWN_MODEL:
            rows.append([f"PyTorch DDP step: {row['model']} of {row['parameters_M']} M parameters, hosts of 2 and 3 ranks, 1 Gbit/s",
                         f"{row['banyan_s']} s", f"{row['gloo_s']} s (Gloo)", f"**{float(row['gloo_s']) / float(row['banyan_s']):.1f} x**"])
    return table(*rows)


def torch():
    rows = [["machine", "model", "network", "Gloo, s", "Banyan, s", "speed-up", "exposed, s", "predicted, s", "hidden"]]
    for row in read(RESULTS / "torch_ddp.csv"):
        rows.append([row["machine"], f"{row['model']}, {row['parameters_M']} M parameters", "200 Mbit/s" if row["gbps"] == "0.2" else "1 Gbit/s",
                     row["gloo_s"], row["banyan_s"], f"{float(row['gloo_s']) / float(row['banyan_s']):.2f} x", row["exposed_s"],
                     row["predicted_exposed_s"], f"{row['hidden_percent']} %"])
    return table(*rows)


def torch_short():
    rows = [["model", "network", "Gloo, s", "Banyan, s", "speed-up", "hidden"]]
    for row in read(RESULTS / "torch_ddp.csv"):
        if row["machine"] == SHOWN_MODEL[0]:
            rows.append([f"{row['model']}, {row['parameters_M']} M parameters", "200 Mbit/s" if row["gbps"] == "0.2" else "1 Gbit/s",
                         row["gloo_s"], row["banyan_s"], f"{float(row['gloo_s']) / float(row['banyan_s']):.2f} x", f"{row['hidden_percent']} %"])
    return table(*rows)


def train():
    cells, bounds = collections.defaultdict(dict), {}
    for row in read(RESULTS / "train_policies.csv"):
        cells[row["policy"]][row["model"]] = f"{float(row['iteration_s']):.3f} ({row['groups']})"
        bounds[row["model"]] = f"{float(row['bound_s']):.3f}"
    rows = [["policy", *MODELS.values()]]
    rows += [[f"`{policy}`", *(cells[policy][model] for model in MODELS)] for policy in cells]
    return table(*rows, ["bound, 2 streams", *(bounds[model] for model in MODELS)])


def flit():
    cases = collections.defaultdict(list)
    for row in read(RESULTS / "flit_authors.csv"):
        cases[(row["algorithm"], row["flow"], row["network"])].append(row)
    rows = [["case", "KiB", "authors", "default interface", "`interface=authors`"]]
    for (algorithm, flow, network), found in cases.items():
        name = f"{ALGORITHMS[algorithm]}, {network}, {flow}s"
        rows.append([name, *(" / ".join(f"{int(row[column]):,}" for row in found)
                             for column in ("KiB", "authors", "cycles", "cycles_interface_authors"))])
    return table(*rows)


def flit_short():
    """How far the cycles are from the authors', per algorithm, with and without switches."""
    cases = collections.defaultdict(list)
    for row in read(RESULTS / "flit_authors.csv"):
        kind = "tori, meshes" if row["network"].startswith(("torus", "mesh")) else "fat-trees, BiGraphs"
        cases[(row["algorithm"], kind)].append(row)
    rows = [["algorithm", "networks", "runs", "default interface", "`interface=authors`"]]
    for (algorithm, kind), found in cases.items():
        cells = [ALGORITHMS[algorithm], kind, len(found)]
        for column in ("cycles", "cycles_interface_authors"):
            shares = [100 * (int(row[column]) / int(row["authors"]) - 1) for row in found]
            least, most = min(shares), max(shares)
            cells.append("equal" if not any(shares) else "within 0.05 %" if max(-least, most) < 0.05 else f"{least:+.1f} to {most:+.1f} %")
        rows.append(cells)
    return table(*rows)


def plans(by_links=True):
    groups = collections.defaultdict(list)
    for row in read(ROOT / "tests/data/plans/x86_64.csv"):
        _, damage, active, _ = row["case"].rsplit("/", 3)
        workers = "all active" if active == "100" else {"add": "some idle, which add", "forward": "some idle, which forward",
                                                        "none": "some idle, unused"}[row["relays"]]
        links = ["asymmetric" if damage in ASYMMETRIC else "symmetric"] if by_links else []
        groups[(int(row["max_trees"]), workers, *links)].append(float(row["bytes_per_s"]) / float(row["bound_bytes_per_s"]))
    rows = [["trees at most", "workers", *(["links"] if by_links else []), "networks", "mean share of the bound", "least", "below 99 %"]]
    for (trees, *kind), shares in sorted(groups.items()):
        rows.append([f"{trees:,}", *kind, f"{len(shares):,}", f"{100 * sum(shares) / len(shares):.2f} %", f"{100 * min(shares):.1f} %",
                     sum(share < 0.99 for share in shares)])
    return table(*rows)


def plans_short():
    return plans(by_links=False)


DRIFTING = {"hosts:1+1+1+1,gbps=0.5": "4 hosts", "racks:2x2x1,gbps=0.5,rack_gbps=0.5": "2 racks of 2 hosts"}


def drift():
    rows = [["network", "event", "within 15 % of the bound after", "time / bound then", "without learning", "told"]]
    results = read(RESULTS / "drift.csv")
    for row in results:
        if row["event"] in ("learning", "quiet"):
            continue
        after = f"{float(row['settled_s']):.1f} s, {row['settled_calls']} call{'s' * (row['settled_calls'] != '1')}" if row["settled_s"] else "-"
        shares = [f"{float(row[column]):.2f}" for column in ("of_bound", "fixed_of_bound", "told_of_bound")]
        rows.append([DRIFTING[row["network"]], row["event"], after, *shares])
    lost = sum(int(row["calls_lost"]) for row in results)
    tried = sum(int(row["plan_changes"]) for row in results if row["event"] == "quiet")
    return f"{table(*rows)}\n\nCalls lost: {lost}. Plans tried while nothing changed: {tried}."


def cores():
    rows = [["network", "size", "links", "time / bound, 2 cores", "of these, the ranks take", "time / bound, 16 cores"]]
    more = {(row["network"], row["speed"]): row for row in read(RESULTS / "cores16.csv")}
    for row in read(RESULTS / "cores.csv"):
        links = "at full speed" if row["speed"] == "1" else "at a quarter of it"
        rows.append([HOSTS[row["network"]], SIZES[int(row["bytes"])], links, f"{float(row['of_bound']):.2f}",
                     f"{100 * float(row['share_of_cores']):.0f} %", f"{float(more[row['network'], row['speed']]['of_bound']):.2f}"])
    return table(*rows)


def blocks(path):
    """Of a text file of results: for each line of figures, the comment above it and its cells."""
    comment = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            comment = line
        elif line.split()[:1] != ["ranks"]:
            yield comment, line.split()


def seconds(text):
    value = float(text)
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s" if value >= 0.1 else f"{value:.2f} s"


def ranks():
    rows = [["cores", "ranks", "start", "large", "split", "loss", "shrink", "connections", "after the loss"]]
    for comment, cells in blocks(RESULTS / "ranks.txt"):
        cores = re.search(r"(\d+) cores", comment).group(1)
        rows.append([cores, f"{int(cells[0]):,}", *map(seconds, cells[1:6]), *cells[7:9]])
    return table(*rows)


def scale():
    rows = [["network", "failures", "ranks", "chosen", "time", "of the bound", "messages", "planning: CPU, memory"]]
    for row in read(RESULTS / "scale_simulated.csv"):
        if int(row["ranks"]) < 2000:
            continue
        share = float(row["bytes_per_s"]) / float(row["bound_bytes_per_s"])
        rows.append([f"`{row['spec']}`", "yes" if row["failures"] == "1" else "no", f"{int(row['ranks']):,}", row["algorithm"],
                     f"{float(row['simulated_s']) * 1e3:.2f} ms", f"{100 * share:.1f} %", f"{int(row['messages']):,}",
                     f"{float(row['plan_cpu_s']):.1f} s, {row['plan_MiB']} MiB"])
    return table(*rows)


def start():
    rows = [["network", "failures", "ranks", "meet", "hand out", "join", "plan", "all-reduce of 1 KiB", "sum", "rank 0 sends"]]
    for row in read(RESULTS / "start_simulated.csv"):
        times = [float(row[step]) * 1e3 for step in ("meet_s", "hand_s", "join_s", "plan_s", "reduce_s")]
        rows.append([f"`{row['spec']}`", "yes" if row["failures"] == "1" else "no", f"{int(row['ranks']):,}",
                     *(f"{time:.2f} ms" for time in [*times, sum(times)]), f"{int(row['root_out_bytes']) / 1e6:.0f} MB"])
    return table(*rows)


PAGES = {
    "README.md": {"summary": summary},
    "bench/results/README.md": {"rivals": rivals, "torch": torch, "flit": flit, "plans": plans, "scale": scale, "start": start},
    "docs/performance.md": {"rivals, short": rivals_short, "cores": cores},
    "docs/learning.md": {"drift": drift},
    "docs/pytorch.md": {"torch, short": torch_short},
    "docs/training.md": {"train": train},
    "docs/scale.md": {"ranks": ranks},
    "docs/simulation-flit.md": {"flit, short": flit_short},
    "docs/forest.md": {"plans, short": plans_short},
}


def fill(path, tables):
    """The page's text with its tables as the results have them."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for name, make in tables.items():
        begin, end = f"<!-- table: {name}, by bench/tables.py -->\n", "<!-- end of table -->\n"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
        if not pattern.search(text):
            sys.exit(f"{path} has no place for the table '{name}': {begin.strip()}")
        made = make()
        text = pattern.sub(lambda _: f"{begin}\n{made}\n\n{end}", text, count=1)
    return text


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    stale = 0
    for path, tables in PAGES.items():
        text = fill(path, tables)
        if text == (ROOT / path).read_text(encoding="utf-8"):
            continue
        if sys.argv[1:]:
            print(f"{path}: its table is not what bench/results says; run bench/tables.py")
            stale = 1
        else:
            (ROOT / path).write_text(text, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
