#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# banyan plan --from: a plan from an old one when links were lost or are slower, and what it says to bad input.
# Arguments: source folder, command line.
. "$1/tests/verb.sh"

"$banyan" plan torus:4x4x4 --algo forest -q -o old.json || complain 'no plan to begin with'
"$banyan" plan torus:4x4x4 --algo ring -q -o ring.json || complain 'no plan of ring'

# Mended, proven on the network as it is now, and again from what came of it.
says 'trees of old.json run as before' 0 plan torus:4x4x4 --from old.json --without g0-g1 -o new.json
says 'at most 38.1 GB/s before' 0 plan torus:4x4x4 --algo forest --from old.json --without g0-g1 -o new.json
says 'from the beginning' 0 plan torus:4x4x4 --from old.json --without g0-g1 -o new.json
says 'proven' 0 verify new.json --topo torus:4x4x4,down=g0-g1
says 'proven' 0 verify new.json --topo torus:4x4x4
"$banyan" plan torus:4x4x4 --from old.json --without g0-g1 -q -o again.json
cmp -s new.json again.json || complain 'the same question has two answers'
says 'new.json' 0 plan torus:4x4x4,down=g0-g1 --from new.json --without g20-g21 -o third.json
says 'proven' 0 verify third.json --topo torus:4x4x4,down=g0-g1,down=g20-g21
says '"from":{"file":"old.json","mended":true,"trees":' 0 plan torus:4x4x4 --from old.json --slow g0-g1:0.5 --json
says '"fresh_planning_s":' 0 plan torus:4x4x4 --from old.json --slow g0-g1:0.5,g5-g9:0.9 --json
grep -q '"bytes_per_s":380952380' out || complain "the old rate is not there: $(head -c 900 out)"

# The network as it is now may be the SPEC itself; then the old rate is not known.
says '"bytes_per_s":null' 0 plan torus:4x4x4,down=g0-g1 --from old.json --json

# Plans that are not mended are made from the beginning, and say so.
"$banyan" plan switch:6 --algo forest -q -o switch.json
says 'the old plan has no trees to mend' 0 plan switch:6 --from switch.json --slow g0-s0:0.5
"$banyan" plan torus:4x4x4 --algo forest --bytes 1MiB -q -o sliced.json
says 'planned from the beginning' 0 plan torus:4x4x4 --from sliced.json --without g0-g1

# What cannot be: one sentence each.
says '--without g0-g9x: there is no node «g9x»' 2 plan torus:4x4x4 --from old.json --without g0-g9x
says '--without g0-g9: no link leads from g0 to g9' 2 plan torus:4x4x4 --from old.json --without g5-g9,g0-g9
says '--without: a link is missing between commas' 2 plan torus:4x4x4 --from old.json --without g5-g9,,g0-g1
says '--slow g0-g1: a factor is missing, as in g0-g1:0.5' 2 plan torus:4x4x4 --from old.json --slow g0-g1
says '--slow g0-g1:7: the factor «7» is not above 0 and at most 1' 2 plan torus:4x4x4 --from old.json --slow g0-g1:7
says 'active worker g1 cannot be reached from g0: the network is in parts' 2 plan torus:4x4x4 --from old.json --without g0
says 'old.json: the old schedule is a plan for torus:4x4x4, not for mesh:4x4x4' 2 plan mesh:4x4x4 --from old.json
says 'old.json: the old schedule is a plan for other active workers: name the same ones' 2 \
    plan torus:4x4x4 --from old.json --without g0-g1 --active 0-7
says 'ring.json: the old schedule is a plan of ring; only plans of forest can be mended' 2 plan torus:4x4x4 --from ring.json --without g0-g1
says 'only plans of forest can be mended, not of ring' 2 plan torus:4x4x4 --algo ring --from old.json --without g0-g1
says 'only plans of allreduce can be mended, not of allgather' 2 \
    plan torus:4x4x4 --from old.json --without g0-g1 --collective allgather
says '--without needs the plan that it changes: add --from FILE' 2 plan torus:4x4x4 --without g0-g1
says '--slow needs the plan that it changes: add --from FILE' 2 plan torus:4x4x4 --slow g0-g1:0.5
says 'nowhere.json: ' 2 plan torus:4x4x4 --from nowhere.json --without g0-g1
echo '{' > broken.json
says 'broken.json: ' 2 plan torus:4x4x4 --from broken.json --without g0-g1

exit $failed
