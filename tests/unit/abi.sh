#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that were built with the last version still work: the interface of the headers holds all of tests/data/abi/VERSION.txt, of
# the highest version that has been released: this one, or before it is, the one below. What would break them is noticed. Arguments: source folder, command line.
set -u
source=$(cd "$1" && pwd)
for tool in python3 cc; do
    command -v $tool > /dev/null || { echo "$tool is not installed" && exit 77; }
done
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0

complain() {
    echo "$*"
    failed=1
}

version=$(sed -n 's/^project(banyan VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")
last=$(for each in $(basename -s .txt "$source"/tests/data/abi/*.txt); do
    printf '%s\n' "$each" "$version" | sort -CV && echo "$each"
done | sort -V | tail -n 1)
[ -n "$last" ] || complain "tests/data/abi has no version up to $version"
released=$(sed -n 's/^## \[\([0-9.]*\)\].*/\1/p' "$source/CHANGELOG.md" | head -n 1)
[ "$last" = "$released" ] || complain "CHANGELOG.md says that $released is the last version, and tests/data/abi has $last"
python3 "$source/scripts/abi.py" compare "$source/tests/data/abi/$last.txt" > "$place/log" ||
    complain "programs built with $last break, so SOVERSION has to change:"$'\n'"$(cat "$place/log")"

# EXPRESSION SENTENCE: after this edit of the headers, the comparison fails with the sentence; none: it passes.
after() {
    rm -rf "$place/include" && cp -r "$source/include" "$place/"
    sed -i "$1" "$place"/include/banyan/*.h
    ! diff -rq "$place/include" "$source/include" > "$place/log" || complain "'$1' changes nothing"
    if python3 "$source/scripts/abi.py" compare "$source/tests/data/abi/$last.txt" "$place/include" > "$place/log" 2>&1; then
        [ -z "$2" ] || complain "'$1' is not noticed"
    else
        [ -n "$2" ] && grep -qF -- "$2" "$place/log" || complain "'$1': $(cat "$place/log")"
    fi
}
after '/banyan_status banyan_barrier(/s/banyan_barrier/banyan_wall/' "function banyan_barrier is gone"
after 's/X(MISMATCH, 10,/X(MISMATCH, 30,/' "constant BANYAN_MISMATCH was '10' and is '30'"
after 's/const void \*send;/void *send;/' "struct banyan_segment was"
after '/^} banyan_config;/s/^/    int one_more;\n/' ""
after '/^} banyan_segment;/s/^/    int one_more;\n/' "struct banyan_segment was"
[ $failed = 0 ] && echo "programs built with $last work with $version"
exit $failed
