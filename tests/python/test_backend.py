# SPDX-License-Identifier: Apache-2.0
"""The C++ backend: it compiles against the installed torch, and torch's collectives, losses and recorded calls are right with it. Left out where the headers
of torch are not there (Debian: libtorch-dev, pybind11-dev)."""
import os
import subprocess
import sys
import tempfile
import unittest

import ranks

from banyan.torch import build

HERE = os.path.dirname(os.path.abspath(__file__))


def run(command, **environment):
    environment = {**os.environ, "PYTHONPATH": os.path.join(ranks.SOURCE, "bindings", "python"), **environment}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def compile_and_link(command):
    """The two steps of a command, of which a compiler cache (CMAKE_CXX_COMPILER_LAUNCHER) knows the first."""
    source = next(word for word in command if word.endswith(".cpp"))
    object_file = command[-1] + ".o"
    launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split()
    flags = [word for word in command[:-2] if word != "-shared" and not word.startswith(("-l", "-L"))]
    return launcher + flags + ["-c", "-o", object_file], [object_file if word == source else word for word in command]


class Backend(unittest.TestCase):
    def test_it_compiles_and_serves(self):
        with tempfile.TemporaryDirectory() as folder:
            probe = build.command(os.path.join(folder, "probe"))
            probe = [probe[0], *(word for word in probe[1:] if word.startswith(("-std", "-I", "-D"))), "-E", "-x", "c++", "-"]
            includes = "#include <torch/extension.h>\n#include <pybind11/stl.h>\n"
            if subprocess.run(probe, input=includes, text=True, capture_output=True, env={**os.environ, "LD_PRELOAD": ""}).returncode:
                self.skipTest("the headers of torch, Python or pybind11 are not there")
            file = os.path.join(folder, "backend.so")
            for step in compile_and_link(build.command(file)):
                code, output = run(step, LD_PRELOAD="")  # a sanitizer is for the library, not for the compiler
                self.assertEqual(code, 0, output)
            for name in ("torch", "recorder"):
                test = os.path.join(HERE, f"test_{name}.py")
                code, output = run([sys.executable, test, ranks.SOURCE, ranks.BANYAN], BANYAN_TORCH_BACKEND=file)
                self.assertEqual(code, 0, output)
            # The store in which ranks ask to join is still there after the group that came with it.
            example = os.path.join(ranks.SOURCE, "examples", "torch_elastic.py")
            options = ["--steps", "12", "--lose", "2@2,1@7", "--away", "1", "--pause", "0", "--timeout", "20"]
            code, output = run(
                [ranks.BANYAN, "run", "-n", "3", "--spare", "2", sys.executable, example, *options], BANYAN_TORCH_BACKEND=file
            )
            self.assertEqual(code, 0, output)
            self.assertEqual(output.count("12 steps with 3 ranks at the end"), 3, output)


if __name__ == "__main__":
    ranks.main(globals())
