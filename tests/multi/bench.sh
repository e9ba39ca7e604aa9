#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench between processes: forked ranks over tcp and shm, and ranks that a launcher has started, with nothing wrong.
# Arguments: source folder, command line.
set -u
banyan=$2
failed=0

complain() {
    echo "$*"
    failed=1
}

for transport in tcp shm auto; do
    out=$("$banyan" bench -n 3 --transport $transport -b 1000 -e 100000 -f 10 --iters 2) || complain "$transport: exit $?"
    grep -q "^# Out of bounds values : 0 OK" <<< "$out" || complain "$transport: $out"
    grep -q "3 ranks as processes, transport $transport" <<< "$out" || complain "$transport: $out"
    [ "$(grep -vc '^#' <<< "$out")" = 3 ] || complain "$transport: not three rows: $out"
done
out=$("$banyan" bench -n 3 -b 1000 -e 1000 --iters 2) || complain "by default: exit $?"
grep -q "3 ranks as processes, transport auto" <<< "$out" || complain "by default: $out"
out=$("$banyan" bench -n 3 --transport memory -b 1000 -e 1000 --iters 2) || complain "memory: exit $?"
grep -q "3 ranks as threads of one process" <<< "$out" || complain "memory: $out"
out=$("$banyan" run -n 3 -- "$banyan" bench -b 1000 -e 1000 --iters 2 --json) || complain "run: exit $?"
grep -q '"ranks":3,"transport":"auto"' <<< "$out" || complain "run: $out"
out=$("$banyan" bench -n 2 --transport nosuch 2>&1) && complain "an unknown transport is accepted"
grep -q "nosuch is not memory, shm, tcp, " <<< "$out" || complain "$out"
out=$("$banyan" run -n 2 -- "$banyan" bench -n 3 2>&1) && complain "a wrong number of ranks is accepted"
grep -q -- "--ranks 3, but the launcher started 2" <<< "$out" || complain "$out"
exit $failed
