#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# banyan plan --without, --slow and --from: a new plan when links were lost or are slower, and what it says to bad input.
# Arguments: source folder, command line.
. "$1/tests/verb.sh"

"$banyan" plan torus:4x4x4 --algo forest -q -o old.json || complain 'no plan to begin with'
"$banyan" plan torus:4x4x4 --algo ring -q -o ring.json || complain 'no plan of ring'

# Proven on the network as it is now, and again from what came of it.
says 'at most 38.1 GB/s before' 0 plan torus:4x4x4 --algo forest --from old.json --without g0-g1 -o new.json
says 'proven' 0 verify new.json --topo torus:4x4x4,down=g0-g1
says 'proven' 0 verify new.json --topo torus:4x4x4
"$banyan" plan torus:4x4x4 --algo forest --without g0-g1 -q -o again.json
cmp -s new.json again.json || complain 'the same question has two answers'
says ' now' 0 plan torus:4x4x4,down=g0-g1 --from new.json --without g20-g21 -o third.json
says 'proven' 0 verify third.json --topo torus:4x4x4,down=g0-g1,down=g20-g21
says '"from":{"file":"old.json","bytes_per_s":380952380' 0 plan torus:4x4x4 --from old.json --slow g0-g1:0.5 --json
says 'before' 0 plan torus:4x4x4 --from ring.json --without g0-g1

# The network as it is now may be the SPEC itself; then the old rate is not known.
says '"bytes_per_s":null' 0 plan torus:4x4x4,down=g0-g1 --from old.json --json

# What cannot be: one sentence each.
says "--without g0-g9x: there is no node 'g9x'" 2 plan torus:4x4x4 --from old.json --without g0-g9x
says '--without g0-g9: no link leads from g0 to g9' 2 plan torus:4x4x4 --from old.json --without g5-g9,g0-g9
says '--without: a link is missing between commas' 2 plan torus:4x4x4 --from old.json --without g5-g9,,g0-g1
says '--slow g0-g1: a factor is missing, as in g0-g1:0.5' 2 plan torus:4x4x4 --from old.json --slow g0-g1
says "--slow g0-g1:7: the factor '7' is not above 0 and at most 1" 2 plan torus:4x4x4 --from old.json --slow g0-g1:7
says 'active worker g1 cannot be reached from g0: the network is disconnected' 2 plan torus:4x4x4 --from old.json --without g0
says 'old.json does not run on ring:4: ' 2 plan ring:4 --from old.json --without g0-g1
says 'nowhere.json: ' 2 plan torus:4x4x4 --from nowhere.json --without g0-g1
echo '{' > broken.json
says 'broken.json: ' 2 plan torus:4x4x4 --from broken.json --without g0-g1

exit $failed
