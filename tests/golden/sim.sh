#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 'banyan sim': figures that are known beforehand, the keys of its JSON, the same output twice, and what it says
# when asked for what cannot be. Arguments: source folder, command line.
set -u
banyan=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0

complain() {
    echo "$*"
    failed=1
}

# WORDS... -- 'KEY VALUE' of the only result, to nine digits.
value() {
    "$banyan" sim "${@:2}" --json | grep -o "\"$1\":[^,}]*" | cut -d: -f2
}

expect() { # KEY VALUE WORDS...
    local found
    found=$(value "$1" "${@:3}")
    awk -v a="$found" -v b="$2" 'BEGIN { d = a - b; exit !(a != "" && d * d <= 1e-18 * b * b) }' ||
        complain "sim ${*:3}: $1 is $found, not $2"
}

refuse() { # CODE SENTENCE WORDS...
    local said code
    said=$("$banyan" sim "${@:3}" 2>&1 > /dev/null < /dev/null)
    code=$?
    [ "$code" = "$1" ] || complain "sim ${*:3}: exit $code, not $1"
    [[ $said == *"$2"* ]] || complain "sim ${*:3}: said '$said', not '$2'"
}

fast=,gbps=128,latency=150ns
expect seconds 0.00786882 ring:16$fast --algo ring
expect seconds 0.008276436 ring:64$fast --algo ring
expect closed_form_s 0.008276436 ring:64$fast --algo ring
expect seconds 0.00006988 "switch:16,GBps=1,latency=1us" --algo halving-doubling --bytes 28736B
expect seconds 0.000043872 "switch:16,GBps=1,latency=1us" --algo recursive-doubling --bytes 8968B
expect closed_form_s 0.000043872 "switch:16,GBps=1,latency=1us" --algo recursive-doubling --bytes 8968B
expect seconds 0.000047872 "switch:16,GBps=1,latency=1us" --algo recursive-doubling --bytes 8968B --overhead 1us
expect closed_form_s 0.000047872 "switch:16,GBps=1,latency=1us" --algo recursive-doubling --bytes 8968B --overhead 1us
expect seconds 0.011052 hosts:4+4,GBps=1,local_GBps=4,latency=10us,local_latency=1us --algo hierarchical --slice whole --bytes 8MB
expect seconds 0.000006 "ring:4,latency=1us" --algo ring --bytes 0
expect utilization 0.5 "ring:4,latency=0s" --algo ring
expect bottleneck_utilization 1 "ring:4,latency=0s" --algo ring
[ "$(value closed_form_s hosts:2+3 --algo ring)" = null ] || complain "a closed form where routes differ"
[ "$(value closed_form_s switch:5 --algo recursive-doubling)" = null ] || complain "a closed form for an odd number"

for key in algorithm bytes model seconds closed_form_s algbw busbw utilization bottleneck transfers messages; do
    [ -n "$(value $key torus:4x4 -a multitree -b 1MiB)" ] || complain "the JSON has no $key"
done
rows=$("$banyan" sim torus:4x4 --algo ring,multitree --bytes 1KiB,1MiB,4MiB --json | grep -c '"algorithm"')
[ "$rows" = 6 ] || complain "two algorithms at three sizes make $rows results"
"$banyan" sim dgx1 --json > "$place/once" && "$banyan" sim dgx1 --json > "$place/twice"
cmp "$place/once" "$place/twice" || complain "the same words gave another result"
"$banyan" sim switch:4 | grep -q 'do not apply to this network:' || complain "nothing was said of algorithms that do not apply"

"$banyan" plan dgx1 --algo multitree -o "$place/tree.json" -q
[ "$(value seconds dgx1 --schedule "$place/tree.json")" = "$(value seconds dgx1 --algo multitree)" ] ||
    complain "a schedule from a file takes another time than its algorithm"
"$banyan" sim dgx1 --schedule "$place/tree.json" --trace "$place/trace" > /dev/null && grep -q traceEvents "$place/trace" ||
    complain "no trace was written"
predicted=$("$banyan" plan torus:4x4 --algo ring --json | grep -o '"network_s":[^,]*' | cut -d: -f2)
[ "$predicted" = "$(value seconds torus:4x4 --algo ring --slice 128KiB)" ] || complain "plan and sim do not agree"
"$banyan" plan torus:4x4 --algo ring --json | grep -q '"model":"fluid"' || complain "plan does not say who predicted"

refuse 2 "name a network"
refuse 2 "no algorithm is named rong (did you mean ring?)" ring:4 --algo rong
refuse 2 "the model 'slow' is not auto, fluid, walk or flit" ring:4 --model slow
refuse 2 "--bytes" ring:4 --bytes 1MiB,lots
refuse 2 "--bytes names no size" ring:4 --bytes ""
refuse 2 "--slice" ring:4 --slice 0
refuse 2 "the service 'fair' is not shared or turns" ring:4 --service fair
refuse 2 "--overhead" ring:4 --overhead never
refuse 2 "--reduce-speed" ring:4 --reduce-speed quick
refuse 2 "lockstep is not for the model walk" ring:4 --model walk --lockstep
refuse 2 "--trace is for one algorithm at one size" ring:4 --trace "$place/trace"
refuse 2 "exclude each other" dgx1 --schedule "$place/tree.json" --algo ring
refuse 2 "the schedule is for 8 nodes, but ring:4 has 4" ring:4 --schedule "$place/tree.json"
refuse 1 "" line:8 --schedule "$place/tree.json"
refuse 2 "ring2d needs a torus" switch:4 --algo ring2d
[ $failed = 0 ] && echo "sim says what it should"
exit $failed
