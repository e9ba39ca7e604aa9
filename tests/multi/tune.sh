#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# probe and tune between processes of this machine, and what communicators make of their files.
# Arguments: source folder, command line.
set -u
banyan=$2
failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

complain() {
    echo "$*"
    failed=1
}

out=$("$banyan" probe -n 3 -o "$folder/net.json") || complain "probe: exit $?"
grep -q "3 ranks on 1 host: .* measurements, .* sent in" <<< "$out" || complain "probe: $out"
"$banyan" topo check "$folder/net.json" > /dev/null || complain "probe's file is not a topology"
out=$("$banyan" probe -n 2 --transport tcp --json) || complain "probe --json: exit $?"
grep -q '"format":"banyan-topology"' <<< "${out// /}" || complain "probe --json: $out"
out=$("$banyan" probe -n 2 --transport pigeon 2>&1) && complain "an unknown transport is accepted"
grep -q -- "--transport" <<< "$out" || complain "$out"

# What a launcher has started takes the options as well; shared memory would say so.
for verb in "probe -q" "tune -q -w $folder/tcp -b 1K -e 1K --budget 1ms -k 1"; do
    out=$(BANYAN_DEBUG=INFO BANYAN_DEBUG_SUBSYS=NET "$banyan" run -n 2 -- "$banyan" $verb --transport tcp) ||
        complain "run $verb: exit $?"
    grep -q "BANYAN INFO rank 1: tcp" <<< "$out" || complain "run $verb: $out"
done
out=$("$banyan" tune -n 2 --candidates many 2>&1) && complain "candidates: many"
grep -q -- "--candidates: " <<< "$out" || complain "$out"
out=$("$banyan" tune -n 2 --min 2K --max 3K 2>&1) && complain "no size is tuned"
grep -q "no size from --min 2048 to --max 3072" <<< "$out" || complain "$out"

out=$("$banyan" bench -n 3 --transport tcp --topo probe -b 1K -e 1K --iters 2) || complain "bench --topo probe: exit $?"
grep -q "network probe" <<< "$out" || complain "$out"

out=$("$banyan" tune -n 3 --topo "$folder/net.json" -w "$folder/wisdom" -b 4K -e 16K --budget 10ms -k 2) ||
    complain "tune: exit $?"
[ "$(grep -c ' \*$' <<< "$out")" = 2 ] || complain "not one choice for each of two sizes: $out"
[ "$(grep -c ' auto ' <<< "$out")" = 2 ] || complain "it does not say what auto takes: $out"
[ "$(grep -c '"effort":"timed"' "$folder/wisdom")" = 2 ] || complain "$(cat "$folder/wisdom")"
out=$("$banyan" tune -n 2 -w "$folder/an\"other" -b 1K -e 1K --budget 10ms -k 1 --json) || complain "tune --json: exit $?"
grep -q 'an\\"other","results":' <<< "$out" || complain "the file's name is no JSON: $out"
grep -q '"measured_s":' <<< "$out" && grep -q '"chosen":true' <<< "$out" || complain "$out"

out=$(BANYAN_WISDOM_FILE=$folder/wisdom BANYAN_DEBUG=INFO "$banyan" bench -n 3 --transport auto --topo "$folder/net.json" -b 4K -e 4K --iters 2) ||
    complain "bench with wisdom: exit $?"
grep -q "BANYAN INFO allreduce: up to 4096 bytes -> .*known from wisdom (timed with float32, " <<< "$out" || complain "$out"
grep -q "BANYAN INFO allreduce: up to 4096 bytes -> .*, as rank 0 plans" <<< "$out" || complain "$out"
grep -q "\[2\] BANYAN INFO rank 2 of 3, listening at " <<< "$out" || complain "$out"
out=$(BANYAN_DEBUG=INFO "$banyan" bench -n 2 --transport auto -b 64K -e 64K --iters 2) || complain "bench: exit $?"
grep -q "allreduce: up to 65536 bytes -> .* in .*; next " <<< "$out" || complain "no reason is given: $out"

# Types are kept apart: two files' entries with another algorithm for each, made of what was found above.
out=$("$banyan" tune -n 3 --topo "$folder/net.json" -w "$folder/wisdom" -b 4K -e 4K --budget 10ms -k 1 -d bfloat16) || complain "tune -d: exit $?"
[ "$(grep -c '"type":"float32"' "$folder/wisdom")" = 2 ] && [ "$(grep -c '"type":"bfloat16"' "$folder/wisdom")" = 1 ] ||
    complain "types are not kept apart: $(cat "$folder/wisdom")"
sed -i '/"type":"float32"/s/"algorithm":"[^"]*","key":"[^"]*","value":"[^"]*"/"algorithm":"ring","key":"","value":""/
        /"type":"bfloat16"/s/"algorithm":"[^"]*","key":"[^"]*","value":"[^"]*"/"algorithm":"direct","key":"","value":""/' "$folder/wisdom"
for pair in "float32 ring.*timed.with.float32" "bfloat16 direct.*timed.with.bfloat16" "int32 ring.*timed.with.float32"; do
    for transport in auto memory; do
        out=$(BANYAN_WISDOM_FILE=$folder/wisdom BANYAN_DEBUG=INFO "$banyan" bench -n 3 --transport $transport --topo "$folder/net.json" -b 4K -e 4K \
            --iters 2 -d ${pair% *}) || complain "bench -d ${pair% *}: exit $?"
        grep -q "up to 4096 bytes -> ${pair#* }" <<< "$out" || complain "$pair, $transport: $out"
    done
done
out=$("$banyan" tune -n 2 -d float33 2>&1) && complain "a type that is none"
grep -q -- "--datatype float33 is not" <<< "$out" || complain "$out"
echo nonsense > "$folder/wisdom"
out=$(BANYAN_WISDOM_FILE=$folder/wisdom "$banyan" bench -n 2 --transport auto -b 4K -e 4K 2>&1) && complain "rubbish is taken for wisdom"
grep -q "BANYAN_WISDOM_FILE: " <<< "$out" || complain "$out"
exit $failed
