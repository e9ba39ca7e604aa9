#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# banyan status on a job that runs, on one with a stopped rank, and on none. Arguments: source folder, command line.
set -u
banyan=$2
failed=0
folder=$(mktemp -d)
export BANYAN_STATUS_FOLDER=$folder/status
trap 'kill $job 2> /dev/null; wait 2> /dev/null; rm -rf "$folder"' EXIT

complain() {
    echo "$*"
    failed=1
}

# Asks until the answer has the words, for a minute at the most.
until_says() {
    for _ in $(seq 600); do
        out=$("$banyan" status --timeout 200ms 2>&1)
        code=$?
        grep -q -- "$1" <<< "$out" && return
        sleep 0.1
    done
    complain "status does not say '$1': $out"
}

out=$("$banyan" status) || complain "no job: exit $?"
grep -q "no job of yours is running" <<< "$out" || complain "$out"

"$banyan" run -n 3 -- "$banyan" bench -b 1K -e 1K --iters 1000000 --timeout 1min > /dev/null 2>&1 &
job=$!
until_says "allreduce(count 256, float32, sum)"
[ $code = 0 ] || complain "a healthy job: exit $code"
grep -q "^group [0-9a-f]*: 3 ranks" <<< "$out" || complain "$out"
grep -q "^ *0 .*  2, [0-9.]* [kKM]*i*B in, [0-9.]* [kKM]*i*B out " <<< "$out" || complain "no control connections: $out"
process=$(ls "$folder/status" | sed -n 's/.*-1-//p')
kill -STOP "$process"
until_says "INCOMPLETE: call [0-9]* waits for rank 1"
[ $code = 1 ] || complain "a stopped rank: exit $code"
grep -q "SILENT" <<< "$out" || complain "$out"
out=$("$banyan" status --json --timeout 200ms)
grep -q '"missing":\[1\],"mismatched":\[\],"dead":\[\]' <<< "$out" || complain "$out"
grep -q '"silent":\[1\]' <<< "$out" || complain "$out"
kill -CONT "$process"
kill $job
wait $job 2> /dev/null
"$banyan" status > /dev/null || complain "after the end: exit $?"
[ -z "$(ls "$folder/status" 2> /dev/null)" ] || complain "sockets are left: $(ls "$folder/status")"

# Who sends more than a report can be is not listened to without end, whatever else it says.
if command -v python3 > /dev/null; then
    python3 - "$folder/status/0123456789ab-0-" << 'EOF' &
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1] + str(os.getpid()))
listener.listen()
while True:
    who, _ = listener.accept()
    sent = who.send(b'{"format":"banyan-rank-status","version":1,"group":"0123456789ab","size":1,"self":{"rank":0},"peers":[')
    try:
        while True:
            sent += who.send(b'{"rank":0},' * 100000)
    except OSError:
        open(sys.argv[1] + "sent.new", "w").write(str(sent))
        os.rename(sys.argv[1] + "sent.new", os.path.dirname(os.path.dirname(sys.argv[1])) + "/sent")
EOF
    job=$!
    for _ in $(seq 600); do [ -S "$folder/status/0123456789ab-0-$job" ] && break; sleep 0.1; done
    out=$(timeout 60 "$banyan" status --timeout 20s 2>&1) || complain "an endless report: exit $?: $out"
    grep -q "no job of yours is running" <<< "$out" || complain "an endless report: $out"
    for _ in $(seq 600); do [ -s "$folder/sent" ] && break; sleep 0.1; done
    [ "$(cat "$folder/sent" 2> /dev/null || echo 0)" -gt $((16 << 20)) ] || complain "16 MiB of a report are read"
    [ "$(cat "$folder/sent" 2> /dev/null || echo 99999999)" -lt $((20 << 20)) ] || complain "more than 16 MiB are read"
fi
exit $failed
