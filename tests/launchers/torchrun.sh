#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch's torchrun, whose agents meet at a store of its own (c10d) or at an etcd server that is started here: four ranks on
# one node, and two and two as if on two nodes.
#   torchrun.sh SOURCE BANYAN
set -u
. "$1/tests/launchers/launchers.sh"
need torchrun
etcd_pid=
stop() {
    if [ -n "$etcd_pid" ]; then
        kill "$etcd_pid" && wait "$etcd_pid" 2> /dev/null
    fi
    rm -rf "$place"
}
trap stop EXIT
export OMP_NUM_THREADS=1

# Ranks are programs, not Python; -r 1 -t 1: their output is kept and shown, which Debian's torchrun needs to start them at all.
cat > "$place/one-node" << 'NODE'
#!/bin/bash
port=$(python3 -c 'import random; print(random.randrange(20000, 30000, 2))') # ranks meet at the one after it
exec torchrun --no_python -r 1 -t 1 --nproc_per_node 4 --master_addr 127.0.0.1 --master_port "$port" "$@"
NODE
# BACKEND NODES ENDPOINT COMMAND..., four ranks in all; an empty endpoint: a random port, where the first agent makes a store.
cat > "$place/nodes" << 'NODE'
#!/bin/bash
backend=$1 nodes=$2 endpoint=${3:-127.0.0.1:$(python3 -c 'import random; print(random.randrange(20000, 30000, 2))')}
shift 3
set -- --no_python -r 1 -t 1 --nnodes "$nodes" --nproc_per_node $((4 / nodes)) --rdzv_backend "$backend" \
    --rdzv_id "job$$" --rdzv_endpoint "$endpoint" "$@"
agents=() code=0
for _ in $(seq "$nodes"); do
    torchrun "$@" &
    agents+=($!)
done
for agent in "${agents[@]}"; do wait "$agent" || code=$?; done
exit $code
NODE
chmod 755 "$place/one-node" "$place/nodes"
check_launcher "torchrun, 4 ranks" "$place/one-node"
check_bench "torchrun, two nodes" "$place/nodes" c10d 2 "" # after a failure its agents would wait for each other for minutes

start_etcd() { # sets etcd_pid and endpoint; fails where it does not answer
    local client peer
    read -r client peer <<< "$(free_ports 2)"
    endpoint=127.0.0.1:$client
    ETCD_UNSUPPORTED_ARCH=arm64 etcd --data-dir "$place/etcd" --enable-v2 \
        --listen-client-urls "http://$endpoint" --advertise-client-urls "http://$endpoint" \
        --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
        --initial-cluster "default=http://127.0.0.1:$peer" > "$place/etcd.log" 2>&1 &
    etcd_pid=$!
    for _ in $(seq 100); do
        python3 -c "import urllib.request as u; u.urlopen('http://$endpoint/health', timeout=5)" 2> /dev/null && return 0
        sleep 0.2
    done
    cp "$place/etcd.log" "$place/out"
    return 1
}

# etcd: torch's older way to use one (API v2), etcd-v2: its newer one, of the same API.
if ! command -v etcd > /dev/null || ! /usr/bin/python3 -c 'import etcd' 2> /dev/null; then
    echo "left out: there is no etcd (etcd-server), or no python3-etcd"
elif ! start_etcd; then
    complain "etcd does not start"
else
    check_launcher "torchrun with etcd, 4 ranks" "$place/nodes" etcd 1 "$endpoint"
    check_bench "torchrun with etcd, two nodes" "$place/nodes" etcd 2 "$endpoint"
    check_bench "torchrun with etcd-v2, two nodes" "$place/nodes" etcd-v2 2 "$endpoint"
fi
conclude
