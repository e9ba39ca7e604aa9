#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs one file of Python tests against the library that was built. Says so and is skipped where Python, NumPy or
# PyTorch is missing. BANYAN_PYTHON: another interpreter. Arguments: source folder, command line, file, modules it needs.
set -u
source=$1
banyan=$2
file=$3
shift 3
python=${BANYAN_PYTHON:-/usr/bin/python3}
build=$(cd "$(dirname "$banyan")" && pwd)

for module in "$@"; do
    # found, not imported: that would take as long as a rank's start
    if ! "$python" -c "import importlib.util as i, sys; sys.exit(not i.find_spec('$module'))" > /dev/null 2>&1; then
        echo "skipped: $python has no $module (Debian: python3-$module)"
        exit 77
    fi
done
export BANYAN_LIBRARY=$build/libbanyan.so PYTHONDONTWRITEBYTECODE=1
unset BANYAN_TOPO BANYAN_ALGO BANYAN_TIMEOUT_MS RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
sanitize=$(sed -n 's/^BANYAN_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt")
case $sanitize in
*address*)
    # A sanitized library wants its run time loaded before all others, and that one wants to see C++'s exceptions, which
    # torch throws. The interpreter's own leaks are not ours.
    compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
    LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so.6)"
    export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
    ;;
esac
exec "$python" "$file" "$source" "$banyan"
