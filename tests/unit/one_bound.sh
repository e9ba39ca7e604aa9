#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One bound: plan, compare, report and bound say the same share of it for the same plan, whatever the size of the vector, and bench
# measures against it, on networks with idle workers and asymmetric links among them. One choice: plan, compare and compare --sizes
# name the same algorithm. Arguments: source folder, command line.
. "$1/tests/verb.sh"

cases=(
    'hosts:2+3'
    'hosts:3+3+4 --active 0-4,6-8'
    'torus:4x4'
    'torus:3x4,down=g0-g1 --active 0-7'
    'fattree:4x4'
    'racks:2x2x4 --active 0-5,8-11'
    'dgx1 --active 0-5'
    'dgx1 --active 0-5 --relays forward'
    'hosts:2+3,degrade=h0->net:0.5'
    'mesh:3x3,degrade=g0->g1:0.25 --active 0,2,4,6,8'
    'switch:6,degrade=s0->g1:0.5'
)

# The forest's figure of that key in a verb's JSON.
figure() { # KEY VERB...
    local key=$1
    shift
    "$banyan" "$@" --json | tr -d ' \n' | grep -o '"algorithm":"forest".*' | grep -o "\"$key\":[^,}]*" | head -1 | cut -d: -f2
}

# Equal to the twelve digits that JSON has.
same() { # A B
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && b > 0 && a / b < 1 + 1e-11 && b / a < 1 + 1e-11) }'
}

for case in "${cases[@]}"; do
    set -- $case
    planned=$(figure share_of_bound plan "$@" --algo forest)
    short=$(figure share_of_bound plan "$@" --algo forest --bytes 1KiB)
    compared=$(figure share_of_bound compare "$@")
    reported=$(figure share_of_bound report "$@" --algo forest)
    bound=$("$banyan" bound "$@" --json | tr -d ' \n' | grep -o '"allreduce":{"bytes_per_s":[^,}]*' | cut -d: -f3)
    divided=$(awk -v rate="$(figure bytes_per_s plan "$@" --algo forest)" -v bound="$bound" 'BEGIN { printf "%.15g", rate / bound }')
    shorter=$(awk -v rate="$(figure bytes_per_s plan "$@" --algo forest --bytes 1KiB)" -v bound="$bound" 'BEGIN { printf "%.15g", rate / bound }')
    for other in "$compared" "$reported" "$divided"; do
        same "$planned" "$other" || complain "$case: plan $planned, compare $compared, report $reported, bound $divided"
    done
    same "$short" "$shorter" || complain "$case: the bound depends on the size of the vector"
done

# Ranks of bench are the first workers of a network.
for case in 'dgx1 6' 'hosts:2+3 5' 'racks:2x2x2 3'; do
    set -- $case
    measured=$("$banyan" run -n "$2" -- "$banyan" bench --topo "$1" -b 1K -e 1K --iters 1 -w 0 | sed -n 's/.* can do better than \(.*\) here)$/\1/p')
    bound=$("$banyan" bound "$1" --active "0-$(($2 - 1))" | sed -n 's/^  all-reduce *\([^ ]* [^ ]*\) .*/\1/p')
    [ -n "$measured" ] && [ "$measured" = "$bound" ] || complain "bench $case: the bound is '$measured', not '$bound'"
done

# The algorithm that a verb chooses.
for case in hosts:2+3 torus:4x4 'racks:2x2x4 --active 0-5,8-11'; do
    set -- $case
    table=$("$banyan" compare "$@" --sizes 1KiB-16MiB --json | tr -d ' \n')
    for bytes in 1024 65536 1048576 16777216; do
        planned=$("$banyan" plan "$@" --bytes $bytes --json | grep -o '"algorithm":"[^"]*"' | head -1)
        listed=$(grep -o "\"bytes\":$bytes,\"algorithm\":\"[^\"]*\"" <<< "$table" | cut -d, -f2)
        marked="\"algorithm\":\"$("$banyan" compare "$@" --bytes $bytes | sed -n 's/^[*] \([^ ]*\) .*/\1/p')\""
        [ -n "$planned" ] && [ "$planned" = "$listed" ] && [ "$planned" = "$marked" ] ||
            complain "$case, $bytes bytes: plan $planned, compare $marked, compare --sizes $listed"
    done
done

[ $failed = 0 ] && echo "one bound, and one choice"
exit $failed
