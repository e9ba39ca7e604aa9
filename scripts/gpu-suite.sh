#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a GPU, in one run: the tests of tests/multi/device.c on the device, calls on PyTorch's streams and in its graphs, DDP,
# a killed rank, memory that runs out, and the benchmarks beside the machine's limits, NCCL and Gloo.
# Arguments: the build folder (with banyan, libbanyan.so.0, tests/test_multi_device, tests/test_multi_blocks, tests/without_handles and
# bench/bench_staging_roof; scripts/gpu-carry.sh gathers them), and optionally one of another commit, for staged calls of both in turns.
# PYTHON: an interpreter with torch. STEPS: what to run, in that order, of tests, blocks, bench, staged, torch, beside, hosts, big-host and sanitizer.
# BRIEF=1: a part of each, in four minutes. LIMIT: the seconds for all; what does not fit is left out.
# BANYAN_GPU=emulated tries the script out where there is no GPU, with the library of tests/gpu/cuda_stand_in.c in LD_LIBRARY_PATH.
# Ends with 0 when all that ran was right, 77 where there is no GPU.
set -u
build=$(cd "$1" && pwd)
before=${2:+$(cd "$2" && pwd)}
source=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
brief=${BRIEF:-}
steps=${STEPS:-tests blocks bench staged torch beside}
[ -z "$brief" ] || steps=${STEPS:-staged bench hosts tests big-host sanitizer}
limit=${LIMIT:-$((${brief:+240} + 0))}
failed=0
[ ! -d "$build/lib" ] || export LD_LIBRARY_PATH="$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export BANYAN_GPU=${BANYAN_GPU:-cuda} BANYAN_LIBRARY=$build/libbanyan.so.0 PYTHONPATH=$source/bindings/python PYTHONUNBUFFERED=1 BANYAN_STATUS_FOLDER=off
export BANYAN_SOCKET_IFNAME=lo GLOO_SOCKET_IFNAME=lo NCCL_SOCKET_IFNAME=lo

[ "$BANYAN_GPU" = emulated ] || nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null || {
    echo "skipped: there is no GPU here"
    exit 77
}

step() { # SECONDS NAME COMMAND...
    local seconds=$1 name=$2 code
    shift 2
    if [ "$limit" != 0 ] && [ $((limit - SECONDS)) -lt "$seconds" ]; then
        seconds=$((limit - SECONDS))
    fi
    if [ "$seconds" -lt 3 ]; then
        echo "-- $name: left out, the time is up"
        failed=1
        return
    fi
    echo "== $name"
    timeout -k 2 "$seconds" "$@" 2>&1 | cut -c1-240
    code=${PIPESTATUS[0]}
    [ "$code" = 0 ] || { echo "-- $name: FAILED ($code)" && failed=1; }
}

find_part() { # NAME FOLDER: where a build folder has it
    [ ! -e "$build/$2/$1" ] || { echo "$build/$2/$1" && return; }
    echo "$build/$1"
}
test_program=$(find_part test_multi_device tests)
roof=$(find_part bench_staging_roof bench)

run_tests() {
    [ -n "$brief" ] || step 150 "tests on the device" "$test_program"
    for pattern in ${brief:+"*staged*" "*killed*" "ranks_that_share*"}; do
        step 60 "tests on the device: $pattern" "$test_program" "$pattern"
    done
}

# Blocks of memory with file descriptors: between two processes, then as the windows of all calls where CUDA's handles are missing, not given, or not opened (tests/gpu/cuda_without_handles.c).
run_blocks() {
    local folder handles driver path=${LD_LIBRARY_PATH:-}
    driver=$(ldconfig -p | awk '/libcuda\.so\.1 /{print $NF; exit}')
    for folder in /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64; do
        [ -n "$driver" ] || driver=$(ls "$folder/libcuda.so.1" 2> /dev/null)
    done
    step 60 "blocks between two processes" env LD_LIBRARY_PATH="$(dirname "$driver"):$path" "$(find_part test_multi_blocks tests)"
    for handles in missing refused closed; do
        step 100 "tests on the device, handles $handles" env DRIVER_BEHIND="$driver" DRIVER_HANDLES=$handles LD_LIBRARY_PATH="$build/tests/without_handles:$path" "$test_program"
        step 60 "2 ranks, float32, handles $handles" env DRIVER_BEHIND="$driver" DRIVER_HANDLES=$handles LD_LIBRARY_PATH="$build/tests/without_handles:$path" \
            "$build/banyan" bench --device $BANYAN_GPU -n 2 -b 64M -e 64M --iters 50 -w 5 -T 20s
    done
}

run_bench() {
    local ranks sizes="-b 1K -e 64M -f 16"
    [ -z "$brief" ] || sizes="-b 1K -e 64M -f 65536"
    for ranks in 2 4 8; do
        step 60 "$ranks ranks, float32" "$build/banyan" bench --device $BANYAN_GPU -n $ranks $sizes --iters 100 -w 20 -T 20s
    done
    [ -n "$brief" ] || step 60 "4 ranks, bfloat16" "$build/banyan" bench --device $BANYAN_GPU -n 4 -b 64M -e 64M -d bfloat16 --iters 100 -w 20 -T 20s
}

# The second build's calls come between two runs of the first one's.
run_staged() {
    local ranks folder
    export BANYAN_GPU_PATH=staged
    for ranks in 8 2 4; do
        step 60 "$ranks ranks, the roof of staging" "$roof" $ranks ${brief:+4}
        for folder in "$build" ${before:+"$before" "$build"}; do
            step 30 "$ranks ranks, staged${before:+, $(basename "$folder")}" "$folder/banyan" bench --device $BANYAN_GPU -n $ranks -b 64M -e 64M --iters 20 -w 3 -T 20s
        done
    done
    unset BANYAN_GPU_PATH
}

# Network namespaces of this machine, which share its GPU; needs root. Vectors of the host and of the device in turn.
run_hosts() {
    local network device networks=("hosts:1+1,gbps=10 64M" "hosts:2+2,gbps=1 16M")
    [ -n "$brief" ] || networks+=("hosts:2+3,gbps=1 16M")
    for network in "${networks[@]}"; do
        for device in "" "--device $BANYAN_GPU" "" "--device $BANYAN_GPU"; do
            step 40 "hosts of a shaped test network, ${network% *}, vectors of the $([ -z "$device" ] && echo host || echo device)" env -u BANYAN_SOCKET_IFNAME BANYAN_GPU_PATH=staged \
                "$build/banyan" run --net "${network% *}" "$build/banyan" bench $device -b "${network#* }" -e "${network#* }" --iters 5 -w 2 -T 20s
        done
    done
}

run_big_host() {
    step 600 "one host's memory" "$python" "$source/bench/big_host.py" "$build/banyan" ${brief:+--brief --runs 2}
}

# compute-sanitizer: memory and races where docs/gpu-engine.md says that all is clean: of direct calls memcheck reports the first on memory that was not mapped before.
# The bench launches 2,750 kernels to time them, then makes 46 calls: the first window holds the first of these and only shows that, the second later ones.
run_sanitizer() {
    local tool small large
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2> /dev/null | tail -n 1)
    [ -n "$tool" ] || { echo "== no compute-sanitizer here" && return; }
    small="$build/banyan bench --device $BANYAN_GPU -n 2 -b 1K -e 1M -f 32 --iters 3 -w 1 -T 60s"
    large="$build/banyan bench --device $BANYAN_GPU -n 2 -b 4M -e 4M --iters 40 -w 5 -T 30s"
    step 120 "memcheck, staged" env BANYAN_GPU_PATH=staged "$tool" --target-processes all --error-exitcode 9 $small
    [ -z "$brief" ] || return
    step 120 "racecheck, direct" "$tool" --tool racecheck --target-processes all --error-exitcode 9 $small
    timeout 40 "$tool" --target-processes all --launch-skip 2740 --launch-count 20 $large 2>&1 | grep -c Invalid | sed 's/^/== memcheck, direct, the first calls: reports: /'
    step 120 "memcheck, direct, later calls" "$tool" --target-processes all --error-exitcode 9 --launch-skip 2765 --launch-count 20 $large
}

for name in $steps; do
    case $name in
    tests | blocks | bench | staged | hosts | sanitizer) "run_$name" ;;
    big-host) run_big_host ;;
    torch) step 200 "PyTorch" "$python" "$source/tests/gpu/torch_streams.py" 4 ;;
    beside) step 200 "beside NCCL and Gloo" "$python" "$source/tests/gpu/beside.py" 2 4 ;;
    *) echo "there is no step $name" && exit 2 ;;
    esac
done
[ $failed = 0 ] && echo "all that ran was right"
exit $failed
