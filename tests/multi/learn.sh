#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A group that was told no network learns it: racks behind slow trunks, a link that loses most of its speed in the middle of a
# job and gets it back. Needs root and network namespaces. Arguments: source folder, command line.
set -u
. "$1/tests/test_network.sh"
banyan=$2
failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export BANYAN_STATUS_FOLDER=off

complain() {
    echo "$*"
    failed=1
}

if why=$(cannot_make_test_network "$banyan"); then
    echo "skipped: $why"
    exit $skipped
fi

# Runs the ranks of a job on the network, with rank 0's log in $folder/log; a rank may change its own link meanwhile.
cat > "$folder/rank.sh" << 'END'
export BANYAN_TOPO= BANYAN_DEBUG=INFO BANYAN_DEBUG_SUBSYS=GRAPH BANYAN_DEBUG_FILE="$2/log.$BANYAN_RANK"
"$1" bench -b 2M -e 2M --iters "$3" --warmup_iters 0 > "$2/out.$BANYAN_RANK" 2>&1 &
bench=$!
if [ "$BANYAN_RANK" = 2 ] && [ -n "$4" ]; then
    for mbits in $4; do
        # Until the network is learnt, and calls have shown what they take there; then until the slow link is noticed.
        [ "$mbits" = 50 ] && wanted="what was learnt promises" || wanted="surveyed again"
        for ((i = 0; i < 300; i++)); do
            grep -q "$wanted" "$2/log.0" 2> /dev/null && break
            sleep 0.1
        done
        [ "$mbits" = 50 ] && sleep 2
        tc qdisc change dev eth0 root tbf rate "${mbits}mbit" burst 24000 limit 1000000 || exit 1
        grep -c "" "$2/log.0" > "$2/changed.$mbits"
    done
fi
if [ "$BANYAN_RANK" = 0 ] && [ "$BANYAN_STATUS_FOLDER" != off ]; then
    until "$1" status --json > "$2/status" && grep -q '"origin":"learnt"' "$2/status"; do
        kill -0 $bench 2> /dev/null || break
        sleep 0.2
    done
    "$1" status > "$2/shown"
fi
wait $bench
END

job() { # network, calls, speeds of rank 2's link
    rm -f "$folder"/log.* "$folder"/out.* "$folder"/changed.*
    "$banyan" run --net "$1" --timeout 120s -- bash "$folder/rank.sh" "$banyan" "$folder" "$2" "$3" > "$folder/job" 2>&1 ||
        complain "$1: exit $?: $(tail -n 2 "$folder/job" "$folder/out.0")"
    grep -q "Out of bounds values : 0 OK" "$folder/out.0" || complain "$1: wrong results: $(tail -n 3 "$folder/out.0")"
}

job racks:2x2x1,gbps=0.5,rack_gbps=0.2 40 ""
grep -q "surveyed 4 hosts in [0-9.e+-]* s: [0-9]* racks\?, which" "$folder/log.0" || complain "nothing was learnt: $(cat "$folder/log.0")"
grep -q "what was learnt promises" "$folder/log.0" || complain "nothing was planned: $(cat "$folder/log.0")"

# Whoever asks is shown the network, first guessed, then learnt.
BANYAN_STATUS_FOLDER=$folder/sockets job hosts:1+1,gbps=0.5 100 ""
grep -q '"network":{"origin":"learnt","hosts":2,"racks":1,.*"topology":"{' "$folder/status" || complain "status: $(cat "$folder/status")"
grep -q "network learnt: 2 hosts, 1 rack that explain" "$folder/shown" || complain "status shows: $(cat "$folder/shown")"

BANYAN_LEARN=0 job racks:2x2x1,gbps=0.5,rack_gbps=0.2 20 ""
! grep -q surveyed "$folder/log.0" || complain "BANYAN_LEARN=0 learns"
BANYAN_DETERMINISTIC=1 job racks:2x2x1,gbps=0.5,rack_gbps=0.2 20 ""
! grep -q surveyed "$folder/log.0" || complain "BANYAN_DETERMINISTIC=1 learns"
BANYAN_LEARN=once job hosts:1+1,gbps=0.5 60 ""
[ "$(grep -c "surveyed 2 hosts" "$folder/log.0")" = 1 ] || complain "BANYAN_LEARN=once: $(grep -c surveyed "$folder/log.0") surveys"

BANYAN_LEARN_BYTES=100KB job hosts:1+1+1+1,gbps=0.5 20 ""
grep -q "which is all it may take" "$folder/log.0" || complain "a survey sends more than it may: $(cat "$folder/log.0")"
! grep -q "surveyed 4 hosts" "$folder/log.0" || complain "a survey that has spent its budget has a result: $(cat "$folder/log.0")"

# What was learnt is kept, can be shown, and is where the next job of these hosts begins.
BANYAN_LEARN_FOLDER=$folder/kept job hosts:1+1,gbps=0.5 20 ""
grep -q surveyed "$folder/log.0" || complain "without a kept network there is no survey: $(cat "$folder/log.0")"
"$banyan" topo show "$folder"/kept/network-*.json > /dev/null || complain "what was learnt is not kept: $(ls "$folder/kept")"
BANYAN_LEARN_FOLDER=$folder/kept job hosts:1+1,gbps=0.5 20 ""
grep -q "on the network that was kept" "$folder/log.0" || complain "what was kept is not used: $(cat "$folder/log.0")"
for file in "$folder"/kept/network-*.json; do echo "{" > "$file"; done
BANYAN_LEARN_FOLDER=$folder/kept BANYAN_DEBUG=WARN job hosts:1+1,gbps=0.5 20 ""
grep -q "the network that was kept is of no use: .*network-" "$folder/log.0" || complain "a broken file is not told: $(cat "$folder/log.0")"

# One rank keeps its old speed until the network is learnt, has a tenth of it until that is noticed, and then again all.
job hosts:1+1+1+1,gbps=0.5 150 "50 500"
tail -n "+$(cat "$folder/changed.50" 2> /dev/null)" "$folder/log.0" | grep -q "the network is surveyed again" ||
    complain "a link that lost its speed was not noticed: $(cat "$folder/log.0")"
[ "$(grep -c "surveyed again" "$folder/log.0")" -le 8 ] || complain "the group surveys again and again: $(cat "$folder/log.0")"
exit $failed
