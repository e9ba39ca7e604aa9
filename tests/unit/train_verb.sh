#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# banyan train as a user types it: the table, JSON, pictures, costs from the planner, and what it says to mistakes.
# Arguments: source folder, command line.
set -u
banyan=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0

complain() {
    echo "$*"
    failed=1
}

# The value of KEY in the result of POLICY.
value() {
    grep "\"policy\":\"$1\"" "$place/json" | sed -E "s/.*\"$2\":([^,}]*).*/\1/"
}

# POLICY must take SECONDS, within a per cent.
takes() {
    awk -v found="$(value "$1" iteration_s)" -v wanted="$2" \
        'BEGIN { exit !(found > 0.99 * wanted && found < 1.01 * wanted) }' ||
        complain "$1 takes $(value "$1" iteration_s) s, not $2"
}

"$banyan" train --model resnet152 --policy all --cost linear:1.4e-3,1.7e-9,1.5 --json \
    --svg "$place/svg" --trace "$place/trace" > "$place/json" || complain "train fails"
takes wfbp 1.154
takes single .684
takes mg-wfbp .666
takes asc-wfbp-printed .665
takes optimal:1 .506
takes optimal:2 .501
takes optimal .501
[ "$(value optimal:1 groups)" = 4 ] || complain "optimal:1 has $(value optimal:1 groups) groups"
for key in forward_s backward_s exposed_comm_s bound_s gap planning_s; do
    [ -n "$(value optimal "$key")" ] || complain "the result has no $key"
done
head -c 4 "$place/svg" | grep -q '<svg' || complain "--svg does not draw"
grep -q traceEvents "$place/trace" || complain "--trace does not write events"

"$banyan" train --model vgg16 --cost linear:1e-3,1e-9 > "$place/log" || complain "the table fails"
for policy in $("$banyan" list policies | sed -n 's/^  \([a-z-]*\)  .*/\1/p'); do
    grep -q "^$policy " "$place/log" || complain "the table has no line for $policy"
done

# From the planner: a ring of 4 at 1 GB/s takes 2 * 3 / 4 vectors; a line through all sizes is a little less steep, since slices of
# short vectors overlap.
"$banyan" train --model vgg16 --policy optimal --topo ring:4,GBps=1 --algo ring --json > "$place/json" ||
    complain "--topo fails"
sed -nE 's/.*"s_per_byte":([^,]*),.*/\1/p' "$place/json" | awk '{ exit !($1 > 1.46e-9 && $1 < 1.50e-9) }' ||
    complain "a ring of four costs $(sed -nE 's/.*"s_per_byte":([^,]*),.*/\1/p' "$place/json") s per byte"

# From nccl-tests: the sample has 1 GiB in 10 ms.
"$banyan" train --model vgg16 --policy single --cost "$1/tests/data/import/nccl-tests.json" --json > "$place/json" ||
    complain "--cost with a file of nccl-tests fails"
grep -q 'measured on 4 ranks' "$place/json" || complain "the source of a measured cost is not told"
sed 's/all_reduce_perf/all_gather_perf/' "$1/tests/data/import/nccl-tests.json" > "$place/gather.json"
"$banyan" train --model vgg16 --cost "$place/gather.json" 2> "$place/log" && complain "times of an all-gather are taken"
grep -q 'it is of all_gather_perf, not of all_reduce_perf' "$place/log" || complain "the wrong program is not named"

# Replaying traces: one by hand, and one that a plan was written as, which takes what the plan was predicted to take.
"$banyan" train --replay "$1/tests/data/chakra/train.0.et.gz" --topo switch:4,gbps=800 --algo auto,ring --json > "$place/json" ||
    complain "--replay fails"
for found in '"nodes":9,' '"algorithm":"ring"' '"kind":"allreduce","calls":2,"bytes":16777216' '"without_network":{"iteration_s":0.008,'; do
    grep -qF "$found" "$place/json" || complain "the replay has no $found"
done
echo '{"dp": [0, 9]}' > "$place/groups"
"$banyan" train --replay "$1/tests/data/chakra/train.0.et" --topo switch:4 --groups "$place/groups" 2> "$place/log" &&
    complain "a group with a worker that is not there is taken"
grep -q 'member 1 of group dp is not a worker of switch:4' "$place/log" || complain "the member is not named: $(cat "$place/log")"
"$banyan" train --replay "$1/tests/data/chakra/train.0.et" 2> "$place/log" && complain "--replay without a network is taken"
grep -q -e '--topo SPEC' "$place/log" || complain "--replay does not ask for a network"
head -c 100 "$1/tests/data/chakra/train.0.et" > "$place/short.et"
"$banyan" train --replay "$place/short.et" --topo switch:4 2> "$place/log" && complain "a trace that is cut off is taken"
grep -q 'byte [0-9]*: a message is cut off' "$place/log" || complain "the byte is not named: $(cat "$place/log")"
"$banyan" plan ring:4 --algo ring --bytes 4MiB --format chakra -o "$place/ring4" --json > "$place/plan" || complain "--format chakra fails"
"$banyan" train --replay "$place/ring4.3.et" --topo ring:4 --json > "$place/json" || complain "a written trace is not replayed"
sed -nE 's/.*"iteration_s":([^,]*),"compute_s".*"network_s":.*/\1/p' "$place/json" | head -1 > "$place/replayed"
awk -v a="$(sed -nE 's/.*"predicted_s":([^,]*),.*/\1/p' "$place/plan")" -v b="$(cat "$place/replayed")" \
    'BEGIN { exit !(b > 0.97 * a && b < 1.03 * a) }' ||
    complain "a ring is predicted to take $(sed -nE 's/.*"predicted_s":([^,]*),.*/\1/p' "$place/plan") s, and its trace $(cat "$place/replayed")"

printf 'name,elements,t_b\na,1000,1e-3\nb,1000,1e-3\n' > "$place/model.csv"
"$banyan" train --model "$place/model.csv" --policy single --forward 1ms --element-bytes 2 \
    --cost linear:1e-3,1e-6 --json > "$place/json" || complain "a model of one's own fails"
takes single 0.008 # 1 forward, 2 backward, 1 start-up, 4000 bytes at 1 us

# A grouping goes out and comes back as it was.
"$banyan" train --model vgg16 --policy wfbp,optimal:2 --cost linear:1e-3,1e-9 -o "$place/grouping" --quiet > /dev/null ||
    complain "-o fails"
"$banyan" train --model vgg16 --policy optimal:2 --cost linear:1e-3,1e-9 --grouping "$place/grouping" --json \
    > "$place/json" || complain "--grouping fails"
[ "$(grep -o '"digest":"[^"]*"' "$place/json" | sort -u | wc -l)" = 1 ] || complain "--grouping reads something else"

# Between real ranks: predicted and measured stand side by side, and all gradients are what they should be.
printf 'name,elements,t_b\na,1000,1e-3\nb,20001,2e-3\nc,7,1e-3\n' > "$place/small.csv"
"$banyan" train --model "$place/small.csv" --measure -n 2 --iterations 2 --policy wfbp,optimal --json > "$place/json" ||
    complain "--measure fails"
for key in predicted_iteration_s measured_iteration_s predicted_exposed_s measured_exposed_s hidden; do
    [ "$(grep -c "\"policy\".*\"$key\":[0-9]" "$place/json")" = 2 ] || complain "--measure: no $key for both policies"
done
grep -q '"source":"measured between 2 ranks"' "$place/json" || complain "--measure: the cost is not measured"
"$banyan" train --model "$place/small.csv" --measure --iterations 1 --policy single > "$place/log" ||
    complain "--measure does not print"
grep -q '^the same on these ranks' "$place/log" || complain "--measure prints no second table"

refuses() { # SENTENCE ARGUMENTS
    local sentence=$1
    shift
    "$banyan" train "$@" > /dev/null 2> "$place/log"
    [ $? = 2 ] || complain "train $*: the exit status is not 2"
    grep -qFe "$sentence" "$place/log" || complain "train $*: says '$(cat "$place/log")', not '$sentence'"
}

refuses "name a model"
refuses "say what an all-reduce costs" --model vgg16
refuses "exclude one another" --model vgg16 --cost linear:1,1 --topo ring:4
refuses "no model is named vgg" --model vgg --cost linear:1,1
refuses "did you mean optimal?" --model vgg16 --policy optimale --cost linear:1,1
refuses 'optimal:9: "9" is not an integer from 1 to 8' --model vgg16 --policy optimal:9 --cost linear:1,1
refuses "is not linear:A,B" --model vgg16 --cost cheap
refuses "exclude one another" --model vgg16 --cost linear:1,1 --measure
refuses "--transport pigeon is not auto" --model vgg16 --measure --transport pigeon
refuses '--ranks: "0" is not an integer' --model vgg16 --measure -n 0
refuses "--policy names none" --model vgg16 --cost linear:1,1 --policy ""
refuses "a lone worker has nothing to all-reduce" --model vgg16 --topo ring:4 --active 0
printf 'name,elements,t_b\na,x,0\n' > "$place/wrong.csv"
refuses "wrong.csv: line 2: elements 'x' is not" --model "$place/wrong.csv" --cost linear:1,1

sed 's/,\[1,/,[2,/' "$place/grouping" > "$place/wrong.grouping"
refuses "grouping: part 1 should begin" --model vgg16 --cost linear:1,1 --grouping "$place/wrong.grouping"

[ $failed = 0 ] && echo "banyan train does what its page says"
exit $failed
