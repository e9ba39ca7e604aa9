# SPDX-License-Identifier: Apache-2.0
"""The C++ backend (backend.cpp), where it has been built for this torch; without it the Python group serves alone.

It is looked for in the file BANYAN_TORCH_BACKEND ("none": not at all), then where `python -m banyan.torch.build` puts it.
"""

import importlib.machinery
import importlib.util
import os
import sys
import zlib
from pathlib import Path

import torch
import torch.distributed as dist

from ..library import lib
from .recorder import recorder

NAME = "banyan_torch_backend"
_loaded = []


def file():
    """Where the backend of this source for this Python and this torch belongs."""
    given = os.environ.get("BANYAN_TORCH_BACKEND")
    if given:
        return None if given == "none" else Path(given)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    source = zlib.crc32(Path(__file__).with_name("backend.cpp").read_bytes())  # one that was built from another version does not fit
    which = f"torch-{torch.__version__}-python-{sys.version_info[0]}.{sys.version_info[1]}-{source:08x}"
    return cache / "banyan" / which / f"{NAME}.so"


def module():
    """The extension, or None."""
    if not _loaded:
        path = file()
        _loaded.append(_load(path) if path is not None and path.exists() else None)
    return _loaded[0]


def _load(path):
    loader = importlib.machinery.ExtensionFileLoader(NAME, str(path))
    spec = importlib.util.spec_from_file_location(NAME, str(path), loader=loader)
    try:
        made = importlib.util.module_from_spec(spec)
        loader.exec_module(made)
    except ImportError as problem:
        raise ImportError(
            f"the C++ backend does not fit this torch ({problem}); run python -m banyan.torch.build again, "
            "or set BANYAN_TORCH_BACKEND=none"
        ) from None
    return made


class NativeWorker:
    """The queue of C++ with the methods of work.Worker."""

    def __init__(self, rank):
        self.queue = module().Queue(rank, recorder.kept)

    def submit(self, call, outputs):
        return self.queue.submit(call, outputs)

    def run(self, call):
        result = []
        self.submit(lambda: result.append(call()), None).wait()
        return result[0]

    @property
    def sequence(self):
        return self.queue.sequence

    def next_sequence(self):
        return self.queue.next_sequence()

    @property
    def uses_streams(self):
        return self.queue.uses_streams

    @uses_streams.setter
    def uses_streams(self, value):
        self.queue.uses_streams = value

    @property
    def is_busy(self):
        return self.queue.is_busy()

    def stop(self, wait=True):
        self.queue.stop(wait)


def make_worker(rank):
    return NativeWorker(rank) if module() else None


def end_threads(seconds):
    """As work.end_threads(), where the queues have been told to stop."""
    if _loaded and _loaded[0]:
        _loaded[0].wait_for_threads(seconds)


def wrap(group):
    """What torch gets of a BanyanGroup."""
    if not module():
        return group
    comm = group.communicator
    group.recorded["native"] = group._worker.queue.records
    return module().BanyanBackend(
        group, comm.handle.value or 0, comm.rank, comm.size, lib._name, group._worker.queue
    )


def own_shrunk_groups():
    """torch.distributed.shrink_group takes what a backend's shrink() returns for Gloo's or NCCL's, and DDP's log then reads
    the memory of a ProcessGroupGloo. So what is ours is registered as ours, for all of its devices."""
    create = getattr(dist.distributed_c10d, "_create_shrunk_process_group", None)
    if create is None or not module():
        return

    def create_ours(backend, *arguments, **options):
        group = create(backend, *arguments, **options)
        if isinstance(backend, module().BanyanBackend):
            for device in ("cpu", "cuda"):
                group._register_backend(torch.device(device), dist.ProcessGroup.BackendType.CUSTOM, backend)
            group._set_default_backend(dist.ProcessGroup.BackendType.CUSTOM)
        return group

    dist.distributed_c10d._create_shrunk_process_group = create_ours


def unwrap(group):
    """The BanyanGroup of what torch shows as a process group; None: it has none."""
    if not module():
        return None
    if isinstance(group, module().BanyanBackend):  # torch 1.13
        return group.python
    for device in ("cpu", "cuda"):
        try:
            backend = group._get_backend(torch.device(device))
        except (AttributeError, RuntimeError):
            continue
        if isinstance(backend, module().BanyanBackend):
            return backend.python
    return None
