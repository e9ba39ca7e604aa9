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
