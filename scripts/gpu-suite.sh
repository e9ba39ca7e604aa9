#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a GPU, in one run: the tests of tests/multi/device.c on the device, calls on PyTorch's streams and in its graphs, DDP,
# a killed rank, memory that runs out, and the benchmark beside NCCL and Gloo.
# Arguments: the build folder (with banyan, libbanyan.so.0, tests/test_multi_device, tests/test_multi_blocks, tests/without_handles and bench/bench_staging_roof).
# PYTHON: an interpreter with torch. STEPS: those to run, of tests, blocks, bench, staged, torch, beside and sanitizer; all but the last by default. Ends with 0 when all that ran was right, 77 where there is no GPU.
set -u
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
steps=" ${STEPS:-tests blocks bench staged torch beside} "
failed=0
export BANYAN_GPU=cuda BANYAN_LIBRARY=$build/libbanyan.so.0 PYTHONPATH=$source/bindings/python PYTHONUNBUFFERED=1
export BANYAN_SOCKET_IFNAME=lo GLOO_SOCKET_IFNAME=lo NCCL_SOCKET_IFNAME=lo

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null || {
    echo "skipped: there is no GPU here"
    exit 77
}

step() { # SECONDS NAME COMMAND...
    local limit=$1 name=$2 code
    shift 2
    echo "== $name"
    timeout "$limit" "$@" 2>&1 | cut -c1-240
    code=${PIPESTATUS[0]}
    [ "$code" = 0 ] || { echo "-- $name: FAILED ($code)" && failed=1; }
}

test_program=$build/tests/test_multi_device
[ -e "$test_program" ] || test_program=$build/test_multi_device
wants() { # STEP
    [ "${steps/ $1 /}" != "$steps" ]
}

wants tests && step 150 "tests on the device" "$test_program"
# Blocks of memory with file descriptors: between two processes, then as the windows of all calls where CUDA's handles are missing, not given, or not opened (tests/gpu/cuda_without_handles.c).
driver=$(ldconfig -p | awk '/libcuda\.so\.1 /{print $NF; exit}')
for folder in /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64; do
    [ -n "$driver" ] || driver=$(ls "$folder/libcuda.so.1" 2> /dev/null)
done
wants blocks && step 60 "blocks between two processes" env LD_LIBRARY_PATH="$(dirname "$driver"):${LD_LIBRARY_PATH:-}" "$build/tests/test_multi_blocks"
for handles in missing refused closed; do
    wants blocks || break
    export DRIVER_BEHIND=$driver DRIVER_HANDLES=$handles
    step 100 "tests on the device, handles $handles" env LD_LIBRARY_PATH="$build/tests/without_handles:${LD_LIBRARY_PATH:-}" "$test_program"
    step 60 "2 ranks, float32, handles $handles" env LD_LIBRARY_PATH="$build/tests/without_handles:${LD_LIBRARY_PATH:-}" "$build/banyan" bench --device cuda -n 2 -b 64M -e 64M --iters 50 -w 5 -T 20s
done
unset DRIVER_BEHIND DRIVER_HANDLES
for ranks in 2 4 8; do
    wants bench && step 60 "$ranks ranks, float32" "$build/banyan" bench --device cuda -n $ranks -b 1K -e 64M -f 16 --iters 100 -w 20 -T 20s
done
wants bench && step 60 "4 ranks, bfloat16" "$build/banyan" bench --device cuda -n 4 -b 64M -e 64M -d bfloat16 --iters 100 -w 20 -T 20s
roof=$build/bench/bench_staging_roof
[ -e "$roof" ] || roof=$build/bench_staging_roof
for ranks in 2 4 8; do
    wants staged && step 60 "$ranks ranks, the roof of staging" "$roof" $ranks
    wants staged && BANYAN_GPU_PATH=staged step 60 "$ranks ranks, staged" "$build/banyan" bench --device cuda -n $ranks -b 64M -e 64M --iters 20 -w 3 -T 20s
done
# compute-sanitizer: memory and races where docs/gpu.md says that all is clean: of direct calls memcheck reports the first on memory that was not mapped before.
# The bench launches 2,750 kernels to time them, then makes 46 calls: the first window holds the first of these and only shows that, the second later ones.
if wants sanitizer; then
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2> /dev/null | tail -n 1)
    [ -n "$tool" ] || echo "== no compute-sanitizer here"
    small="$build/banyan bench --device cuda -n 2 -b 1K -e 1M -f 32 --iters 3 -w 1 -T 60s"
    [ -z "$tool" ] || BANYAN_GPU_PATH=staged step 120 "memcheck, staged" "$tool" --target-processes all --error-exitcode 9 $small
    [ -z "$tool" ] || step 120 "racecheck, direct" "$tool" --tool racecheck --target-processes all --error-exitcode 9 $small
    large="$build/banyan bench --device cuda -n 2 -b 4M -e 4M --iters 40 -w 5 -T 30s"
    [ -z "$tool" ] || timeout 40 "$tool" --target-processes all --launch-skip 2740 --launch-count 20 $large 2>&1 | grep -c Invalid |
        sed 's/^/== memcheck, direct, the first calls: reports: /'
    [ -z "$tool" ] || step 120 "memcheck, direct, later calls" "$tool" --target-processes all --error-exitcode 9 --launch-skip 2765 --launch-count 20 $large
fi
wants torch && step 200 "PyTorch" "$python" "$source/tests/gpu/torch_streams.py" 4
wants beside && step 200 "beside NCCL and Gloo" "$python" "$source/tests/gpu/beside.py" 2 4
[ $failed = 0 ] && echo "all that ran was right"
exit $failed
