#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Iteration time of PyTorch DDP with Gloo and with Banyan: two hosts with two and three ranks, a cable of 200 Mbit/s and
# of 1 Gbit/s, three models; one line each. Takes about ten minutes, and wants a machine that does nothing else: ranks get
# real-time priority where that is allowed. Arguments: command line [network speeds in Gbit/s] [models].
set -eu
banyan=$1
speeds=${2:-0.2 1}
models=${3:-mlp mlp40 cnn}
python=${BANYAN_PYTHON:-/usr/bin/python3}
first=
chrt -r 1 true 2> /dev/null && first="chrt -r 1"

for speed in $speeds; do
    # Where iterations take a second and scatter, more are seen and counted.
    many="--rounds 2 --steps 3"
    [ "$speed" = 1 ] && many="--rounds 3 --steps 4 --profile 10"
    for model in $models; do
        $first "$banyan" run --timeout 5min --net "hosts:2+3,gbps=$speed" \
            "$python" "$(dirname "$0")/../bench/torch_ddp.py" --model "$model" --measure-ms 6000 $many
    done
done
