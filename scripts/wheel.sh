#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A wheel of the Python package with the library inside, for this machine's architecture: `pip install` of it needs nothing else, and
# the entry point makes torch's newer versions know backend="banyan" without an import. Arguments: the build folder, where
# the wheel goes. Needs pip, setuptools and wheel; nothing is downloaded.
set -eu
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
python=${BANYAN_PYTHON:-python3}
for module in pip setuptools wheel; do
    "$python" -c "import $module" 2> /dev/null ||
        { echo "make wheel: $(command -v "$python") has no module $module; on Debian: apt-get install python3-$module, or BANYAN_PYTHON=/usr/bin/python3" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r "$source/bindings/python/." "$work"
find "$work" -name __pycache__ -prune -exec rm -rf {} +
cp -L "$build/libbanyan.so.0" "$work/banyan/libbanyan.so.0"
# A package with a library is of one platform, whatever version of Python.
cat > "$work/setup.py" <<'PY'
from setuptools import setup
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(distclass=Binary, cmdclass={"bdist_wheel": AnyPython})
PY
"$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work/made" "$work"
for wheel in "$work"/made/*.whl; do
    cp "$wheel" "$out"
    echo "$out/$(basename "$wheel")"
done
