# SPDX-License-Identifier: Apache-2.0
"""The flight recorder: the last calls of all process groups of this rank, in the format of torch's own (version 2.10), so that
torch's analysis (`torchfrtrace`, torch.distributed.flight_recorder) says which rank has not come to which call.

    banyan.torch.dump_flight_recorder("trace_rank_")    writes trace_rank_0 on rank 0, and so on

If TORCH_FR_DUMP_TEMP_FILE (or TORCH_NCCL_DEBUG_INFO_TEMP_FILE) says how the files begin, each rank writes its own by
itself when a call fails. TORCH_FR_BUFFER_SIZE (or TORCH_NCCL_TRACE_BUFFER_SIZE) is the number of calls kept, 0 for none.
The analysis knows calls by the names that NCCL's group gives them, hence the 'nccl:'.
"""

import collections
import math
import os
import pickle
import threading
import time

import torch

from ..library import lib

_KEPT = 2000  # torch's own number


def _setting(names, default=None):
    return next((os.environ[name] for name in names if os.environ.get(name)), default)


def _kept():
    text = _setting(("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"), str(_KEPT))
    return int(text) if text.isdigit() else _KEPT


class Entry:
    """One call. States: scheduled, started, completed."""

    __slots__ = (
        "group", "name", "sequence", "is_p2p", "inputs", "outputs",
        "created_ns", "started_ns", "completed_ns", "is_done", "thread",
    )  # fmt: skip

    def __init__(self, group, name, sequence, is_p2p, inputs, outputs):
        self.group = group
        self.name = name
        self.sequence = sequence
        self.is_p2p = is_p2p
        self.inputs = _whole(_shapes(inputs)) if name == "reduce_scatter" else _shapes(inputs)
        self.outputs = _whole(_shapes(outputs)) if name == "all_gather" else _shapes(outputs)
        self.created_ns = time.time_ns()
        self.started_ns = self.completed_ns = None
        self.is_done = None  # for calls of a GPU's stream, which end without a word
        self.thread = threading.get_ident()

    def as_torch(self, number):
        if self.is_done and self.is_done():
            self.completed_ns, self.is_done = self.completed_ns or time.time_ns(), None
        state = "completed" if self.completed_ns else "started" if self.started_ns else "scheduled"
        took_ms = (self.completed_ns - self.started_ns) / 1e6 if self.completed_ns and self.started_ns else None
        described = {
            "record_id": number,
            "pg_id": self.group["id"],
            "process_group": (self.group["name"], self.group["description"]),
            "collective_seq_id": 0 if self.is_p2p else self.sequence,
            "p2p_seq_id": self.sequence if self.is_p2p else 0,
            "op_id": self.sequence,
            "profiling_name": f"nccl:{self.name}",
            "time_created_ns": self.created_ns,
            "input_sizes": [list(shape) for shape, _ in self.inputs] or [[]],  # of none, the analysis asks for the first
            "input_dtypes": [dtype for _, dtype in self.inputs],
            "output_sizes": [list(shape) for shape, _ in self.outputs] or [[]],
            "output_dtypes": [dtype for _, dtype in self.outputs],
            "state": state,
            "time_discovered_started_ns": self.started_ns,
            "time_discovered_completed_ns": self.completed_ns,
            "retired": state == "completed",
            "timeout_ms": self.group["timeout_ms"],
            "is_p2p": self.is_p2p,
            "thread_id": str(self.thread),
            "thread_name": "",
            "frames": [],
        }
        if took_ms is not None:
            described["duration_ms"] = took_ms
        return described


def _shapes(tensors):
    """(shape, type) of each of them, also of lists of lists."""
    if isinstance(tensors, torch.Tensor):
        return [(tuple(tensors.shape), _type_name(tensors.dtype))]
    return [one for inner in tensors or [] for one in _shapes(inner)]


def _whole(shapes):
    """The parts of all ranks as one tensor: the analysis compares its size with a rank's times their number."""
    return [((sum(math.prod(shape) for shape, _ in shapes),), shapes[0][1])] if len(shapes) > 1 else shapes


_TYPE_NAMES = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
               "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool"}  # fmt: skip


def _type_name(dtype):
    """As C++ prints it."""
    name = str(dtype).replace("torch.", "")
    return _TYPE_NAMES.get(name, name)


class Recorder:
    def __init__(self, kept):
        self.kept = kept
        self._entries = collections.deque(maxlen=kept)
        self._groups = []  # what a dump says of them; and of the C++ backends, where their calls are
        self._lock = threading.Lock()
        self._is_written = False

    def open_group(self, name, description, workers, timeout_ms):
        with self._lock:
            group = {"id": len(self._groups), "name": name, "description": description, "ranks": workers,
                     "timeout_ms": timeout_ms, "native": None}  # fmt: skip
            self._groups.append(group)
            del self._groups[: -max(1, self.kept)]
        return group

    def add(self, group, name, sequence, inputs, outputs, is_p2p=False):
        entry = Entry(group, name, sequence, is_p2p, inputs, outputs)
        self._entries.append(entry)
        return entry

    def dump(self):
        """What torch's analysis reads."""
        entries = list(self._entries)
        for group in list(self._groups):
            entries += _native_entries(group)
        entries.sort(key=lambda entry: entry.created_ns)
        described = [entry.as_torch(number) for number, entry in enumerate(entries)]
        return {
            "version": "2.10",
            "comm_lib_version": f"banyan {lib.banyan_version()}",
            "entries": described,
            "pg_config": {
                group["name"]: {"name": group["name"], "desc": group["description"], "ranks": str(list(group["ranks"]))}
                for group in self._groups
            },
            "pg_status": {str(group["id"]): _status(group, described) for group in self._groups},
        }

    def write(self, prefix, rank):
        """The file of this rank. It is written beside and moved, so that nobody reads a half."""
        path = f"{prefix}{rank}"
        with open(f"{path}.part", "wb") as file:
            pickle.dump(self.dump(), file)
        os.replace(f"{path}.part", path)
        return path

    def note_failure(self, rank):
        """Writes the file that the environment asks for, at the first failure alone."""
        prefix = _setting(("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"))
        with self._lock:
            if not prefix or not self.kept or self._is_written:
                return
            self._is_written = True
        try:
            self.write(prefix, rank)
        except OSError:
            pass  # the call's own error is what matters


def _native_entries(group):
    if group["native"] is None:
        return []
    found = []
    for name, sequence, shapes, created_ns, started_ns, completed_ns, thread in group["native"]():
        entry = Entry(group, name, sequence, False, [], [])
        entry.inputs, entry.outputs = shapes[:1], shapes[-1:]
        entry.created_ns, entry.thread = created_ns, thread
        entry.started_ns, entry.completed_ns = started_ns or None, completed_ns or None
        found.append(entry)
    return found


def _status(group, entries):
    """The last call of each state."""
    own = [entry for entry in entries if entry["pg_id"] == group["id"] and not entry["is_p2p"]]

    def last(*states):
        return max((entry["collective_seq_id"] for entry in own if entry["state"] in states), default=-1)

    return {
        "last_enqueued_collective": last("scheduled", "started", "completed"),
        "last_started_collective": last("started", "completed"),
        "last_completed_collective": last("completed"),
    }


recorder = Recorder(_kept())


def dump_flight_recorder(prefix=None, rank=None):
    """Writes what this rank did last to the file PREFIX and its rank, and returns its name; without a prefix, the
    dictionary itself."""
    if prefix is None:
        return recorder.dump()
    return recorder.write(prefix, int(os.environ.get("RANK", 0)) if rank is None else rank)
