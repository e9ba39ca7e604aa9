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

run() {
    LD_LIBRARY_PATH=$build timeout 60 "$@" > "$place/log" 2>&1
}

sanitize=$(cached BANYAN_SANITIZE)
for program in "$source"/examples/*.c; do
    name=$(basename "$program" .c)
    "$(cached CMAKE_C_COMPILER)" -std=c11 -Wall -Wextra -Wpedantic -Werror ${sanitize:+-fsanitize=$sanitize} \
        -I"$source/include" "$program" -o "$place/$name" -L"$build" -lbanyan -lm -pthread > "$place/log" 2>&1 ||
        fail "$name.c does not build"
    start=
    [[ $name != hello* ]] || start="$build/banyan run -n 4"
    run $start "$place/$name" || fail "$name ended with $?"
    [[ $name != hello && $name != hello_async ]] || [ "$(grep -c 'there are 4 of us' "$place/log")" = 4 ] ||
        fail "$name does not count four ranks four times"
    [ "$name" != hello_train ] || [ "$(grep -c 'has learned 1.500' "$place/log")" = 4 ] ||
        fail "hello_train does not learn the mean of the ranks' numbers"
    [ "$name" != allreduce ] || [ "$(grep -c 'every element is 2.5' "$place/log")" = 4 ] ||
        fail "allreduce does not print the average four times"
    [ "$name" != train ] || grep -q 'the two differ by at most .*e-[01][0-9] of the loss' "$place/log" ||
        fail "train does not learn as one process does"
    [ "$name" != plan ] || grep -q ': 64 MiB in .* ms, 100.0 % of the bound' "$place/log" ||
        fail "plan does not reach the bound"
    [ "$name" != async ] || [ "$(grep -c 'the sum is 3,' "$place/log")" = 3 ] ||
        fail "async does not print the sum three times"
done

# The first C of a document.
shown() { # DOCUMENT
    awk '/^```/ { if (inside) exit; inside = $0 == "```c"; next } inside' "$source/$1"
}

compiles() { # DOCUMENT, the code at standard input
    "$(cached CMAKE_C_COMPILER)" -std=gnu11 -Wall -Wextra -Werror -Wno-unused -fsyntax-only -I"$source/include" -I"$source/src" -x c - \
        > "$place/log" 2>&1 || fail "the code of $1 does not compile"
}

for page in docs/adding-an-algorithm.md docs/adding-a-paper.md; do
    shown $page | compiles $page || exit 1
done
{
    echo '#include <banyan/banyan.h>'
    echo 'static void job(const float *send, float *recv, size_t count) {'
    shown README.md
    echo '}'
} | compiles README.md || exit 1
{
    echo '#include "topology/generator.h"'
    shown docs/adding-a-network.md
} | compiles docs/adding-a-network.md || exit 1

for script in "$source"/examples/*.sh; do
    (cd "$place" && PATH=$build:$PATH "$script") > "$place/log" 2>&1 || fail "$(basename "$script") ended with $?"
done

# The Slurm job, with an srun that starts four tasks here as Slurm does.
mkdir "$place/bin"
cat > "$place/bin/srun" << 'END'
#!/bin/bash
shift # --mpi=pmix
export SLURM_JOB_ID=$$ SLURM_NTASKS=4 SLURM_TASKS_PER_NODE=4 SLURM_STEP_NODELIST=localhost
for rank in 3 2 1 0; do
    SLURM_PROCID=$rank SLURM_LOCALID=$rank "$@" &
done
wait $! # rank 0
END
chmod +x "$place/bin/srun"
BANYAN_TRANSPORT=shm+tcp PATH=$place/bin:$build:$PATH bash "$source/examples/mpi/slurm.sh" > "$place/log" 2>&1 ||
    fail "mpi/slurm.sh ended with $?"
grep -q '4 ranks as processes' "$place/log" || fail "mpi/slurm.sh does not run four ranks"

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
