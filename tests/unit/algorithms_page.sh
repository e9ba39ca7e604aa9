#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/algorithms.md has a section and a row for every algorithm that the command line lists, and the row tells the truth
# about its options.
# Arguments: source folder, command line.
set -u
cd "$1" || exit 1
page=docs/algorithms.md
failed=0

complain() {
    echo "$*"
    failed=1
}

list=$("$2" list algorithms --json | tr -d '\n' | sed 's/{"name"/\n{"name"/g' | grep '^{"name".*"cost":')
[ -n "$list" ] || complain "'banyan list algorithms --json' lists nothing"
while read -r line; do
    name=$(sed -E 's/^\{"name": ?"([^"]*)".*/\1/' <<<"$line")
    grep -qx "## $name" $page || complain "$page has no section for $name"
    row=$(grep "^| \`$name\` |" $page)
    [ -n "$row" ] || complain "$page has no row for $name"
    for key in $(grep -oE '"key": ?"[^"]*"' <<<"$line" | sed -E 's/.*"([^"]*)"$/\1/'); do
        grep -q "\`$key\`" <<<"$row" || complain "$page: the row of $name lacks its option $key"
    done
    for collective in allreduce reducescatter allgather broadcast reduce; do
        case $collective in allreduce) column=3 ;; reducescatter) column=4 ;; allgather) column=5 ;; broadcast) column=6 ;; reduce) column=7 ;; esac
        cell=$(cut -d'|' -f$column <<<"$row" | tr -d ' ')
        can=$(grep -oE '"collectives": ?\[[^]]*\]' <<<"$line" | grep -q "\"$collective\"" && echo yes)
        [ "$cell" = "${can:-}" ] || complain "$page: the row of $name says '$cell' for $collective"
    done
done <<<"$list"
exit $failed
