#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# banyan sim --model flit: cycles that are on record, tables, and sentences for what cannot be.
# Arguments: source folder, command line.
set -u
banyan=$2
failed=0

complain() {
    echo "$*"
    failed=1
}

has() { # WORDS ARGUMENTS...
    local words=$1 out
    shift
    out=$("$banyan" sim "$@" 2>&1)
    [[ $out == *"$words"* ]] || complain "banyan sim $*: '$words' is not in: $out"
}

torus=torus:4x4,gbps=128,latency=150ns
has '"cycles":143264,' $torus --algo ring --bytes 1MiB --model flit --json
has '"cycles":135614,' $torus --algo ring --bytes 1MiB --model flit --flow message --json
has '"cycles":9344,' $torus --algo ring --bytes 32KiB --model flit --json
has '9344 cycles' $torus --algo ring --bytes 32KiB --model flit
has '"table_bits":' $torus --algo ring --bytes 32KiB --model flit --json
has 'Reduce      0     nil  2,1                  2            0        16384' \
    mesh:2x2 --algo multitree --order yx --model flit --tables --bytes 64KiB
has '"tables":"schedule tables: 4 nodes' mesh:2x2 --algo multitree --model flit --tables --bytes 64KiB --json
has '--tables is for --model flit' mesh:2x2 --algo ring --tables
has 'flow is not for the model fluid: leave it out, or choose flit' mesh:2x2 --algo ring --flow message
has "the flow 'bits' is not packet or message" mesh:2x2 --algo ring --model flit --flow bits
has 'did you mean clock?' mesh:2x2 --algo ring --model flit --flit clck=1GHz
has "expected KEY=VALUE, not 'vcs'" mesh:2x2 --algo ring --model flit --flit vcs
has 'must be from 1 to 32, not 0' mesh:2x2 --algo ring --model flit --flit vcs=0
has 'are smaller than a packet of 17' mesh:2x2 --algo ring --model flit --flit buffer=3
has 'is impossible' mesh:2x2 --algo ring --model flit --flit clock=-1Hz
has 'is impossible' mesh:2x2 --algo ring --model flit --flit clock=0GHz
has 'is not for the model flit' mesh:2x2 --algo ring --model flit --overhead 1us
has 'too few for 16 pieces' $torus --algo ring --model flit --bytes 7

[ $failed = 0 ] && echo "the flit engine says what is on record"
exit $failed
