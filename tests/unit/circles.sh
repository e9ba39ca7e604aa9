#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No circles between files: where functions of one file call those of another, none of these leads back. Tables of functions, such as the
# list of algorithms, do not count. Circles that are left are listed here; the list may only get shorter. Arguments: source folder,
# command line.
set -u
cd "$1" || exit 1
objects=$(dirname "$2")/CMakeFiles/banyan_objects.dir/src
for tool in nm tsort; do
    command -v $tool > /dev/null || { echo "$tool is not installed" && exit 77; }
done
[ -d "$objects" ] || { echo "there are no objects beside $2" && exit 77; }
failed=0

# The files of one circle in a line.
left='
bound/bound bound/gather_rate
calls/call calls/learning calls/overlap
calls/clone calls/comm calls/device calls/probing calls/split
calls/collectives calls/request
engine/engine engine/run engine/step
execute/team execute/team_registered
execute/run execute/run_failure execute/run_receive execute/run_send
group/control_links group/control_news
group/group group/relay group/world group/world_calls group/world_join group/world_log group/world_transports
reproduce/hierarchical reproduce/hierarchical_fit
reproduce/svg reproduce/svg_bars
simulate/flit_ahead simulate/flit_router
simulate/flit_cycle simulate/flit_fabric simulate/flit_interface simulate/flit_issue simulate/flit_normal simulate/flit_reduce
solve/oracle/steiner solve/oracle/steiner_local
transport/messages transport/messages_open
'

complain() {
    echo "$*"
    failed=1
}

# CALLER CALLEE for each pair of files, without those whose source is gone.
calls() {
    (cd "$objects" && find . -name '*.c.o') | sed 's|^\./||' | while read -r object; do
        [ ! -e "src/${object%.o}" ] || echo "$object"
    done | (cd "$objects" && xargs nm -A) | sed 's|\.c\.o:| |' |
        awk 'NF == 4 && $3 == "T" { home[$4] = $1 }
             NF == 3 && $2 == "U" { uses[$1 " " $3] = 1 }
             END { for (use in uses) { split(use, part, " ")
                       if (part[2] in home && home[part[2]] != part[1]) print part[1], home[part[2]] } }' | sort -u
}

# The pairs whose files are both in the list, or, with "not", are not.
within() { # [not] FILES
    local keep=1
    [ "$1" != not ] || { keep=0 && shift; }
    awk -v files=" $* " -v keep=$keep '(index(files, " " $1 " ") && index(files, " " $2 " ")) == keep'
}

all=$(calls)
[ -n "$all" ] || complain "no file calls another"
rest=$all
while read -r circle; do
    [ -n "$circle" ] || continue
    within $circle <<< "$all" | tsort > /dev/null 2>&1 && complain "no circle any more, take it off the list of tests/unit/circles.sh: $circle"
    rest=$(within not $circle <<< "$rest")
done <<< "$left"
loops=$(tsort <<< "$rest" 2>&1 > /dev/null | sed 's/^tsort: //; s/^-: //' | tr '\n' ' ')
[ -z "$loops" ] || complain "files that call each other in a circle: $loops"
[ $failed = 0 ] && echo "no circles but those that are listed"
exit $failed
