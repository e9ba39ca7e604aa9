#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a CUDA GPU, torch and NCCL: does torch compute the same with the plugin as without, did the plugin really serve, and how
# fast is it beside NCCL's own sockets? One GPU is enough: each rank is a node of its own to NCCL (NCCL_HOSTID). Says what it saw, and writes
# nccl-gpu.json and nccl-gpu.csv into the output folder.
# Usage: scripts/nccl-gpu.sh BUILD_FOLDER OUTPUT_FOLDER [RANKS...], by default for 2, 3 and 4 ranks. PARTS="jobs lost speed" chooses; SIZES are those
# of the speed part. MPS=1 starts CUDA's MPS, with which kernels of several processes
# run on the GPU together; without it they take turns of some milliseconds, and these turns are what is measured.
set -u
build=$(cd "$1" && pwd)
out=$2
shift 2
ranks=${*:-2 3 4}
parts=${PARTS:-jobs lost speed}
sizes=${SIZES:--b 1K -e 64M -f 4}
here=$(cd "$(dirname "$0")/.." && pwd)
plugin=$build/libnccl-net-banyan.so
mkdir -p "$out"
failed=0

nccl=$(python3 -c 'import os, torch; print(os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia", "nccl", "lib"))' 2> /dev/null)
export LD_LIBRARY_PATH=$build:${nccl:-}:${LD_LIBRARY_PATH:-}

complain() {
    echo "FAILED: $*"
    failed=1
}

# The variables of a way: NCCL's own sockets as they are, and with as many channels as the plugin is given; the plugin as `banyan nccl-env` has it, and
# over TCP only; and the plugin's sends and receives under NCCL's own algorithms, also over UCX where that was built.
way_environment() {
    local served="NCCL_NET_PLUGIN=$plugin NCCL_COLLNET_ENABLE=1 NCCL_ALGO=allreduce:collnetchain NCCL_MIN_NCHANNELS=8"
    case $1 in
    sockets) echo NCCL_NET_PLUGIN=none NCCL_NET=Socket ;;
    sockets-8) echo NCCL_NET_PLUGIN=none NCCL_NET=Socket NCCL_MIN_NCHANNELS=8 ;;
    banyan) echo "$served" ;;
    banyan-tcp) echo "$served BANYAN_TRANSPORT=tcp" ;;
    banyan-net) echo "NCCL_NET_PLUGIN=$plugin" ;;
    banyan-net-tcp) echo "NCCL_NET_PLUGIN=$plugin BANYAN_TRANSPORT=tcp" ;;
    banyan-net-ucx) echo "NCCL_NET_PLUGIN=$plugin BANYAN_TRANSPORT=ucx" ;;
    esac
}

port=29600
# run WAY RANKS SECONDS NAME COMMAND...: all ranks; output of rank R in NAME.R. The status is that of rank 0.
run() {
    local way=$1 count=$2 seconds=$3 name=$4 rank pids=() status limit
    shift 4
    port=$((port + 3))
    for ((rank = 0; rank < count; rank++)); do
        limit=$seconds
        [ -n "${lost_after-}" ] && [ $rank = $((count - 1)) ] && limit="-s KILL $lost_after"
        env $(way_environment "$way") RANK=$rank WORLD_SIZE="$count" LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            NCCL_HOSTID="node$rank" NCCL_SOCKET_IFNAME=lo BANYAN_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1 NCCL_DEBUG=INFO \
            NCCL_DEBUG_SUBSYS=INIT,COLL,NET,TUNING NCCL_DEBUG_FILE="$out/$name.$rank.log" \
            timeout $limit "$@" > "$out/$name.$rank" 2>&1 &
        pids+=($!)
    done
    wait "${pids[0]}"
    status=$?
    for ((rank = 1; rank < count; rank++)); do wait "${pids[$rank]}"; done
    return $status
}

json_of() { # KIND FILE: the line of JSON in a job's output
    grep -h '^{' "$out/$2.0" | grep -F "\"kind\": \"$1\""
}

compare_jobs() {
    local count kind
    for count in $ranks; do
        run sockets "$count" 150 "jobs-$count-sockets" python3 "$here/bench/nccl/torch_job.py" ddp,fsdp,types,graph
        run banyan "$count" 150 "jobs-$count-banyan" python3 "$here/bench/nccl/torch_job.py" ddp,fsdp,types,graph "$plugin" ||
            complain "torch with $count ranks: $(tail -3 "$out/jobs-$count-banyan.0")"
        for kind in ddp fsdp types graph; do
            python3 "$here/bench/nccl/judge.py" job $kind "$(json_of $kind "jobs-$count-sockets")" \
                "$(json_of $kind "jobs-$count-banyan")" || failed=1
        done
    done
}

# The last rank is killed in the middle of a long run: rank 0 must end by itself, after ncclCommAbort, and say whom it lost.
lose_a_rank() {
    local count begin
    for count in $ranks; do
        begin=$(date +%s)
        lost_after=8 run banyan "$count" 100 "lost-$count" "$build/banyan-nccl-test" -b 1M -e 1M -n 100000
        python3 "$here/bench/nccl/judge.py" lost "$count" "$out/lost-$count.0" $(($(date +%s) - begin - 8)) || failed=1
    done
}

compare_speed() {
    local count way
    for count in $ranks; do
        for way in sockets sockets-8 banyan banyan-tcp banyan-net banyan-net-tcp banyan-net-ucx; do
            [ $way = banyan-net-ucx ] && [ ! -e "$build/banyan-transport-ucx.so" ] && continue
            run $way "$count" 200 "speed-$count-$way" "$build/banyan-nccl-test" $sizes -n "${ITERATIONS:-10}" -w 3 \
                -J "$out/speed-$count-$way.json" || {
                complain "$count ranks over $way: $(tail -1 "$out/speed-$count-$way.0")"
                grep -h WARN "$out/speed-$count-$way."*.log 2> /dev/null | head -5
            }
            case $way in sockets* | banyan-net*) continue ;; esac
            grep -h 'NET/Banyan.*served' "$out/speed-$count-$way.0.log" 2> /dev/null | tail -1
            grep -q COLLNET_CHAIN "$out/speed-$count-$way.0.log" || complain "no COLLNET_CHAIN in the log of $way"
        done
    done
    python3 "$here/bench/nccl/judge.py" speed "$out" $ranks || failed=1
}

[ -e "$plugin" ] || { echo "$plugin is not there"; exit 77; }
command -v nvidia-smi > /dev/null || { echo "skipped: there is no nvidia-smi"; exit 77; }
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
if [ "${MPS:-0}" = 1 ]; then
    export CUDA_MPS_PIPE_DIRECTORY=$out/mps CUDA_MPS_LOG_DIRECTORY=$out/mps
    mkdir -p "$out/mps"
    nvidia-cuda-mps-control -d || { echo "MPS cannot be started here"; exit 77; }
    trap 'echo quit | nvidia-cuda-mps-control' EXIT
fi
case " $parts " in *" jobs "*) compare_jobs ;; esac
case " $parts " in *" lost "*) lose_a_rank ;; esac
case " $parts " in *" speed "*) compare_speed ;; esac
[ $failed = 0 ] && echo "all is as it should be"
exit $failed
