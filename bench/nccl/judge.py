# SPDX-License-Identifier: Apache-2.0
"""Says what scripts/nccl-gpu.sh saw, and whether that is right.

judge.py job KIND SOCKETS BANYAN     two lines of JSON of torch_job.py
judge.py lost RANKS OUTPUT SECONDS   what rank 0 of banyan-nccl-test said when another was killed
judge.py speed FOLDER RANKS...       tables of banyan-nccl-test; writes nccl-gpu.csv and nccl-gpu.json
"""
import csv
import json
import os
import platform
import sys

WAYS = ("sockets", "sockets-8", "banyan", "banyan-tcp", "banyan-net", "banyan-net-tcp", "banyan-net-ucx")


def read(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def served(line):
    """FSDP has no all-reduce of its own but the loss's: all kinds make some."""
    return bool(line["counters"] and line["counters"]["allreduces"] > 0 and not line["counters"]["failures"])


def judge_job(kind, theirs, ours):
    theirs, ours = read(theirs), read(ours)
    if not theirs or not ours:
        print("%s: no result %s" % (kind, "with the plugin" if theirs else "without the plugin"))
        return False
    right = served(ours)
    if kind in ("ddp", "fsdp"):
        far = max(abs(a - b) for a, b in zip(theirs["losses"], ours["losses"]))
        right = right and far < 1e-4
        seen = "losses %.5f to %.5f, at most %.1e apart" % (ours["losses"][0], ours["losses"][-1], far)
    elif kind == "graph":
        right = right and ours["right"] and theirs["right"]
        seen = "%d replays of a captured all-reduce: %s" % (ours["replays"], "right" if ours["right"] else "wrong")
    else:
        right = right and not ours["wrong"]
        seen = "%d types and operations, wrong: %s" % (ours["tried"], ", ".join(ours["wrong"]) or "none")
    print("%-5s %d ranks: %s; the plugin served %d calls, %d bytes: %s" %
          (kind, ours["ranks"], seen, ours["counters"]["allreduces"], ours["counters"]["bytes"], "ok" if right else "FAILED"))
    return right


def judge_lost(ranks, output, seconds):
    lines = open(output, errors="replace").read().splitlines() if os.path.exists(output) else []
    sentence = next((l for l in lines if "the all-reduce failed" in l), "")
    right = "NET/Banyan" in "\n".join(lines) and "was lost" in "\n".join(lines) and float(seconds) < 30
    print("lost  %s ranks: rank 0 ended %.1f s after the kill, with: %s %s: %s" %
          (ranks, float(seconds), sentence, next((l for l in lines if l.startswith("NET/Banyan")), ""), "ok" if right else "FAILED"))
    return right


def load(folder, count, way):
    try:
        with open(os.path.join(folder, "speed-%s-%s.json" % (count, way))) as file:
            return {r["size"]: r for r in json.load(file)["results"]}
    except (OSError, ValueError):
        return {}


def judge_speed(folder, counts):
    rows = []
    for count in counts:
        tables = {way: load(folder, count, way) for way in WAYS}
        for size in sorted(set().union(*tables.values())):
            times = {w: tables[w][size]["in_place"]["time"] / 1e3 for w in WAYS if size in tables[w]}
            rows.append({"ranks": int(count), "bytes": size, **{w + "_ms": round(t, 4) for w, t in times.items()},
                         **{"speedup_" + w: round(times["sockets"] / times[w], 3)
                            for w in WAYS[2:] if w in times and "sockets" in times}})
    names = ["ranks", "bytes"] + [w + "_ms" for w in WAYS] + ["speedup_" + w for w in WAYS[2:]]
    with open(os.path.join(folder, "nccl-gpu.csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(rows)
    with open(os.path.join(folder, "nccl-gpu.json"), "w") as file:
        json.dump({"benchmark": "nccl-gpu", "machine": os.environ.get("MACHINE", platform.machine()),
                   "commit": os.environ.get("COMMIT", ""), "cores": os.cpu_count(), "unit": "ms", "results": rows}, file, indent=1)
    print("ranks      bytes   " + "".join("%14s" % w for w in WAYS) + "".join("%19s" % ("sockets/" + w) for w in WAYS[2:]))
    for row in rows:
        print("%5d %10d   " % (row["ranks"], row["bytes"]) + "".join("%11s ms" % row.get(w + "_ms", "-") for w in WAYS) +
              "".join("%19s" % row.get("speedup_" + w, "-") for w in WAYS[2:]))
    last = [r for r in rows if r["bytes"] == max((x["bytes"] for x in rows), default=0)]
    return bool(last) and all("banyan_ms" in r for r in last)


def main():
    what, words = sys.argv[1], sys.argv[2:]
    right = {"job": lambda: judge_job(*words), "lost": lambda: judge_lost(*words),
             "speed": lambda: judge_speed(words[0], words[1:])}[what]()
    return 0 if right else 1


sys.exit(main())
