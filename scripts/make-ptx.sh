#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes src/device/ptx/TYPE.ptx of src/device/reduce.cu. Needed only when the kernel changes: the text is in the repository, and the
# driver of a machine compiles it for its device. nvcc writes for the newest instruction set that it knows; the kernel
# needs nothing of it, so the text is labelled PTX 7.0 for sm_70 and ptxas must accept it as such.
# Arguments: none. NVCC: the compiler, by default nvcc.
set -eu
cd "$(dirname "$0")/.."
nvcc=${NVCC:-nvcc}
folder=src/device/ptx
lowest=$("$nvcc" --list-gpu-arch | sort -t_ -k2 -n | head -1)
mkdir -p $folder
for type in int8 uint8 int32 uint32 int64 uint64 float16 float32 float64 bfloat16; do
    raw=$(mktemp)
    "$nvcc" -std=c++14 -O3 -arch="$lowest" -fmad=false -DONLY_${type^^} -ptx -o "$raw" src/device/reduce.cu
    {
        echo "// SPDX-License-Identifier: Apache-2.0"
        echo "// Made of src/device/reduce.cu by scripts/make-ptx.sh."
        sed -E -e 's/^\.version .*/.version 7.0/' -e 's/^\.target .*/.target sm_70/' -e '/^[[:space:]]*(\/\/.*)?$/d' "$raw"
    } >$folder/$type.ptx
    rm -f "$raw"
    "$(dirname "$(command -v "$nvcc")")/ptxas" -arch="${lowest/compute/sm}" -o /dev/null $folder/$type.ptx
    echo "$folder/$type.ptx: $(wc -l <$folder/$type.ptx) lines"
done
