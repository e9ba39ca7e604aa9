#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Three racks of two hosts behind trunks of 400 Mbit/s, with and without paced connections (BANYAN_TCP_PACING), turn by turn: time / bound and
# segments that were sent again per call, for queues of 1 MB and 100 KB, packets of 1500 and 9000 bytes and each
# congestion control that the kernel has. Needs root.
# Usage: bench/pacing.sh [BANYAN [TURNS]]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
banyan=${1:-$root/build/release/banyan}
turns=${2:-3}
net=racks:3x2x1,gbps=1,rack_gbps=0.4
bytes=16777216 calls=6
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export BANYAN_STATUS_FOLDER=off

cat > "$folder/rank.sh" << 'END'
subnet=$(ip -4 route show dev eth0 | head -n 1)
ip route change $subnet dev eth0 congctl "$3" 2> /dev/null || exit 1
"$1" bench -b "$4" -e "$4" --warmup_iters 4 --iters "$5" --json > "$2/out.$BANYAN_RANK" || exit 1
nstat -az TcpRetransSegs | awk 'NR > 1 { print $2 }' > "$2/again.$BANYAN_RANK"
END

echo "# bench/pacing.sh: $net, all-reduce of $bytes bytes, the network told; medians of $turns turns"
echo "# $(date -u +%F), commit $(git -C "$root" describe --always --dirty 2> /dev/null || echo unknown), $(uname -m), $(nproc) cores"
echo "congestion_control,queue_bytes,mtu,pacing,of_bound,retransmits_per_call"
bound=$("$banyan" bound "$net" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["allreduce"]["bytes_per_s"])')
for control in $(cat /proc/sys/net/ipv4/tcp_available_congestion_control); do
    [ "$control" != reno ] || continue
    for where in 1000000,1500 100000,1500 1000000,9000 100000,9000; do
        queue=${where%,*} mtu=${where#*,}
        for ((turn = 0; turn < turns; turn++)); do
            for pacing in 0 1; do
                rm -f "$folder"/out.* "$folder"/again.*
                BANYAN_TCP_PACING=$pacing "$banyan" run --net "$net" --queue $queue --mtu $mtu --timeout 120s -- \
                    bash "$folder/rank.sh" "$banyan" "$folder" "$control" $bytes $calls || exit 1
                cat "$folder"/again.* > "$folder/all"
                python3 -c '
import json, sys
row = json.load(open(sys.argv[1]))["results"][0]
again = sum(map(int, open(sys.argv[2])))
calls = 2 * (int(sys.argv[5]) + 4)
for side in ("out_of_place", "in_place"):
    print(row[side]["time"] * 1e-6 * float(sys.argv[3]) / int(sys.argv[4]), again / calls)
' "$folder/out.0" "$folder/all" "$bound" $bytes $calls >> "$folder/$control.$where.$pacing"
            done
        done
        for pacing in 0 1; do
            python3 -c '
import statistics, sys
rows = [list(map(float, line.split())) for line in open(sys.argv[1])]
print(",".join(sys.argv[2:]), *(f"{statistics.median(column):.3f}" for column in zip(*rows)), sep=",")
' "$folder/$control.$where.$pacing" "$control" $where $pacing
        done
    done
done
