#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MPICH's Hydra: ranks find each other through PMI-1.
#   hydra.sh SOURCE BANYAN
set -u
. "$1/tests/launchers/launchers.sh"
need mpiexec.hydra
trap 'rm -rf "$place"' EXIT

# Without the engine that would meet by MPI itself.
export BANYAN_PLUGIN_FOLDER=$place
check_launcher "Hydra, 4 ranks" mpiexec.hydra -n 4
check_bench "Hydra, 24 ranks, in a tree" mpiexec.hydra -n 24
conclude
