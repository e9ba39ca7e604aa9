#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Networks of thousands of workers: bounds from cuts, which verify proves, plans, and a refusal at once beyond the limit.
# Arguments: source folder, command line.
source "$1/tests/verb.sh"

for spec in switch:16384 fattree:64x64 torus:128x128,down=g0-g1; do
    says 'no algorithm can do better' 0 bound $spec -o bound.json
    says 'bound.json: proven' 0 verify bound.json --topo $spec
done
says 'proven in' 0 plan switch:2048 --algo binomial -o plan.json
says 'plan.json: proven' 0 verify plan.json --topo switch:2048
# Switches of many ports, and many hops.
for spec in dgxa100:160 ring:1100; do
    says 'proven in' 0 plan $spec -o plan.json
    says 'plan.json: proven' 0 verify plan.json --topo $spec
done
says 'would move more than 2097152 pieces' 2 plan torus:128x128 --algo swing
says 'would move at least' 2 plan ring:16384 --algo hierarchical
says 'blink on 5000 workers would take 49990000 transfers' 2 plan hosts:5000 --algo blink
says 'would cross more than' 2 plan ring:16384 --algo parameter-server
for verb in bound plan compare; do
    says 'fattree:256x256 has 65536 workers; networks of up to 16384 are planned and bounded' 2 $verb fattree:256x256
done
exit $failed
