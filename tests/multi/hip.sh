#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Vectors on AMD's GPUs, with a driver that stands in for libamdhip64.so (tests/gpu/hip_stand_in.c): staged calls are right, a full device and a driver
# that lacks a call are told. Says so and is skipped where there is no C compiler. Arguments: source folder, command line.
set -u
source=$1
banyan=$2
compiler=$(command -v cc || command -v gcc || command -v clang) || { echo "skipped: there is no C compiler" && exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "$*"
    exit 1
}

build() { # FOLDER [OPTION...]
    mkdir -p "$folder/$1"
    "$compiler" -O1 -std=c11 -Wall -Wextra -Werror -shared -fPIC -o "$folder/$1/libamdhip64.so.6" "${@:2}" "$source/tests/gpu/hip_stand_in.c" -lpthread ||
        fail "the stand-in was not built"
}

bench() { # FOLDER
    LD_LIBRARY_PATH=$folder/$1 BANYAN_GPU_CHUNK=64K timeout 60 "$banyan" bench --device hip -n 3 -b 1000 -e 500K -f 22 --iters 3 -w 1 "${@:2}" 2>&1
}

build whole
build short -DWITHOUT_EVENTS
out=$(bench whole) || fail "the bench ended with $?: $out"
[[ $out == *'device: hip, stand-in; 1 of them'* ]] || fail "another device: $out"
[[ $out == *'Out of bounds values : 0 OK'* ]] || fail "wrong values: $out"
out=$(HIP_STAND_IN_BYTES=1000000 bench whole) && fail "a full device was no error: $out"
[[ $out == *'hip device 0 has no memory for'* ]] || fail "the full device was not told: $out"
out=$(bench short) && fail "a driver without a call was no error: $out"
[[ $out == *'the driver has no hipEventRecord'* ]] || fail "the missing call was not told: $out"
out=$(LD_LIBRARY_PATH=$folder timeout 60 "$banyan" bench --device hip -n 2 -b 1K -e 1K 2>&1) && fail "no driver was no error: $out"
[[ $out == *'libamdhip64.so is not there'* ]] || fail "the missing driver was not told: $out"
