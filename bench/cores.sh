#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How much of a test network's time is the machine's: the same all-reduces with all links at full speed and at a
# quarter of it, turn by turn. Time / bound, and what the processes of all ranks take of all cores during a call
# (long runs less short ones, so that starting does not count; what the kernel does elsewhere is missing). Where
# the slower network is nearer to its bound, cores are the limit, not the plan. Needs root.
# Usage: bench/cores.sh [BANYAN [TURNS]]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
banyan=${1:-$root/build/release/banyan}
turns=${2:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export BANYAN_STATUS_FOLDER=off TIMEFORMAT='%U %S'

cat > "$folder/rank.sh" << 'END'
first="chrt -r 1"
$first true 2> /dev/null || first= # no real-time priority is to be had: a spare core has to do
time $first "$1" bench -b "$3" -e "$3" --warmup_iters 2 --iters "$4" --check 0 --json > "$2/out.$BANYAN_RANK"
END

# Appends 'seconds of a call, calls, seconds of all cores' of one run.
run() { # NET BYTES CALLS FILE
    rm -f "$folder"/out.*
    "$banyan" run --net "$1" --timeout 120s -- bash "$folder/rank.sh" "$banyan" "$folder" "$2" "$3" \
        2> "$folder/cpu" || exit 1
    python3 -c '
import json, sys
row = json.load(open(sys.argv[1]))["results"][0]
calls = [row[side]["time"] * 1e-6 for side in ("out_of_place", "in_place")]
cores = sum(float(word) for line in open(sys.argv[2]) for word in line.split())
print(sum(calls) / 2, 2 * int(sys.argv[3]), cores)' "$folder/out.0" "$folder/cpu" "$3" >> "$4"
}

echo "# bench/cores.sh: all-reduces with the network told; medians of $turns turns"
echo "# $(date -u +%F), commit $(git -C "$root" describe --always --dirty 2> /dev/null || echo unknown)," \
    "$(uname -m), $(nproc) cores"
echo "network,bytes,speed,of_bound,share_of_cores"
while read -r name bytes calls fast slow; do
    for ((turn = 0; turn < turns; turn++)); do
        for net in "$fast" "$slow"; do
            run "$net" "$bytes" "$calls" "$folder/short.$net"
            run "$net" "$bytes" $((3 * calls)) "$folder/long.$net"
        done
    done
    for speed in 1 0.25; do
        net=$([ $speed = 1 ] && echo "$fast" || echo "$slow")
        bound=$("$banyan" bound "$net" --json)
        python3 -c '
import json, os, statistics, sys
rate = json.loads(sys.argv[1])["allreduce"]["bytes_per_s"]
short, long = ([list(map(float, line.split())) for line in open(path)] for path in sys.argv[2:4])
of_bound = statistics.median(call * rate / int(sys.argv[4]) for call, _, _ in long)
share = statistics.median((b[2] - a[2]) / (b[0] * b[1] - a[0] * a[1]) for a, b in zip(short, long)) / os.cpu_count()
print(*sys.argv[5:], sys.argv[4], f"{of_bound:.3f},{share:.2f}", sep=",")
' "$bound" "$folder/short.$net" "$folder/long.$net" "$bytes" "$name" |
            awk -F, -v OFS=, -v speed=$speed '{print $1, $2, speed, $3, $4}'
    done
done << 'END'
c 4194304 4 hosts:3+3+4,gbps=1 hosts:3+3+4,gbps=0.25
e 4194304 4 racks:2x2x2,gbps=1,rack_gbps=0.5 racks:2x2x2,gbps=0.25,rack_gbps=0.125
racks3 1048576 12 racks:3x2x1,gbps=1,rack_gbps=0.5 racks:3x2x1,gbps=0.25,rack_gbps=0.125
END
