#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What belongs to a newer torch than Debian's, in one run: the C++ backend is compiled, tests/python and torch's own distributed tests run with it, one
# all-reduce of 1 KiB and of 64 MiB is timed in turns with the C library's, and the gradient schedule beside DDP's buckets on shaped networks (those need root).
# Arguments: the build folder, where results go. PYTHON: an interpreter with torch. Each step has a time limit; a step that fails
# is told, and the others go on. STEPS: some of build tests upstream latency schedule (default: all); TESTS, NETWORKS, MODELS: some of those.
set -u
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
steps=${STEPS:-build tests upstream latency schedule}
failed=0
library=$build/libbanyan.so.0
export BANYAN_LIBRARY=$library PYTHONPATH=$source/bindings/python PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
export BANYAN_TORCH_BACKEND=$out/banyan_torch_backend.so

step() { # SECONDS NAME COMMAND...
    local limit=$1 name=$2 code begun=$SECONDS
    shift 2
    timeout "$limit" "$@" > "$out/$name.log" 2>&1
    code=$?
    echo "== $name: $([ $code = 0 ] && echo done || echo "FAILED ($code)") after $((SECONDS - begun)) s"
    tail -n 40 "$out/$name.log" | grep -vE 'Warning|warn|^#|^ *$' | cut -c1-260 | tail -n "${LINES_SHOWN:-12}"
    [ $code = 0 ] || failed=1
}

for part in $steps; do
    case $part in
    build) step 100 build "$python" -m banyan.torch.build ;;
    tests)
        for name in ${TESTS:-membership recorder torch2 torch torchft}; do
            step 100 "test_$name" "$python" "$source/tests/python/test_$name.py" "$source" "$build/banyan"
        done
        ;;
    upstream) step 400 upstream "$python" "$source/tests/python/upstream.py" ;;
    latency)
        LINES_SHOWN=2
        for ranks in 2 4 8; do
            step 30 "torch_$ranks" "$build/banyan" run -n $ranks "$python" "$source/bench/torch_latency.py" banyan 1024 67108864
            step 30 "torch_${ranks}_shared" "$build/banyan" run -n $ranks "$python" "$source/bench/torch_latency.py" banyan:shared 67108864
        done
        LINES_SHOWN=12
        ;;
    schedule)
        for network in ${NETWORKS:-hosts:2+3,gbps=1 racks:2x2x1,gbps=1,rack_gbps=0.5}; do
            for model in ${MODELS:-mlp small-cnn transformer deep}; do
                LINES_SHOWN=1 step 60 "schedule_${network%%:*}_$model" "$build/banyan" run --timeout 55s --net "$network" "$python" \
                    "$source/bench/torch_ddp.py" --model $model --plain --measure-ms 1500 --rounds ${ROUNDS:-4} --steps 4 --profile 4 \
                    --machine "${MACHINE:-B}" --csv "$out/torch_schedule.csv"
            done
        done
        ;;
    esac
done
exit $failed
