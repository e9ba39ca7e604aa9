#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What verbs say while they work and at the end: a long verb shows a bar on a terminal, wipes it, and shows none with --quiet or
# in a pipe; a verb that writes files ends with a line that says where they lie, and is silent about it with --quiet.
# Arguments: source folder, command line.
set -u
PATH=$(cd "$(dirname "$2")" && pwd):$PATH
export BANYAN_STATUS_FOLDER=off ASAN_OPTIONS=detect_leaks=0 # hwloc's plugins are unloaded before leaks are looked for
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
failed=0
count=0

complain() {
    echo "$*"
    failed=1
}

on_terminal() {
    script -qec "$1" /dev/null < /dev/null > "$place/terminal" 2>&1
}

# The same on a machine so slow that a bar is due at every step: the command is stopped most of the time.
cat > slowly.sh << 'END'
$1 &
while kill -STOP $! 2> /dev/null; do
    sleep 0.12
    kill -CONT $! 2> /dev/null
    sleep 0.005
done
wait $!
END

# Lines that are bars, and wipes. Bars name the step, and after two seconds guess the time left.
bars() { # LABEL
    local left='(  about [0-9]+ (s|min|h) left)?'
    tr '\r' '\n' < terminal |
        grep -aE "^$1( [^ []+)?(  \[[#-]*\] +[0-9]+ %  [0-9]+/[0-9]+$left|(, seconds)?  [0-9]+)"$'\x1b'"\[K|^"$'\x1b'"\[K"
}

has_bar() { # LABEL
    bars "$1" | grep -aqv "^"$'\x1b'
}

# LABEL COMMAND: a bar comes after a tenth of a second, so what was done sooner is looked at again in slow motion.
long() {
    local label=$1 command=$2
    count=$((count + 1))
    on_terminal "$command" || complain "'$command' fails on a terminal: $(tail -n 3 terminal)"
    has_bar "$label" || on_terminal "bash slowly.sh '$command'" || complain "'$command' fails in slow motion: $(tail -n 3 terminal)"
    has_bar "$label" || complain "'$command' shows no bar on a terminal"
    bars "$label" | tail -n 1 | grep -aq "^"$'\x1b' || complain "'$command' leaves its bar standing"
    on_terminal "$command --quiet"
    ! has_bar "$label" || complain "'$command --quiet' shows a bar"
    bash -c "$command" > piped 2> piped.err < /dev/null || complain "'$command' fails in a pipe: $(cat piped.err)"
    ! grep -aq $'[\r\x1b]' piped piped.err || complain "'$command' writes marks of a terminal into a pipe"
}

# FILE COMMAND: the last line names the file, and the file is there. Some words may stand around it.
written() {
    local file=$1 command=$2
    count=$((count + 1))
    rm -rf "$file"
    bash -c "$command" > said 2>&1 < /dev/null || complain "'$command' fails: $(cat said)"
    [ -s "$file" ] || [ -d "$file" ] || complain "'$command' has not written $file"
    tail -n 3 said | grep -qE "(written to|kept in|results are in) .*$file" || complain "'$command' does not end with where $file lies: $(tail -n 1 said)"
    [[ $command != *reproduce* ]] || return # whose last line is its result
    bash -c "$command --quiet" > said 2>&1 < /dev/null || complain "'$command --quiet' fails: $(cat said)"
    ! grep -qE "(written to|kept in|results are in)" said || complain "'$command --quiet' tells where $file lies"
}

written plan.json "banyan plan hosts:2+3 -o plan.json"
written plan.xml "banyan plan dgx1 --algo ring --format msccl -o plan.xml"
written bound.json "banyan bound hosts:2+3 -o bound.json"
written trace.json "banyan sim hosts:2+3 --algo ring --trace trace.json"
written net.svg "banyan topo draw hosts:2+3 -o net.svg"
written net.json "banyan topo convert hosts:2+3 -o net.json"
written machine.json "banyan topo discover -o machine.json"
written groups.json "banyan train --model resnet50 --cost linear:1e-3,1e-9 --policy optimal -o groups.json"
written groups.svg "banyan train --model resnet50 --cost linear:1e-3,1e-9 --policy optimal --svg groups.svg"
written groups.trace "banyan train --model resnet50 --cost linear:1e-3,1e-9 --policy optimal --trace groups.trace"
written report.html "banyan report hosts:2+3 -o report.html"
written papers "banyan reproduce hierarchical -o papers"
written probed.json "banyan probe -n 2 -o probed.json"
written wisdom "banyan tune -n 2 --min 1KiB --max 4KiB -k 1 -B 0.01 --wisdom wisdom"

long 'planning [a-z0-9-]+' "banyan compare torus:4x4"
long planning "banyan plan torus:6x6"
long planning "banyan plan fattree:8x8 --algo forest -o forest.json"
banyan plan torus:12x12 --algo direct -q -o direct.json || complain "direct.json is not written"
long proving "banyan verify direct.json"
long bounding "banyan bound mesh:16x16"
long planning "banyan report torus:4x4 -o report.html"
long ring "banyan sim switch:512 --algo ring"
long ring "banyan sim hosts:2+3 --algo ring --model flit --bytes 2MiB"
long flexreduce "banyan reproduce flexreduce -o papers"
[ $failed = 0 ] && echo "$count commands say what they do and where it lies"
exit $failed
