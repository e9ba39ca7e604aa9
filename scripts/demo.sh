#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A walk through Banyan on two hosts with two and three workers: draw, plan, prove, break, run, run between
# hosts (where test networks can be made), compare.
#   scripts/demo.sh [PATH-OF-BANYAN]
set -eu
banyan=${1:-banyan}
network=hosts:2+3
case $banyan in
/* | "${banyan##*/}") ;;
*) banyan=$PWD/$banyan ;;
esac
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
PATH=$(dirname "$banyan"):$PATH # for ranks that are started by name

if [ -t 1 ]; then
    bold=$(printf '\033[1m') plain=$(printf '\033[0m')
else
    bold='' plain=''
fi

title() {
    printf '\n%s%s%s\n' "$bold" "$*" "$plain"
}

# Shows the command as a user would type it, then runs it.
run() {
    printf '\n$ banyan %s\n' "$*"
    "$banyan" "$@"
}

title "1. A network: two hosts, with two and three workers, on a slow cable"
run topo draw $network

title "2. The plan with the best prediction: which piece goes where, proven before it is shown"
run plan $network

title "3. The plan is a file, and any such file can be checked"
run plan $network -q -o plan.json
run verify plan.json --topo $network
printf '\nOne transfer is taken out, and the proof says what is missing:\n'
sed '/"transfers":\[/{n;d}' plan.json > broken.json
run verify broken.json --topo $network || [ $? = 1 ]

title "4. A real all-reduce: five ranks as processes of this machine, through shared memory"
run bench --topo $network -b 1M -e 16M -f 4

title "5. Processes on two hosts with a cable of 1 Gb/s between them: the best plan, a flat ring, and the bound"
if why=$("$banyan" run --net $network,gbps=1 true 2>&1); then
    for algorithm in auto ring; do
        run run --net $network,gbps=1 banyan bench -b 16M -e 16M --iters 3 -w 1 --algo $algorithm
    done
    run bound $network,gbps=1 --bytes 16MiB
elif [ $? = 3 ]; then # this user or system cannot
    echo "(left out: ${why#banyan run: })"
else
    echo "$why" >&2
    exit 1
fi

title "6. All algorithms side by side"
run compare $network --bytes 64MiB

title "What to try next"
cat << END
  banyan compare torus:4x4                      other networks: banyan list networks
  banyan plan "torus:4x4,down=g0-g1"            broken ones
  banyan topo draw fattree:4x4 -o net.svg       pictures
  banyan topo discover                          this machine
  banyan plan dgx1 --format msccl -o dgx1.xml   for RCCL and MSCCL
  banyan --help                                 everything; man pages come with 'make install'
In this shell, this finds it:
  export PATH=$(dirname "$banyan"):\$PATH
END
