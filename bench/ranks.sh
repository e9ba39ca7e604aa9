#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Jobs of many processes on this machine from start to end (bench/ranks.c), over shared memory, so that the connections counted are
# the control connections. Arguments: the program, numbers of ranks. With bench/results/ranks.txt:
#   bench/ranks.sh build/release/bench/bench_ranks 16 64 256 > bench/results/ranks.txt
# LIMIT_S: how long each job may take (default 600 s); the stages that were done by then are printed. COMMIT: what was built, where git does not know it.
set -u
cd "$(dirname "$0")/.."
program=${1:-build/release/bench/bench_ranks}
[ $# -lt 2 ] || shift
[ $# -gt 0 ] && [ "$1" != "$program" ] || set -- 16 64 256
export BANYAN_STATUS_FOLDER=off

echo "# bench/ranks.sh, commit ${COMMIT:-$(git rev-parse --short HEAD)}, $(uname -m), $(nproc) cores, $(date +%F)"
failed=0
head=1
for ranks; do
    out=$(timeout "${LIMIT_S:-600}" "$program" "$ranks" auto) || failed=1
    [ $head = 0 ] || head -n 1 <<< "$out"
    tail -n 1 <<< "$out"
    head=0
done
exit $failed
