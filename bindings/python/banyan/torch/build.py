# SPDX-License-Identifier: Apache-2.0
"""python3 -m banyan.torch.build: compiles the C++ backend against the torch of this Python, once. Takes a C++17 compiler, the
headers of torch and of Python, and about a minute."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import torch

from . import native


def command(out):
    from torch.utils import cpp_extension

    source = Path(__file__).with_name("backend.cpp")
    includes = [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
    abi = int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))
    return [
        os.environ.get("CXX", "c++"),
        *("-std=c++20" if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 10) else "-std=c++17", "-O2", "-w"),
        *("-fPIC", "-shared", f"-DTORCH_EXTENSION_NAME={native.NAME}", f"-D_GLIBCXX_USE_CXX11_ABI={abi}"),
        *(f"-I{path}" for path in includes),
        str(source),
        *(f"-L{path}" for path in cpp_extension.library_paths()),
        *("-ltorch_python", "-ltorch", "-ltorch_cpu", "-lc10"),
        *("-o", str(out)),
    ]


def main():
    out = native.file()
    if out is None:
        sys.exit("BANYAN_TORCH_BACKEND is none: there is nothing to build")
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_suffix(f".{os.getpid()}.so")
    done = subprocess.run(command(unfinished))
    if done.returncode:
        sys.exit(
            f"the C++ backend could not be compiled; the Python one serves torch {torch.__version__}. Are the headers of torch "
            "and Python there? (Debian: g++ python3-dev libtorch-dev pybind11-dev)"
        )
    os.replace(unfinished, out)
    print(out)


if __name__ == "__main__":
    main()
