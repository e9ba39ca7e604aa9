# SPDX-License-Identifier: Apache-2.0
"""How these tests run code on several ranks: a test starts this same file once a rank, under `banyan run`, and says
which function to call there. A file of tests ends with `ranks.main(globals())`.

    python3 test_x.py SOURCE BANYAN        the tests
    python3 test_x.py --as-rank FUNCTION   what one rank does
"""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("BANYAN_TEST_SOURCE", os.path.join(HERE, "..", ".."))
BANYAN = os.environ.get("BANYAN_TEST_BINARY", "banyan")
sys.path.insert(0, os.path.join(SOURCE, "bindings", "python"))


def launch(count, command, spare=0, timeout=200, environment=None, network=None):
    """(exit code, all output) of `banyan run`, on this machine or in a test network. The time-out is for ranks that hang: on
    a machine that does much besides, importing torch alone takes them a minute."""
    spare_option = ["--spare", str(spare)] if spare else []
    if network:
        spare_option += ["--net", network]
    done = subprocess.run(
        [BANYAN, "run", "-n", str(count), "--tag", *spare_option, "--timeout", str(timeout), sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        timeout=timeout + 20,
    )
    return done.returncode, done.stdout


def on(count, function, **options):
    """Calls the function on so many ranks; fails with what they wrote unless all succeed. Their output."""
    file = sys.modules["__main__"].__file__
    code, output = launch(count, [file, "--as-rank", function.__name__], **options)
    if code:
        raise AssertionError(f"{function.__name__} on {count} ranks ended with {code}:\n{output}")
    return output


def main(names):
    if sys.argv[1:2] == ["--as-rank"]:
        names[sys.argv[2]]()
        return
    if len(sys.argv) > 2:
        os.environ["BANYAN_TEST_SOURCE"], os.environ["BANYAN_TEST_BINARY"] = sys.argv[1:3]
        globals().update(SOURCE=sys.argv[1], BANYAN=sys.argv[2])
        del sys.argv[1:3]
    unittest.main(verbosity=2)
