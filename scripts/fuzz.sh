#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs each libFuzzer target for SECONDS, beginning with the corpus in the repository, which the tests meet, too. New inputs are kept in
# build/fuzz/corpus; an input that breaks something is left in build/fuzz/found and the script fails.
#   scripts/fuzz.sh SECONDS [TARGET...]
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -eq 0 ] || shift

if [ $# -eq 0 ]; then
    for source in tests/fuzz/*.c; do
        [ ! -e "$source" ] || set -- "$@" "$(basename "$source" .c)"
    done
fi
[ $# -gt 0 ] || { echo "fuzz: there are no targets in tests/fuzz"; exit 0; }

cmake --preset fuzz --log-level=NOTICE > /dev/null
# shellcheck disable=SC2046 # one word a target is meant
cmake --build build/fuzz -j "${JOBS:-2}" --target $(printf 'fuzz_%s ' "$@") -- --quiet

mkdir -p build/fuzz/found
for name; do
    new=build/fuzz/corpus/$name
    known=tests/fuzz/corpus/$name
    [ -d "$known" ] || known=$new
    mkdir -p "$new"
    log=build/fuzz/$name.log
    printf '%-20s ' "$name"
    if build/fuzz/tests/fuzz/fuzz_"$name" "-max_total_time=$seconds" -timeout=60 -rss_limit_mb=4096 \
        -artifact_prefix=build/fuzz/found/"$name"- -print_final_stats=1 "$new" "$known" \
        > "$log" 2>&1; then
        echo "ok, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s"
    else
        echo "FAILED"
        tail -n 40 "$log"
        echo "fuzz: the input is in build/fuzz/found; run it again with build/fuzz/tests/fuzz/fuzz_$name FILE"
        exit 1
    fi
done
