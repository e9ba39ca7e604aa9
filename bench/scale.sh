#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a rank costs as ranks grow, on this machine: time to start, call once and end; sockets and memory of rank 1
# while calls go on. Arguments: command line, transport, algorithm, numbers of ranks. With bench/results/scale.txt:
#   for how in 'tcp double-tree 2 4 8 16 32 64' 'shm double-tree 4 16 64' 'tcp direct 4 16 32'; do
#       bench/scale.sh build/release/banyan $how; done > bench/results/scale.txt
set -u
banyan=${1:-build/release/banyan}
transport=${2:-tcp}
algorithm=${3:-double-tree}
shift 3
[ $# -gt 0 ] || set -- 2 4 8 16 32 64
export BANYAN_SOCKET_IFNAME=lo

seconds() {
    local begin end
    begin=$(date +%s.%N)
    "$@" > /dev/null 2>&1 || echo "failed: $*" >&2
    end=$(date +%s.%N)
    echo "$end - $begin" | bc
}

# Of the last process that was forked: sockets, private memory in KiB.
look_at_last() {
    local last
    last=$(pgrep -P "$1" | tail -1)
    [ -n "$last" ] || return
    printf '%s %s\n' "$(ls -l "/proc/$last/fd" | grep -c socket:)" \
        "$(awk '/^Private/ {sum += $2} END {print sum}' "/proc/$last/smaps_rollup")"
}

echo "# bench/scale.sh $transport $algorithm, commit $(git -C "$(dirname "$0")" rev-parse --short HEAD), $(uname -m), $(nproc) cores, $(date +%F)"
printf '%6s %10s %10s %14s\n' ranks start_s sockets private_KiB
for ranks; do
    start=$(seconds "$banyan" bench -n "$ranks" --transport "$transport" --algo "$algorithm" -b 8 -e 8 --iters 1 -w 0 -c 0)
    "$banyan" bench -n "$ranks" --transport "$transport" --algo "$algorithm" -b 64K -e 64K --iters 1000000 -w 0 -c 0 \
        > /dev/null 2>&1 &
    job=$!
    sleep 3
    printf '%6s %10s %10s %14s\n' "$ranks" "$start" $(look_at_last $job)
    kill $job
    wait $job 2> /dev/null
done
