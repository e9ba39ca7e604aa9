#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command that the documents show is run: in each document the lines of code blocks that begin with `banyan` (or
# `$ banyan`, or with settings before it) run one after the other in an empty folder and must end well. What a reader is to see fail, or what takes
# other programs or long, stands in a block marked ```text or ```long; a line ending with `# fails` must fail.
# Arguments: source folder, command line.
set -u
source=$(cd "$1" && pwd)
PATH=$(cd "$(dirname "$2")" && pwd):$PATH
export BANYAN_WISDOM=
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0
count=0

# The commands of a document; a backslash at the end joins lines.
commands() {
    awk '/^```/ { inside = !inside; code = inside && ($0 == "```" || $0 == "```sh"); next }
        code { line = line $0; if (sub(/\\$/, "", line)) next
               sub(/^\$ /, "", line); if (line ~ /^([A-Z_]+=[^ ]* )*banyan /) print line; line = "" }' "$1"
}

for file in $(cd "$source" && find . -path ./build -prune -o -path ./.git -prune -o -name '*.md' -print | sort); do
    mkdir -p "$place/$file" && cd "$place/$file" || exit 1
    while read -r command; do
        count=$((count + 1))
        timeout 60 bash -c "$command" > log 2>&1 < /dev/null
        code=$?
        [[ $command == *'# fails' ]] && code=$((!code))
        [ $code = 0 ] && continue
        echo "${file#./}: «$command» ended with $code: $(tail -c 300 log)"
        failed=1
    done < <(commands "$source/$file")
done
[ $failed = 0 ] && echo "$count commands of the documents run"
exit $failed
