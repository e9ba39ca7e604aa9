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

# With each MPI that the library has an engine for: built by its compiler, run by its launcher.
for kind in openmpi mpich; do
    if [ ! -e "$build/banyan-transport-mpi-$kind.so" ]; then
        echo "skipped with $kind: it was not there when Banyan was built"
        continue
    fi
    root=
    [ "$kind" != openmpi ] || root="--allow-run-as-root --oversubscribe"
    OMPI_CC=$(cached CMAKE_C_COMPILER) MPICH_CC=$(cached CMAKE_C_COMPILER) mpicc.$kind -std=c11 -Wall -Wextra -Werror \
        ${sanitize:+-fsanitize=$sanitize} -I"$source/include" "$source/examples/mpi/allreduce.c" -o "$place/$kind" -L"$build" \
        -lbanyan > "$place/log" 2>&1 || fail "mpi/allreduce.c does not build with $kind"
    ASAN_OPTIONS=detect_leaks=0 LD_LIBRARY_PATH=$build BANYAN_SOCKET_IFNAME=lo mpirun.$kind $root -n 4 "$place/$kind" \
        > "$place/log" 2>&1 || fail "mpi/allreduce with $kind ended with $?"
    [ "$(grep -c 'the sum is 10' "$place/log")" = 4 ] || fail "mpi/allreduce with $kind does not print the sum four times"
done
