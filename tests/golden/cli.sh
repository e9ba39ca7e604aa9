#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command line as a user meets it: exit codes, and one sentence for each mistake.
#   cli.sh SOURCE BANYAN
set -u
banyan=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
passed=0 failed=0

# expect CODE WORDS ARGUMENTS...: the exit code, and words that standard output or error must hold.
expect() {
    local code=$1 words=$2 found
    shift 2
    found=$("$banyan" "$@" 2>&1 < /dev/null)
    local got=$?
    if [ $got != "$code" ] || ! grep -qF -- "$words" <<< "$found"; then
        echo "FAILED: banyan $*"
        echo "  exit code $got, should be $code; should say: $words"
        echo "$found" | head -5 | sed 's/^/  | /'
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

# One sentence, nothing else, on standard error.
expect_sentence() {
    local found
    found=$("$banyan" "${@:3}" 2>&1 > /dev/null < /dev/null)
    [ "$(wc -l <<< "$found")" = 1 ] || {
        echo "FAILED: banyan ${*:3}: more than one line on standard error"
        failed=$((failed + 1))
    }
    expect "$@"
}

expect 2 "Verbs:"
expect 0 "Verbs:" --help
expect 0 "banyan 0." --version
expect 0 "banyan-plan - build" help plan
expect 0 "Pages:" help
expect 0 "banyan-topology" help topology
expect 0 '"name":"algorithms"' help --json
expect_sentence 2 "no page is named plann (did you mean plan?)" help plann
expect_sentence 2 "did you mean compare?" comapre ring:4
expect_sentence 2 "no verb is named xyzzy" xyzzy
for verb in topo plan compare bound verify sim bench run shapes list info; do
    expect 0 "Usage:" $verb --help
    expect_sentence 2 "unknown option --jsn (did you mean --json?)" $verb --jsn
done

# Help fits a terminal, and has examples and the options of algorithms.
for verb in "" $("$banyan" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
    wide=$("$banyan" $verb --help | LC_ALL=C.UTF-8 awk 'length > 80')
    [ -z "$wide" ] || { echo "FAILED: banyan $verb --help has lines of more than 80 columns: $wide" && failed=$((failed + 1)); }
    expect 0 "Examples:" $verb --help
done
expect 0 "  --order RANKS" help ring
expect_sentence 2 "no page is named flexreduc (did you mean flexreduce?)" help flexreduc
for page in plan run topology banyan_allreduce; do # paragraphs; tables and code stay as they are
    wide=$("$banyan" help $page | LC_ALL=C.UTF-8 awk 'length > 80 && !/^[|]/ && !/^    /')
    [ -z "$wide" ] || { echo "FAILED: banyan help $page has lines of more than 80 columns: $wide" && failed=$((failed + 1)); }
done
NO_COLOR=1 BANYAN_COLOR=auto expect 0 "banyan-plan - build" help plan
if command -v script > /dev/null; then
    bold=$(script -qec "$banyan help plan" /dev/null < /dev/null | grep -c $'\x1b')
    none=$(NO_COLOR=1 script -qec "$banyan help plan" /dev/null < /dev/null | grep -c $'\x1b')
    [ "$bold" -gt 0 ] && [ "$none" = 0 ] || { echo "FAILED: help on a terminal: $bold lines in bold, $none with NO_COLOR" && failed=$((failed + 1)); }
    [ "$(script -qec "$banyan compare hosts:2+3" /dev/null < /dev/null | grep -c $'^\x1b.1m[*] leaders')" = 1 ] ||
        { echo "FAILED: compare on a terminal does not stress the choice" && failed=$((failed + 1)); }
    [ "$(script -qec "NO_COLOR=1 $banyan compare hosts:2+3" /dev/null < /dev/null | grep -c $'\x1b.[0-9]*m')" = 0 ] ||
        { echo "FAILED: compare with NO_COLOR has colours" && failed=$((failed + 1)); }
    wide=$(script -qec "$banyan list" /dev/null < /dev/null | tr -d '\r' | LC_ALL=C.UTF-8 awk 'length > 80')
    [ -z "$wide" ] || { echo "FAILED: banyan list on a terminal has lines of more than 80 columns: $wide" && failed=$((failed + 1)); }
fi

# Networks.
expect 0 "5 workers, 3 switches, 14 links" topo show hosts:2+3
expect 0 '"workers":5,"switches":3,"links":14' topo show hosts:2+3 --json
expect 0 "reach one another" topo check torus:4x4
expect_sentence 2 "the network is disconnected" topo check ring:4,down=g2
expect 0 "<svg" topo draw ring:4 --format svg
expect 0 "graph" topo draw ring:4 --format dot
expect_sentence 2 "the format 'png' is not json, text, dot or svg" topo draw ring:4 --format png
expect_sentence 2 "picture.png: drawings are .svg, .dot or .txt" topo draw ring:4 -o picture.png
[ ! -e picture.png ] || { echo "FAILED: topo draw -o picture.png writes something" && failed=$((failed + 1)); }
mkdir a.b
expect 0 "written to ./a.b/drawing" topo draw ring:4 -o ./a.b/drawing
LC_ALL=C expect 0 "  |-- 10 Gb/s -- h0 -- 2 x 100 Gb/s -- g0 g1" topo draw hosts:2+3
LC_ALL=C.UTF-8 expect 0 "├── 10 Gb/s" topo draw hosts:2+3
LC_ALL=C expect 0 "  ~ g4-g5 50 Gb/s" topo draw torus:16x16,down=g0-g1,down=g0-g16,degrade=g4-g5:0.5,degrade=g4-g20:0.5
for network in torus:16x16,down=g0-g1,down=g0-g16,degrade=g4-g5:0.5,degrade=g4-g20:0.5 fattree:8x8,down=g0-l0 dgx1 full:64; do
    ! LC_ALL=C "$banyan" topo draw $network | LC_ALL=C grep -q '[^ -~]' ||
        { echo "FAILED: LC_ALL=C: topo draw $network is not ASCII" && failed=$((failed + 1)); }
done
expect 2 '"error":"draw prints a drawing' topo draw ring:4 --json
expect_sentence 2 "did you mean draw?" topo drow ring:4
expect_sentence 2 "did you mean torus" topo show tours:4x4
expect_sentence 2 "nothere.json" topo show nothere.json
expect_sentence 2 "bandwidth" topo show "$(printf '{"format":"banyan-topology","version":1,"nodes":[{"name":"a","kind":"worker"},{"name":"b","kind":"worker"}],"links":[{"src":"a","dst":"b","bytes_per_s":-1}]}' > bad.json && echo bad.json)"
expect_sentence 2 "no network is called" topo show .
expect_sentence 2 "is a folder" verify .
echo '{' > broken.json
expect_sentence 2 "line" topo show broken.json
expect 0 '"format":"banyan-topology"' topo convert mesh:2x2
# On a machine without PCI, libpciaccess (which hwloc loads if it is there) leaks a few bytes.
ASAN_OPTIONS=detect_leaks=0 expect 0 '"format":"banyan-topology"' topo discover
"$banyan" topo convert torus:3x3 -o torus.json
expect 0 "9 workers" topo show torus.json
expect 0 "9 workers" topo show torus.json,down=g0-g1

# Plans.
expect 0 "proven" plan ring:4 --algo ring
expect 0 '"verified":true' plan ring:4 --json
expect 0 '"transfers":0' plan switch:1 --json
expect 0 '"share_of_bound":1' plan hosts:2+3 --algo flexreduce --json
expect_sentence 2 "did you mean ring?" plan ring:4 --algo rng
expect_sentence 2 "7 is not a worker" plan ring:4 --active 0,7
expect_sentence 2 "--bytes" plan ring:4 --bytes many
expect_sentence 2 "the root 9 is not a rank from 0 to 3" plan ring:4 --collective broadcast --root 9
expect_sentence 2 "is not allreduce" plan ring:4 --collective alltoallv
expect 0 "allreduce of" plan ring:4 --collective all-reduce --algo ring
expect 0 "reducescatter of" compare ring:4 --collective reduce_scatter
expect_sentence 2 "--root: allreduce has no root" plan ring:4 --root 1
expect_sentence 2 "--root: allgather has no root" compare ring:4 --collective all-gather --root 1
expect_sentence 2 "\"64Mb\": b stands for bits; write MB for powers of 1000 or MiB for powers of 1024" plan ring:4 --bytes 64Mb
expect 0 "allreduce of 64 MB over" plan ring:4 --bytes 64MB --algo ring
expect 0 "allreduce of 61 MiB over" plan ring:4 --bytes 61MiB --algo ring
expect 0 "this is one flat ring of all workers" plan hosts:2+3 --algo hierarchical
expect 0 "the same plan: blueconnect, hierarchical, ring" compare hosts:2+3
[ "$("$banyan" compare hosts:2+3 --bytes 1KiB --effort patient | sed 's/ with --.*//' | grep '^[ *] ' | sort | uniq -d)" = "" ] ||
    { echo "FAILED: compare --effort patient has rows that are the same" && failed=$((failed + 1)); }
expect 0 '{"topology":"ring:4","collective":"allreduce","crossovers":[' compare ring:4 --sizes 1KiB-4KiB --json
expect 2 '{"error":"--root: allreduce has no root","exit_status":2}' plan ring:4 --root 1 --json
expect 2 '{"error":"unknown option --bogus; see '"'banyan plan --help'"'","exit_status":2}' plan ring:4 --bogus --json
expect 2 '{"error":"no verb is named comapre (did you mean compare?)","exit_status":2}' comapre ring:4 --json
expect 0 '{"version":"' --version --json
expect 0 '{"pages":[{"name":"ring","text":"' help ring --json
expect 0 '{"networks":[' list networks --json
expect_sentence 2 "name a network" plan
expect_sentence 2 "the network is disconnected" plan ring:4,down=g2
expect_sentence 2 "unexpected argument" plan ring:4 ring:5
expect_sentence 3 "/nowhere/at/all" plan ring:4 -o /nowhere/at/all
expect 0 "<algo" plan ring:4 --algo ring --format msccl
expect 0 "digraph" plan ring:4 --algo ring --format dot
expect_sentence 2 "--json and --format both print to standard output: name a file for one with -o" plan ring:4 --json --format dot
expect 0 "traceEvents" plan ring:4 --algo ring --format trace
expect 0 "  Reduce      2       2  1                    2        32768        16384" \
    plan mesh:2x2 --algo multitree --order yx --bytes 64KiB --format tables
expect 0 "node 3 (g3):" plan mesh:2x2 --algo multitree --format tables
expect 0 "Gather" plan hosts:2+3 --algo ring --format tables
expect_sentence 2 "the format 'tabels' is not json, msccl, mscclpp, dot, trace, tables or text" plan ring:4 --format tabels
expect_sentence 2 "a Chakra trace is a file for each rank: -o NAME writes NAME.RANK.et" plan ring:4 --format chakra
expect_sentence 2 "the ellipsoid method finds pipelined trees only" plan ring:4 --algo forest --method ellipsoid --stages overlap
expect 0 "do not apply to this network:" compare hosts:2+3
expect 0 '"results":[' compare hosts:2+3 --json
expect_sentence 2 "/etc: is a folder, not a file" topo show /etc
for verb in "topo show" plan verify; do
    expect_sentence 2 "/nowhere/at/all: No such file or directory" $verb /nowhere/at/all
done
expect_sentence 2 "--bytes: a vector has at least one byte" plan ring:4 --bytes 0 --json
expect_sentence 2 "--bytes: a vector has at least one byte" compare ring:4 --bytes 0
expect 0 '"bytes":1099511627776' plan ring:4 --bytes 1TiB --json

# Shapes of nested rings.
expect 0 "  1  4x8x4  " shapes 128
expect 0 "  1  4x8x16x4 " shapes 2048
expect 0 "  2  4x8x8x8 " shapes 2048
expect 0 '{"shape":"4x8x8x8","seconds":0.02037' shapes 2048 --json
expect 0 '"shapes":1024,' shapes 2048 --model plain --json
expect 0 "  1  64x2 " shapes 128 --model plain
expect 0 "  1  4x8x8x4 " shapes 1024
expect 0 "  1  4x8x4x8 " shapes 1024 --rules
expect 0 "1024  2048 " shapes 2048 --model plain --top 5000
expect 0 "1 shape of" shapes 7
expect_sentence 2 "--model quick is not plain or calibrated" shapes 128 --model quick
expect_sentence 2 'ranks: "1" is not an integer from 2 to 1048576' shapes 1
expect_sentence 2 "--top" shapes 128 --top 0
expect_sentence 2 "--bytes: must be at least 1" shapes 128 --bytes 0
expect_sentence 2 "say how many ranks" shapes

# Proofs.
"$banyan" plan ring:4 --algo ring -q -o plan.json
expect 0 "proven" verify plan.json
expect 0 "proven" verify plan.json --topo ring:4
expect 0 '"ok":true,"problem_count":0,"problems":[],"same_bits":true' verify plan.json --json
expect 1 "the schedule is for 4 nodes" verify plan.json --topo ring:3
sed '/"transfers":\[/{n;d}' plan.json > wrong.json
expect 1 "contribution" verify wrong.json
expect 1 '"ok":false' verify wrong.json --json
teccl=$1/tests/data/teccl
expect 0 "two_machines.json: proven" verify "$teccl/two_machines.json"
expect 0 "two_machines.json: proven" verify "$teccl/two_machines.json" --topo "$teccl/two_machines_network.json"
expect 0 '"seconds":3e-06' sim "$teccl/two_machines_network.json" --schedule "$teccl/two_machines.json" --collective allgather --bytes 4000 --slice whole --service turns --json
expect_sentence 2 "the schedule has 4 GPUs, the network 3 workers" verify "$teccl/two_machines.json" --topo "$teccl/plain_switch_network.json"
"$banyan" plan ring:4 --algo ring --format msccl -o plan.xml -q
expect 0 "proven" verify plan.xml
sed '0,/type="rrc/s/type="rrc[a-z]*"/type="r"/' plan.xml > wrong.xml
expect 1 "wrong.xml:" verify wrong.xml
expect_sentence 2 "broken.json: line" verify broken.json
expect_sentence 2 "nothere" verify nothere
"$banyan" bound hosts:2+3 -o bound.json > /dev/null
expect 0 "proven" verify bound.json --topo hosts:2+3
expect_sentence 2 "give its topology (verify --topo)" verify bound.json
sed 's/"bytes_per_s":1.25e+09/"bytes_per_s":1.1e+09/' bound.json > low.json
expect 1 "the bound claims" verify low.json --topo hosts:2+3
expect 0 "every byte must cross" bound hosts:2+3
expect_sentence 2 "it can be add, forward or none" bound hosts:2+3 --relays maybe

# Runs.
expect 0 "# Out of bounds values : 0 OK" bench -n 3 -b 1K -e 4K --iters 2
expect 0 "the roofs of algbw at 4 KiB" bench -n 2 -b 4K -e 4K --iters 2
expect 0 "the roofs of algbw at 4 KiB" run -n 2 -- "$banyan" bench -b 4K -e 4K --iters 2
expect 0 '"okay":true' bench -n 2 -b 64 -e 64 --iters 1 --json
expect_sentence 2 "datatype" bench -d complex
expect_sentence 2 "--minbytes is above --maxbytes" bench -b 2M -e 1M
expect_sentence 2 "workers" bench -n 9 --topo hosts:2+3 -b 64 -e 64

# What there is.
expect 0 "ring" list
expect 0 '"algorithms":[' list --json
expect_sentence 2 "is not algorithms, networks, imports, policies or transports" list things
expect 0 "BANYAN_TIMEOUT_MS" info
expect 0 '"settings":[' info --json
BANYAN_TIMEUT_MS=1 expect 0 "BANYAN_TIMEOUT_MS" info

echo "$passed passed, $failed failed"
[ $failed = 0 ]
