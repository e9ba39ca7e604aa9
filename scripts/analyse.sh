#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Static analysis: cppcheck and clang-tidy with a small chosen set (.clang-tidy) over the library and the command line, and gcc's
# analyzer over the modules that run in a job, whose paths of failure are the longest. Every program that is not installed is
# named. Argument: a build folder with compile_commands.json.
set -u
cd "$(dirname "$0")/.."
build=$1
jobs=${JOBS:-2}
analysed='bootstrap group calls engine'
failed=0
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

has() { # PROGRAM
    command -v "$1" > /dev/null && return
    echo "left out: $1 is not installed"
    return 1
}

# Nothing that is said is a failure, too.
silent() { # NAME COMMAND...
    name=$1
    shift
    echo "running $name"
    said=$("$@" 2>&1)
    [ $? = 0 ] && [ -z "$said" ] && return
    printf '%s:\n%s\n' "$name" "$said"
    failed=1
}

run_cppcheck() {
    cppcheck -j "$jobs" --std=c11 --language=c -q --enable=warning,portability --error-exitcode=1 -Isrc -Iinclude -D_GNU_SOURCE \
        --suppressions-list=scripts/cppcheck.txt --template='{file}:{line}: {message} [{id}]' src cli
}

# It counts on standard error what it does not show.
run_clang_tidy() {
    find src cli -name '*.c' ! -path '*/engines/*' | sort |
        xargs -P "$jobs" -n 16 clang-tidy -p "$build" --quiet 2> /dev/null
}

# It does not know that banyan_fail returns the status that it is given, so paths on which a failure is a success are left out. The objects are of no
# use, but a compiler cache (CMAKE_C_COMPILER_LAUNCHER) wants some.
run_analyzer() {
    for module in $analysed; do
        find "src/$module" -type d -exec mkdir -p "$objects/{}" ';' -o -name '*.c' -print
    done | sort | xargs -P "$jobs" -I '{}' ${CMAKE_C_COMPILER_LAUNCHER-} gcc -std=c11 -D_GNU_SOURCE -Isrc -Iinclude -O1 -fanalyzer -Werror \
        -Wno-analyzer-null-dereference -Wno-analyzer-null-argument -Wno-analyzer-use-of-uninitialized-value \
        -fdiagnostics-path-format=none -c '{}' -o "$objects/{}.o"
}

has cppcheck && silent cppcheck run_cppcheck
has clang-tidy && silent clang-tidy run_clang_tidy
has gcc && silent "gcc -fanalyzer" run_analyzer
exit $failed
