#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All that must hold before a change goes in, stage by stage. A stage that fails does not keep the others from running;
# one that needs a program that is not there is skipped with a sentence. The largest set of tests comes last, so that its
# summary is what one sees at the end, with a line for each stage below it. On two cores all of it is to take less than a quarter of an hour: a test
# that takes long has a part of its cases here, and all of them in scripts/check-long.sh (BANYAN_TEST_ALL).
set -u
cd "$(dirname "$0")/.."
. scripts/stages.sh

layout() {
    needs clang-format
    make --no-print-directory check-format
}

clang_build() {
    needs clang
    build clang
}

analysis() {
    command -v cppcheck > /dev/null || needs clang-tidy
    [ -e build/$plain/compile_commands.json ] || cmake --preset $plain --log-level=NOTICE > /dev/null
    JOBS=$jobs scripts/analyse.sh build/$plain
}

# Without sanitizers: the command line that is built already, or another one where that could not be.
plain=clang
plain_build() {
    [ $plain = clang ] || build release product
}

documents() {
    plain_build
    JOBS=$jobs bash tests/docs_commands.sh . build/$plain/banyan
}

# Sanitizers need more address space than this leaves.
address_space() {
    plain_build
    bash tests/unit/lp_module.sh . build/$plain/banyan
}

plans() {
    needs python3
    plain_build
    python3 bench/check_plans.py build/$plain/banyan --short --jobs "$jobs"
}

# In half cores (tests/CMakeLists.txt). The limit is for tests that hang, on machines that do much besides.
run_tests() { # PRESET [OPTION...]
    preset=$1
    shift
    ctest --test-dir "build/$preset" -j $((2 * jobs)) --timeout 600 --output-on-failure "$@"
}

# Tests of bits (NAME_bits) are left out: their ranks are processes with one thread each.
threads() {
    threaded='execute transport comm plan_api engine log shm shared registered learning'
    targets=
    for name in $threaded; do
        for source in tests/unit/"$name"*.c tests/conformance/"$name"*.c tests/multi/"$name"*.c; do
            case $source in *'*.c' | *_bits.c) continue ;; esac
            kind=$(basename "$(dirname "$source")")
            targets="$targets test_${kind}_$(basename "$source" .c)"
        done
    done
    build tsan $targets
    run_tests tsan -R "^(unit|conformance|multi)/($(echo "$threaded" | tr ' ' '|'))" -E '_bits$'
}

# With the label 'computes' (tests/CMakeLists.txt): make check-long runs them under the sanitizers, too.
computing() {
    [ $plain = clang ] || build release tested
    run_tests $plain -L computes
}

others() {
    build dev tested
    run_tests dev -LE 'computes|long'
}

stage "layout (make check-format)" layout
stage "clang, all warnings are errors" clang_build
[ $result = passed ] || plain=release
stage "static analysis (make analyse)" analysis
stage "the commands that the documents show" documents
stage "little address space" address_space
stage "plans against stored ones, some of the small networks" plans
stage "tests that compute much, optimised" computing
stage "TSan: the tests with threads" threads
stage "all other tests under ASan and UBSan" others

end_of_stages
