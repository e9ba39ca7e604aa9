#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Open MPI's mpirun: by its own variables, and as a launcher that only speaks PMIx, which says how many ranks there are and
# carries where they meet.
#   openmpi.sh SOURCE BANYAN
set -u
. "$1/tests/launchers/launchers.sh"
need mpirun.openmpi
trap 'rm -rf "$place"' EXIT

start=(mpirun.openmpi --oversubscribe)
[ "$(id -u)" != 0 ] || start+=(--allow-run-as-root)
nameless=(env -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE -u OMPI_COMM_WORLD_LOCAL_RANK -u OMPI_COMM_WORLD_LOCAL_SIZE)
check_launcher "Open MPI, 4 ranks" "${start[@]}" -n 4
if ! ldconfig -p | grep -q 'libpmix.so.2\b' && ! ls /usr/lib/*/libpmix.so.2 > /dev/null 2>&1; then
    echo "left out: there is no libpmix.so.2 for ranks that meet through PMIx"
else
    check_launcher "PMIx, 4 ranks" "${start[@]}" -n 4 "${nameless[@]}"
    check_bench "Open MPI, told through PMIx" "${start[@]}" -n 4 -x BANYAN_ROOT=pmix
    check_bench "PMIx, 24 ranks, in a tree" "${start[@]}" -n 24 "${nameless[@]}"
fi
conclude
