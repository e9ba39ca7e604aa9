#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/algorithms.md has a section and a row for every algorithm that the command line lists, and the row tells the truth
# about its options; what it recommends for a network is what compare has on top.
# Arguments: source folder, command line.
set -u
cd "$1" || exit 1
page=docs/algorithms.md
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
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

# Plans within 5 % of each other count as equal.
near=1.05
while IFS='|' read -r _ _ network short long _; do
    network=$(tr -d ' `' <<<"$network")
    for size in 4KiB 256MiB; do
        case $size in 4KiB) cell=$short ;; *) cell=$long ;; esac
        "$2" compare "$network" --bytes $size --json |
            sed -nE 's/^\{"algorithm":"([^"]*)".*"predicted_s":([0-9.e+-]*),.*/\1 \2/p' |
            awk -v near=$near 'NR == 1 || $2 < best { best = $2 } !($1 in time) || $2 < time[$1] { time[$1] = $2 }
                END { for (name in time) if (time[name] <= near * best) print name }' > "$place/best"
        [ -s "$place/best" ] || complain "'banyan compare $network' compares nothing"
        for name in $(grep -o '`[a-z-]*`' <<<"$cell" | tr -d '`'); do
            grep -qx -- "$name" "$place/best" || complain "$page: for $size $name is not among the best on $network"
        done
    done
done < <(sed -n '/^## Which one/,/^## What/p' $page | grep '| `[a-z]*:')
exit $failed
