#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All that must hold before a change goes in. The full set of tests comes last, so that its summary is what one
# sees at the end.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-2}

say() {
    printf '\n== %s\n' "$*"
}

build() { # PRESET [TARGET...]
    preset=$1
    shift
    cmake --preset "$preset" --log-level=NOTICE > /dev/null
    cmake --build "build/$preset" -j "$jobs" ${1:+--target "$@"} -- --quiet -k 0
}

say "layout (make check-format)"
make --no-print-directory check-format

say "clang, all warnings are errors"
build clang

say "the commands that the documents show"
bash tests/docs_commands.sh . build/clang/banyan

say "little address space, which no sanitizer can live in"
bash tests/unit/lp_module.sh . build/clang/banyan

say "TSan: the tests with threads"
threaded='execute transport comm log shm shared lent'
targets=
for name in $threaded; do
    for source in tests/unit/"$name"*.c tests/conformance/"$name"*.c tests/multi/"$name"*.c; do
        [ -e "$source" ] || continue
        kind=$(basename "$(dirname "$source")")
        targets="$targets test_${kind}_$(basename "$source" .c)"
    done
done
if [ -n "$targets" ]; then
    build tsan $targets
    ctest --test-dir build/tsan -j "$jobs" --timeout 300 --output-on-failure \
        -R "^(unit|conformance|multi)/($(echo "$threaded" | tr ' ' '|'))"
fi

say "everything under ASan and UBSan"
build dev
ctest --test-dir build/dev -j "$jobs" --timeout 300 --output-on-failure
