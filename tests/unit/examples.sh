#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every program in examples/ builds with the public header alone, runs, and says what it should; every script runs. Arguments:
# source folder, command line (the library lies beside it).
set -u
source=$(cd "$1" && pwd)
build=$(cd "$(dirname "$2")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
    echo "examples: $*"
    cat "$place/log"
    exit 1
}

cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

sanitize=$(cached BANYAN_SANITIZE)
for program in "$source"/examples/*.c; do
    name=$(basename "$program" .c)
    "$(cached CMAKE_C_COMPILER)" -std=c11 -Wall -Wextra -Wpedantic -Werror ${sanitize:+-fsanitize=$sanitize} \
        -I"$source/include" "$program" -o "$place/$name" -L"$build" -lbanyan -lm -pthread > "$place/log" 2>&1 ||
        fail "$name.c does not build"
    LD_LIBRARY_PATH=$build "$place/$name" > "$place/log" 2>&1 || fail "$name ended with $?"
    [ "$name" != allreduce ] || [ "$(grep -c 'every element is 2.5' "$place/log")" = 4 ] ||
        fail "allreduce does not print the average four times"
    [ "$name" != train ] || grep -q 'the two differ by at most .*e-[01][0-9] of the loss' "$place/log" ||
        fail "train does not learn as one process does"
    [ "$name" != async ] || [ "$(grep -c 'the sum is 3,' "$place/log")" = 3 ] ||
        fail "async does not print the sum three times"
done

for script in "$source"/examples/*.sh; do
    (cd "$place" && PATH=$build:$PATH "$script") > "$place/log" 2>&1 || fail "$(basename "$script") ended with $?"
done
