#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The wheel of scripts/wheel.sh, installed with pip into an environment of its own and used as a stranger would: the library is the one
# inside, plans are made, and torch's ranks find the backend by its name; without an import, where torch looks for entry points.
# Says so and is skipped where pip, wheel or venv is missing, or the library is a sanitized one. Arguments: source folder, command line.
set -u
source=$1
build=$(cd "$(dirname "$2")" && pwd)
python=${BANYAN_PYTHON:-/usr/bin/python3}
for module in pip setuptools wheel venv ensurepip; do
    if ! "$python" -c "import $module" > /dev/null 2>&1; then
        echo "skipped: $python has no $module (Debian: python3-pip python3-wheel python3-venv)"
        exit 77
    fi
done
case $(sed -n 's/^BANYAN_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt") in
'') ;;
*) echo "skipped: a sanitized library cannot be loaded by Python alone" && exit 77 ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH BANYAN_LIBRARY RANK WORLD_SIZE BANYAN_TOPO BANYAN_ALGO
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore OMP_NUM_THREADS=1 BANYAN_TORCH_BACKEND=none
fail() {
    echo "$*"
    exit 1
}

wheel=$(BANYAN_PYTHON=$python bash "$source/scripts/wheel.sh" "$build" "$folder/wheel") || fail "no wheel was made: $wheel"
"$python" -m venv --system-site-packages "$folder/env" || fail "no environment was made"
"$folder/env/bin/python" -m pip install --quiet --no-index --no-deps "$wheel" || fail "$wheel cannot be installed"
cd "$folder" || exit 1

"$folder/env/bin/python" - "$folder/env" << 'PY' || fail "the package does not work"
import sys

import banyan
from banyan.library import lib

assert banyan.__file__.startswith(sys.argv[1]), banyan.__file__
assert lib._name.startswith(sys.argv[1]), f"the library is not the wheel's own: {lib._name}"
import importlib.metadata

(entry,) = [one for one in importlib.metadata.distribution("banyan").entry_points if one.group == "torch.distributed.backends"]
assert entry.name == "banyan" and entry.value == "banyan.torch:register", entry
comms = banyan.Communicator.init_all(1)
print("the library is the wheel's own")
PY
if ! "$python" -c "import torch" > /dev/null 2>&1; then
    echo "without torch: $python has none"
    exit 0
fi

cat > ranks.py << 'PY'
import torch
import torch.distributed as dist

if not hasattr(dist.Backend, "BANYAN") and "torch.distributed.backends" not in open(dist.distributed_c10d.__file__).read():
    import banyan.torch  # this torch does not look for entry points
dist.init_process_group("banyan")
tensor = torch.ones(3)
dist.all_reduce(tensor)
assert tensor.tolist() == [2.0] * 3, tensor
dist.barrier()
print("rank", dist.get_rank(), "has the sum")
PY
port=$("$python" -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])")
export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
RANK=1 timeout 100 "$folder/env/bin/python" ranks.py > one.log 2>&1 &
RANK=0 timeout 100 "$folder/env/bin/python" ranks.py > zero.log 2>&1 || { cat zero.log && fail "rank 0 failed"; }
wait $! || { cat one.log && fail "rank 1 failed"; }
cat zero.log one.log
