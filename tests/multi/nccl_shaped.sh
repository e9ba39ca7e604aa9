#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A stream of NCCL-sized calls through the plugin on a shaped network: right sums, and faster than a ring over the same sockets where racks share a slow
# cable. Root alone can shape a network. Arguments: source folder, command line.
set -u
banyan=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
bench=$(dirname "$banyan")/bench/bench_nccl_stream
[ "$(id -u)" = 0 ] || { echo "skipped: only root can shape a network"; exit 77; }
[ -x "$bench" ] || { echo "skipped: there is no $bench"; exit 77; }
"$banyan" run --net hosts:1+1 true > /dev/null 2>&1 || { echo "skipped: namespaces are not allowed here"; exit 77; }
line=$("$banyan" run --nccl --timeout 200s --net racks:2x2x1,gbps=0.2,rack_gbps=0.1 "$bench" -b 4194304 -c 262144 -n 3) || exit 1
echo "$line"
python3 -c 'import json, sys; r = json.loads(sys.argv[1]); sys.exit(not (0.9 < r["banyan_ratio"] < r["ring_ratio"]))' "$line" ||
    { echo "the ring is faster"; exit 1; }
