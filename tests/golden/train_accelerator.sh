#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# banyan train --accelerator as a user types it: bars, JSON, picture, simulators, and what it says to mistakes.
# Arguments: source folder, command line.
set -u
banyan=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0
torus=torus:4x4,GBps=16,latency=150ns

complain() {
    echo "$*"
    failed=1
}

# The value of KEY in the result of ALGORITHM under POLICY.
value() {
    grep "\"algorithm\":\"$1\",\"policy\":\"$2\"" "$place/json" | sed -E "s/.*\"$3\":([^,}]*).*/\1/"
}

says() { # WORDS, then arguments
    local words=$1
    shift
    "$banyan" train "$@" > "$place/log" 2>&1
    [ $? = 2 ] || complain "train $*: should be refused"
    grep -qF -- "$words" "$place/log" || complain "train $* says: $(cat "$place/log")"
}

"$banyan" train --accelerator default --model alphagozero --topo $torus --algo ring,multitree --svg "$place/svg" --json \
    > "$place/json" || complain "it fails"
for key in iteration_s forward_s backward_s communication_s overlapped_comm_s exposed_comm_s groups; do
    [ -n "$(value ring layers $key)" ] || complain "the JSON has no $key"
done
# 16 samples on 16 arrays take as long as one: 398990 and 487396 + 362380 cycles.
[ "$(value ring single forward_s)" = 0.00039899 ] || complain "forward takes $(value ring single forward_s)"
[ "$(value ring single backward_s)" = 0.000849776 ] || complain "backward takes $(value ring single backward_s)"
[ "$(value ring layers groups)" = 8 ] || complain "there are $(value ring layers groups) all-reduces"
awk -v a="$(value ring single iteration_s)" -v b="$(value multitree single iteration_s)" -v c="$(value ring layers iteration_s)" \
    'BEGIN { exit !(a > b && a > c) }' || complain "multitree or overlap does not help"
# Two thirds of a vector of 6294480 bytes at 16 GB/s, twice 15/16: the ring's closed form.
awk -v a="$(value ring single communication_s)" 'BEGIN { b = 30 * (150e-9 + 6294480 / 16 / 16e9); exit !(a > 0.999 * b && a < 1.001 * b) }' ||
    complain "the ring takes $(value ring single communication_s)"
head -c 4 "$place/svg" | grep -q '<svg' || complain "--svg does not draw"

# Forest is made for each size: trees that hide latency for short vectors.
"$banyan" train --accelerator default --model alphagozero --topo $torus --algo multitree,forest --json > "$place/json" || complain "forest fails"
for policy in single layers; do
    awk -v a="$(value forest $policy communication_s)" -v b="$(value multitree $policy communication_s)" 'BEGIN { exit !(a <= b) }' ||
        complain "forest takes $(value forest $policy communication_s), multitree $(value multitree $policy communication_s)"
done
[ "$(value forest single overlapped_comm_s)" = 0 ] || complain "what is not overlapped hides $(value forest single overlapped_comm_s) s"

"$banyan" train --accelerator 8x8x2,clock=500MHz --model alphagozero --topo $torus --algo ring --overlap none --samples 4 \
    > "$place/log" || complain "text fails"
grep -q 'ring, not overlapped .*#=*' "$place/log" || complain "there are no bars: $(cat "$place/log")"
grep -q ', overlapped' "$place/log" && complain "--overlap none overlaps"

# The flit engine, and a straight line beyond 512 KiB: near the one beyond 1 MiB.
for largest in 512KiB 1MiB; do
    "$banyan" train --accelerator default --model alphagozero --topo $torus --algo multitree --overlap none --simulator flit --flow message \
        --largest $largest --json > "$place/json" || complain "flit fails"
    value multitree single communication_s
done > "$place/two"
awk '{ v[NR] = $1 } END { exit !(v[1] > 0.75 * v[2] && v[1] < 1.25 * v[2]) }' "$place/two" || complain "the line is off: $(cat "$place/two")"
grep -q '"largest_simulated_bytes":1048576' "$place/json" || complain "the largest size is not told"

says "needs a network" --accelerator default --model resnet50
says "--accelerator: an accelerator is" --accelerator tpu --model resnet50 --topo $torus
says "no file and no network 'resnet51'" --accelerator default --model resnet51 --topo $torus
says "--overlap: " --accelerator default --model ncf --topo $torus --overlap some
says "--samples: " --accelerator default --model ncf --topo $torus --samples 0
says "--largest is at least" --accelerator default --model ncf --topo $torus --largest 1KiB
says "--simulator: " --accelerator default --model ncf --topo $torus --simulator exact
says "did you mean ring?" --accelerator default --model ncf --topo $torus --algo rimg
says "a lone worker" --accelerator default --model ncf --topo $torus --active 3
exit $failed
