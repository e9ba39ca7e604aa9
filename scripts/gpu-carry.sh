#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Gathers what scripts/gpu-suite.sh needs of a build, stripped and with the libraries it is linked with, for a GPU machine where nothing can be
# built or installed; its libc must be as new as this one's. Copy the source tree with that folder there, and run scripts/gpu-suite.sh FOLDER.
# Arguments: the folder to make (build/gpu-carry by default) and the build folder (build/release), where what is missing is built.
set -eu
cd "$(dirname "$0")/.."
into=${1:-build/gpu-carry} build=${2:-build/release}

make --no-print-directory build
cmake --build "$build" -j "$(nproc)" --target test_multi_device test_multi_blocks cuda_without_handles bench_staging_roof -- --quiet
rm -rf "$into"
mkdir -p "$into/tests/without_handles" "$into/bench" "$into/lib"
cp -L "$build/banyan" "$build/libbanyan.so.0" "$into"
cp "$build/tests/test_multi_device" "$build/tests/test_multi_blocks" "$into/tests"
cp "$build/tests/without_handles/libcuda.so.1" "$into/tests/without_handles"
cp "$build/bench/bench_staging_roof" "$into/bench"
for program in banyan libbanyan.so.0 tests/test_multi_device tests/test_multi_blocks; do
    ldd "$into/$program"
done | awk '$2 == "=>" && $3 ~ /^\// && $1 !~ /^(libc|libm|libcuda|libpthread|libdl|librt)\.so/ {print $3}' | sort -u |
    while read -r library; do cp -L "$library" "$into/lib"; done
find "$into" -type f -exec strip --strip-unneeded {} +
du -sh "$into"
