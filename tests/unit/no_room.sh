#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Files that may not grow: a sentence and exit code 3, and nothing half-written is left.
# Arguments: source folder, command line.
source "$1/tests/verb.sh"

# What the verb says goes through a pipe: files of any size are refused.
refused() { # WORDS ARGUMENT...
    local words=$1 said
    shift
    said=$( (ulimit -f 0 && "$banyan" "$@" 2>&1; echo "code $?") | cat)
    [[ $said == *"$words"* && $said == *"code 3" ]] || complain "$*: $said"
}

for verb in 'plan ring:4' 'bound ring:4' 'topo convert ring:4'; do
    refused 'written.out: File too large' $verb -o written.out
done
refused 'written.html: File too large' report ring:4 -o written.html
[ -z "$(ls written.* 2> /dev/null)" ] || complain "left behind: $(ls written.*)"

# The ranks of a job have what signals do by default.
said=$("$banyan" run -n 1 grep SigIgn /proc/self/status)
[ $((0x${said##*[^0-9a-f]} >> 24 & 1)) -eq 0 ] || complain "ranks ignore SIGXFSZ: $said"
exit $failed
