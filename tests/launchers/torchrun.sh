#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch's torchrun with a store of its own (c10d): four ranks on one node, and two and two as if on two nodes.
#   torchrun.sh SOURCE BANYAN
set -u
. "$1/tests/launchers/launchers.sh"
need torchrun
trap 'rm -rf "$place"' EXIT
export OMP_NUM_THREADS=1

# Ranks are programs, not Python; -r 1 -t 1: their output is kept and shown, which Debian's torchrun needs to start them at all.
cat > "$place/one-node" << 'NODE'
#!/bin/bash
port=$(python3 -c 'import random; print(random.randrange(20000, 30000, 2))') # ranks meet at the one after it
exec torchrun --no_python -r 1 -t 1 --nproc_per_node 4 --master_addr 127.0.0.1 --master_port "$port" "$@"
NODE
cat > "$place/two-nodes" << 'NODE'
#!/bin/bash
port=$(python3 -c 'import random; print(random.randrange(20000, 30000, 2))')
set -- --no_python -r 1 -t 1 --nnodes 2 --nproc_per_node 2 --rdzv_backend c10d --rdzv_id "job$port" \
    --rdzv_endpoint "127.0.0.1:$port" "$@"
torchrun "$@" &
first=$!
torchrun "$@"
code=$?
wait $first || code=$?
exit $code
NODE
chmod 755 "$place/one-node" "$place/two-nodes"
check_launcher "torchrun, 4 ranks" "$place/one-node"
check_bench "torchrun, two nodes" "$place/two-nodes" # after a failure its agents would wait for each other for minutes
conclude
