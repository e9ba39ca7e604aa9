#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The linear program solver and its BLAS lie in banyan-lp.so: neither the library nor the command line links them, ranks that do
# not plan never load them, and where it is missing, broken or does not fit into the address space, one sentence says so.
# Arguments: source folder, command line.
set -u
banyan=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
build=$(dirname "$banyan")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
needs_lp="hosts:4+3+2 --active 0-3,5"

fail() {
    echo "lp_module: $*"
    [ ! -s "$place/out" ] || cat "$place/out"
    exit 1
}

# What is linked.
for file in "$build/libbanyan.so" "$banyan"; do
    readelf -d "$file" > "$place/needed" || fail "$file cannot be read"
    grep -E 'NEEDED.*(Clp|Coin|blas|lapack|gomp|gfortran|stdc\+\+)' "$place/needed" > "$place/out" && fail "$file links a solver"
done
readelf -d "$build/banyan-lp.so" | grep -q 'NEEDED.*Clp' || fail "banyan-lp.so does not link Clp"

# Who loads it: of three ranks the one that plans, and none where no algorithm needs it. LD_DEBUG_OUTPUT makes one file per process.
count_loads() { # COMMAND...
    rm -f "$place"/load.*
    LD_DEBUG=files LD_DEBUG_OUTPUT=$place/load timeout 60 "$@" > "$place/out" 2>&1 || fail "$* ended with $?"
    grep -l 'banyan-lp\.so' "$place"/load.* | wc -l
}
[ "$(count_loads "$banyan" --version)" = 0 ] || fail "--version loads the solver"
[ "$(count_loads "$banyan" bound $needs_lp)" = 1 ] || fail "a bound that needs the solver does not load it"
[ "$(BANYAN_TOPO=hosts:2+1 count_loads "$banyan" run -n 3 "$banyan" bench -b 4K -e 4K)" -le 1 ] ||
    fail "ranks that do not plan load the solver"
[ "$(BANYAN_ALGO=ring count_loads "$banyan" run -n 3 "$banyan" bench -b 4K -e 4K)" = 0 ] ||
    fail "a job that asks for ring loads the solver"

# Missing, broken, of another version.
says() { # SENTENCE COMMAND...
    local sentence=$1
    shift
    timeout 60 "$@" > "$place/out" 2>&1 && fail "$* does not fail"
    [ $? -lt 100 ] || fail "$* crashed or did not end"
    grep -q "$sentence" "$place/out" || fail "$* does not say '$sentence'"
}
export BANYAN_PLUGIN_FOLDER=$place/plugins
says 'banyan-lp.so is not there.*libclp' "$banyan" bound $needs_lp
"$banyan" bound dgx1 --active 0-5 -q -o "$place/cuts.json" 2> "$place/out" && fail "that bound is found without the solver"
env -u BANYAN_PLUGIN_FOLDER "$banyan" bound dgx1 --active 0-5 -q -o "$place/cuts.json" || fail "no bound"
timeout 60 "$banyan" verify "$place/cuts.json" --topo dgx1 > "$place/out" 2>&1 || fail "checking weighted cuts needs the solver"
sed 's/"bytes_per_s":/"bytes_per_s":2/' "$place/cuts.json" > "$place/lie.json"
timeout 60 "$banyan" verify "$place/lie.json" --topo dgx1 > "$place/out" 2>&1 && fail "a raised bound is accepted without the solver"
says 'banyan-lp.so is not there.*libclp' "$banyan" plan $needs_lp --algo forest
timeout 60 "$banyan" plan $needs_lp > "$place/out" 2>&1 || fail "no other algorithm is chosen where the solver is missing"
grep -q 'without .*forest: banyan-lp.so is not there' "$place/out" || fail "the choice does not say what was left out"
mkdir "$place/plugins"
echo "not a shared object" > "$place/plugins/banyan-lp.so"
says 'cannot load banyan-lp.so' "$banyan" bound $needs_lp
cp "$(readlink -f "$build/libbanyan.so")" "$place/plugins/banyan-lp.so"
says 'not of this version' "$banyan" bound $needs_lp
unset BANYAN_PLUGIN_FOLDER

# Little address space. Sanitizers map more than any limit would leave.
if grep -q '^BANYAN_SANITIZE:[A-Z]*=.' "$build/CMakeCache.txt"; then
    echo "lp_module: sanitized, so address space is not limited here"
    exit 0
fi
limited() { # KiB COMMAND...
    (
        ulimit -v "$1"
        shift
        exec timeout 60 "$@"
    ) > "$place/out" 2>&1
}
limited 60000 "$banyan" --version || fail "--version needs more than 60 MB"
limited 60000 "$banyan" plan ring:8 --algo ring || fail "a ring needs more than 60 MB"
limited 60000 "$banyan" bound torus:4x4 || fail "the bound of a torus needs more than 60 MB"
limited 60000 "$banyan" plan $needs_lp || fail "no other algorithm is chosen where the solver does not fit"
grep -q 'without .*forest: .*ulimit' "$place/out" || fail "the choice does not say that the solver does not fit"
for kilobytes in 60000 120000 200000 280000 340000 500000 1000000; do
    limited $kilobytes "$banyan" bound $needs_lp
    result=$?
    [ $result = 0 ] || { [ $result -lt 100 ] && grep -q 'ulimit -v\|memory' "$place/out"; } ||
        fail "within $kilobytes KiB the bound ends with $result, neither an answer nor a sentence"
done
echo "the solver is loaded by those who need it"
