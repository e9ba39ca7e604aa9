#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The documents: relative links lead somewhere, every verb has a page that names each of its options, examples of the
# formats are accepted, and nothing speaks of the machine that it was written on.
# Arguments: source folder, command line.
set -u
cd "$1" || exit 1
banyan=$2
failed=0

complain() {
    echo "$*"
    failed=1
}

markdown() {
    find . -path ./build -prune -o -path ./.git -prune -o -name '*.md' -print | sed 's|^\./||' | sort
}

check_links() {
    local file target
    for file in $(markdown); do
        while read -r target; do
            case $target in
            http://* | https://* | mailto:* | '#'*) continue ;;
            esac
            [ -e "$(dirname "$file")/${target%%#*}" ] || complain "$file: the link to $target leads nowhere"
        done < <(sed '/^```/,/^```/d' "$file" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//')
    done
}

check_man_headers() {
    local file
    for file in docs/verbs/*.md docs/formats/*.md docs/api.md; do
        [[ $(sed -n 1p "$file") == '# '* ]] || complain "$file: the first line is not a title"
        [[ $(sed -n 3p "$file") == '## NAME' ]] || complain "$file: the third line is not ## NAME"
    done
}

check_examples() {
    local place
    place=$(mktemp -d)
    sed -n '/^```json/,/^```/p' docs/formats/topology.md | sed '/^```/d' > "$place/topology.json"
    sed -n '/^```json/,/^```/p' docs/formats/schedule.md | sed '/^```/d' > "$place/schedule.json"
    "$banyan" topo check "$place/topology.json" > "$place/log" 2>&1 ||
        complain "docs/formats/topology.md: the example is refused: $(cat "$place/log")"
    "$banyan" verify "$place/schedule.json" > "$place/log" 2>&1 ||
        complain "docs/formats/schedule.md: the example is refused: $(cat "$place/log")"
    rm -r "$place"
}

check_places() {
    local found
    found=$(grep -rnIE --exclude-dir=build --exclude-dir=.git --exclude=docs.sh \
        '(^|[^A-Za-z0-9_.])(/work/|/root/|/home/|/mnt/)|\.\./shared/' . )
    [ -z "$found" ] || complain "these lines name places of one machine:"$'\n'"$found"
}

check_links
check_man_headers
check_examples
check_places
[ $failed = 0 ] && echo "the documents hold together"
exit $failed
