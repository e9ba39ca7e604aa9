# SPDX-License-Identifier: Apache-2.0
"""How ranks meet: everybody's bytes to everybody, by torch's store or by a process group of another backend; and a barrier
in the store, which finds out who is missing."""

import json
import time

import torch
import torch.distributed as dist

from ..errors import Timeout
from ..library import milliseconds

_POLL_S = 0.005  # at first, and then ever longer, up to
_LONGEST_POLL_S = 0.05


def _reaches(store, key, count, deadline_s):
    """Whether the counter does. It is asked again and again: the store serves one thread of a process at a time, and a get() that
    waits would hold up the others, for which another process may be waiting."""
    pause_s = _POLL_S
    while store.add(key, 0) < count:
        if time.monotonic() > deadline_s:
            return False
        time.sleep(pause_s)
        pause_s = min(1.5 * pause_s, _LONGEST_POLL_S)
    return True


def by_store(store, rank, size, purpose, timeout):
    """An all-gather through the store that init_process_group made. purpose keeps several apart."""

    def key(name):
        return f"banyan/{purpose}/{name}"

    def allgather(mine):
        timeout_ms = milliseconds(timeout) or milliseconds(dist.distributed_c10d.default_pg_timeout)
        store.set(key(rank), mine.hex())
        store.add(key("count"), 1)
        if not _reaches(store, key("count"), size, time.monotonic() + timeout_ms / 1000):
            raise Timeout(f"{store.add(key('count'), 0)} of {size} ranks have come to {purpose} within {timeout_ms} ms")
        return [bytes.fromhex(store.get(key(other)).decode()) for other in range(size)]

    return allgather


def by_group(group):
    """An all-gather by a group of CPU tensors, Gloo's for instance."""

    def allgather(mine):
        out = [torch.empty(len(mine), dtype=torch.uint8) for _ in range(dist.get_world_size(group))]
        dist.all_gather(out, torch.frombuffer(bytearray(mine), dtype=torch.uint8), group=group)
        return [bytes(one.tolist()) for one in out]

    return allgather


def by_roll_call(store, rank, size, number, timeout_ms, names_all):
    """A barrier, the group's number-th. Rank 0 waits for the others and tells them who has not come; they hear of it a second
    after the time-out at the latest. Counters alone are waited for, as in membership.py."""

    def key(name):
        return f"banyan/roll/{number}/{name}"

    deadline_s = time.monotonic() + timeout_ms / 1000
    if rank:
        store.add(key(rank), 1)
        missing = json.loads(store.get(key("missing"))) if _reaches(store, key("told"), 1, deadline_s + 1) else [0]
    else:
        missing = []
        for other in range(1, size):
            if not _reaches(store, key(other), 1, deadline_s):
                missing.append(other)
                if not names_all:
                    break
        store.set(key("missing"), json.dumps(missing))
        store.add(key("told"), 1)
    if missing:
        who = f"rank {missing[0]} has" if len(missing) == 1 else f"ranks {', '.join(map(str, missing))} have"
        raise Timeout(f"{who} not come to the monitored barrier within {timeout_ms} ms")
