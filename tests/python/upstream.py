# SPDX-License-Identifier: Apache-2.0
"""torch's own tests of torch.distributed, on the backend 'banyan': those of the installed torch, of which nothing is kept
here. Each starts three processes, or six; all of them take too long for `make test`, and scripts/torch-suite.sh runs them.

    BANYAN_LIBRARY=build/release/libbanyan.so.0 python3 tests/python/upstream.py [-k PATTERN]

torch leaves tests out by the backend's name. So they are loaded under several names, each test under the first that has it;
what runs is always 'banyan'. Ends with 0 when the tests that failed are those of EXPECTED, which says why for each.
"""
import importlib
import os
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bindings", "python"))
os.environ.setdefault("WORLD_SIZE", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")
folder = tempfile.TemporaryDirectory(prefix="banyan-upstream-")
os.environ["TEMP_DIR"] = folder.name
os.environ["CUDA_VISIBLE_DEVICES"] = ""  # on a machine with fewer GPUs than ranks torch leaves all of them out
NAMES = ["banyan", "gloo", "mpi"]
os.environ["BACKEND"] = NAMES[0]

# torch's tests derive from a package that is not always there, and use nothing of it here.
try:
    import expecttest  # noqa: F401
except ImportError:
    sys.modules["expecttest"] = types.SimpleNamespace(ACCEPT=False, TestCase=unittest.TestCase)

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing  # noqa: E402
from torch.testing._internal.common_distributed import DistTestCases, MultiProcessTestCase  # noqa: E402

DistTestCases.backend_feature["ddp"].add("banyan")

from torch.testing._internal.distributed import ddp_under_dist_autograd_test, distributed_test  # noqa: E402
from torch.testing._internal.distributed.rpc.tensorpipe_rpc_agent_test_fixture import (  # noqa: E402
    TensorPipeRpcAgentTestFixture,
)

import banyan.torch  # noqa: E402, F401

# A prototype of torch 1.13 that its tests switch on, and that Python 3.11 cannot import.
try:
    import torch.distributed._shard  # noqa: F401
except ValueError:
    torch.nn.parallel._replicated_tensor_ddp_utils._set_ddp_with_replicated_tensor = lambda _: None

_ANY_SOURCE = "the backend receives from a rank that is named, as NCCL's does"
_WORDS = "the call times out as it should; the test wants Gloo's words"
_GLOO_ONLY = "torch.distributed.monitored_barrier refuses every backend but Gloo's; the group's own method is in test_torch.py"
_SPARSE = "sparse tensors are refused"
EXPECTED = {
    "test_barrier_timeout_full_group": _WORDS,
    "test_barrier_timeout_group": _WORDS,
    "test_ddp_dist_autograd_sparse_grads": _SPARSE,
    "test_ddp_logging_data_cpu": "torch 2 logs 'custom' for every backend that is not its own",
    "test_monitored_barrier_failure_order": _GLOO_ONLY,
    "test_monitored_barrier_gloo": _GLOO_ONLY,
    "test_monitored_barrier_gloo_rank_0_timeout": _GLOO_ONLY,
    "test_monitored_barrier_gloo_subgroup": _GLOO_ONLY,
    "test_monitored_barrier_wait_all_ranks": _GLOO_ONLY,
    "test_send_recv_any_source": _ANY_SOURCE,
    "test_send_recv_any_source_autograd_profiler": _ANY_SOURCE,
    "test_send_recv_any_source_torch_profiler": _ANY_SOURCE,
    "test_sparse_all_reduce_sum": _SPARSE,
}


def cases():
    """A class for each name, with the tests that no class before it runs."""
    seen = set()
    for name in NAMES:
        os.environ["BACKEND"] = name
        module = importlib.reload(distributed_test)
        base = module.DistributedTest._DistTestBase
        tests = {test for test in dir(base) if test.startswith("test")}
        runs = {test for test in tests if not getattr(getattr(base, test), "__unittest_skip__", False)}
        left_out = tests & seen | (set() if name == NAMES[-1] else tests - runs)
        yield type(
            f"As_{name}",
            (module.TestDistBackend, base),
            {"setUp": start(name, module.TestDistBackend), "left_out": left_out},
        )
        seen |= runs


def rpc_cases():
    """DDP beside RPC. What else the package has in this folder calls RPC alone, or makes no process group. Torch 2's RPC ends
    forked processes with a segmentation fault, with Gloo as well."""
    if int(torch.__version__.split(".")[0]) > 1:
        return
    for name in ("DdpUnderDistAutogradTest", "DdpComparisonTest"):
        parents = (getattr(ddp_under_dist_autograd_test, name), TensorPipeRpcAgentTestFixture, MultiProcessTestCase)
        yield type(name, parents, {"setUp": start(None, MultiProcessTestCase), "left_out": set()})


class Loader(unittest.TestLoader):
    def getTestCaseNames(self, case):
        return [name for name in super().getTestCaseNames(case) if name not in case.left_out]


def start(name, parent):
    def setUp(self):
        parent.setUp(self)
        if name:
            distributed_test.BACKEND = name  # tests look at it, too
        self._start_processes(torch.multiprocessing.get_context("fork").Process)  # none has to import torch again

    return setUp


def use_banyan(function):
    """Of torch.distributed, which is told to make a group."""

    def made(*arguments, backend=None, **options):
        return function(*arguments, backend=NAMES[0] if backend in NAMES else backend, **options)

    return made


def main():
    for name in ("init_process_group", "new_group"):
        setattr(dist, name, use_banyan(getattr(dist, name)))
    globals().update({case.__name__: case for case in [*cases(), *rpc_cases()]})
    program = unittest.main(verbosity=2, exit=False, testLoader=Loader())
    failed = {test.id().rpartition(".")[2] for test, _ in program.result.failures + program.result.errors}
    for name in sorted(failed):
        print(f"{name}: {EXPECTED.get(name, 'FAILED')}")
    sys.exit(1 if failed - set(EXPECTED) else 0)


if __name__ == "__main__":
    main()
