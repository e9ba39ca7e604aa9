#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every program in examples/ builds with the public header alone, runs, and says what it should. Arguments: source
# folder, command line (the library lies beside it).
set -u
source=$1
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
    [ "$name" != train ] || grep -q 'the two differ by at most .*e-\(0[4-9]\|1\) of the loss' "$place/log" ||
        fail "train does not learn as one process does"
done
