#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `banyan probe` finds on shaped networks, held against what they are: every bandwidth within 10 %, hosts and racks as
# they are. Needs root and a quiet machine: what is measured is time.
# Usage: scripts/probe-networks.sh BANYAN [RUNS [NETWORK...]]: each network is probed RUNS times (default: once).
set -u
banyan=$(readlink -f "$1")
runs=${2:-1}
shift $(($# < 2 ? $# : 2))
failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if ! "$banyan" run --net hosts:1+1,gbps=1 true > /dev/null 2>&1; then
    echo "probe: no test network can be made here: skipped"
    exit 0
fi

# Every host with its racks and cables: 'host h0 ranks 0,1 up 1000 down 1000 rack 0,1 trunk 500 500', ranks as names of hosts
# and racks, which need not be the same. A trunk that is no bottleneck (as fast as its hosts) counts as none.
cat > "$folder/compare.py" << 'END'
import json, sys

def read(path):
    t = json.load(open(path))
    links = {}
    for l in t["links"]:
        links[l["src"], l["dst"]] = l["bytes_per_s"]
        if l.get("both"):
            links[l["dst"], l["src"]] = l["bytes_per_s"]
    workers = [n for n in t["nodes"] if n["kind"] == "worker"]
    ranks = {}
    for r, w in enumerate(workers):
        ranks.setdefault(next(d for s, d in links if s == w["name"]), []).append(r)
    parent = {h: [d for s, d in links if s == h and d not in {w["name"] for w in workers}] for h in ranks}
    racks = {}
    for h, ps in parent.items():
        racks.setdefault(ps[0] if ps else None, []).append(h)
    out = {}
    for rack, hosts in racks.items():
        together = tuple(sorted(r for h in hosts for r in ranks[h]))
        trunk = None
        if len(hosts) > 1 and rack is not None and len(racks) > 1:
            ups = [d for s, d in links if s == rack and d not in hosts and d not in ranks]
            total = sum(links[h, rack] for h in hosts)
            if len(ups) == 1 and links[rack, ups[0]] < 0.95 * total:
                trunk = (links[rack, ups[0]], links[ups[0], rack])
        for h in hosts:
            key = tuple(ranks[h])
            speed = (links[h, rack], links[rack, h]) if rack else None
            out[key] = (speed, together if trunk else None, trunk)
    return out

real, found, wrong = read(sys.argv[1]), read(sys.argv[2]), 0
def near(a, b):
    return a is None and b is None or (a and b and all(0.9 * x <= y <= 1.1 * x for x, y in zip(a, b)))
if set(real) != set(found):
    sys.exit(f"hosts differ: {sorted(real)} and {sorted(found)}")
for host in sorted(real):
    for what, a, b in zip(("cable", "rack", "trunk"), real[host], found[host]):
        if (a != b if what == "rack" else not near(a, b)):
            print(f"  ranks {host}: the {what} is {a}, found {b}")
            wrong = 1
sys.exit(wrong)
END

[ $# -gt 0 ] || set -- hosts:2+3,gbps=1 hosts:2+3,gbps=1,deal=rr hosts:2+2,gbps=1 hosts:3+3+4,gbps=1 \
    hosts:1+1+1+1,gbps=1 hosts:1+1+1+1,gbps=1,degrade=h0:0.2,degrade=h1:0.5 \
    'hosts:1+1+1+1,gbps=1,degrade=h1->net:0.3,degrade=net->h2:0.5' hosts:1+1+1+1+1+1,gbps=0.5,degrade=h3:0.2 \
    racks:2x2x2,gbps=1,rack_gbps=0.5 racks:2x2x2,gbps=1,rack_gbps=0.5,deal=rr \
    hosts:1+1+1+1+1+1,gbps=1,degrade=h2:0.25 racks:3x3+3+2x1,gbps=1,rack_gbps=0.6 \
    racks:2x3+2x1,gbps=1,rack_gbps=0.8 racks:3x2x1,gbps=1,rack_gbps=0.5 racks:4x2x1,gbps=1,rack_gbps=0.5
for net in "$@"; do
    "$banyan" topo convert "$net" -o "$folder/real.json" > /dev/null || exit 1
    right=0
    for ((run = 0; run < runs; run++)); do
        said=$("$banyan" run --net "$net" --timeout 2min -- "$banyan" probe -o "$folder/found.json" | tail -1)
        python3 "$folder/compare.py" "$folder/real.json" "$folder/found.json" && right=$((right + 1))
    done
    [ $right -eq "$runs" ] || failed=1
    echo "probe: $net: $right of $runs right; $said"
done
exit $failed
