# SPDX-License-Identifier: Apache-2.0
"""How a process group gets other members in place, as torch 2.13 asks its backends to do.

    get_reconfigure_handle()     a text by which others name this rank; the program brings it to them
    reconfigure(uuid, handles)   all ranks of the new group call it with the handles of all of them

A handle holds the rank's number on the network and a unique id of the library, so the new group meets in the process of its
first rank: torch's store, which may have gone with the rank that kept it, is not needed. A list of handles is in the
order of ranks; a set is sorted. Where the meeting fails, the group stays what it was, and handles are to be fetched again.
"""

import time

import torch

from ..communicator import Communicator, release_unique_id, unique_id
from ..errors import InvalidArgument, InvalidUsage, Mismatch

_FRESH_S = 300  # half of the time for which the library keeps an id that nobody uses


class Handle:
    """This rank's."""

    def __init__(self, worker, id):
        self.worker = worker
        self.id = id
        self._made_s = time.monotonic()

    @classmethod
    def make(cls, worker):
        return cls(worker, unique_id())

    @classmethod
    def parse(cls, text):
        kind, _, rest = str(text).partition(":")
        worker, _, id = rest.partition(":")
        try:
            if kind == "banyan" and len(id) == 256:
                return cls(int(worker), bytes.fromhex(id))
        except ValueError:
            pass
        raise InvalidArgument(f"reconfigure: '{str(text)[:40]}' is no handle of the backend banyan")

    @property
    def is_old(self):
        return time.monotonic() - self._made_s > _FRESH_S

    def __str__(self):
        return f"banyan:{self.worker}:{self.id.hex()}"


class Unformed:
    """In the place of a communicator, until reconfigure() says who the members are."""

    def __init__(self, rank, size):
        self.rank = rank
        self.size = size

    is_closed = False
    failure = None

    class handle:
        value = None

    def close(self):
        pass

    abort = close

    def set_timeout(self, timeout):
        """The group remembers it."""

    def __getattr__(self, name):
        raise InvalidUsage("the process group has no members before reconfigure() has named them")


def _in_order(handles):
    if isinstance(handles, (set, frozenset)):
        handles = sorted(handles, key=lambda text: (Handle.parse(text).worker, text))
    handles = list(handles)
    if len(set(handles)) != len(handles) or not handles:
        raise InvalidArgument(f"reconfigure: {len(handles)} handles, of which {len(set(handles))} differ")
    return handles


def members_of(opts, mine, uuids):
    """The handles of the new group, by rank, once all is right with what this rank was told."""
    handles = _in_order(opts.handles)
    if opts.uuid in uuids:
        raise InvalidArgument(f"reconfigure: the uuid {opts.uuid} was already used by this rank")
    if str(mine) not in handles:
        raise InvalidArgument("reconfigure: the handle of this rank is not among those of the new group")
    return [Handle.parse(text) for text in handles]


def meet(members, mine, uuid, config):
    """The communicator of the new group. The id of this rank's handle is used up, whether it succeeds or not."""
    rank = [str(member) for member in members].index(str(mine))
    if rank:
        release_unique_id(mine.id)  # the first rank's is where all meet
    comm = Communicator.init_rank(len(members), members[0].id, rank, **config)
    _compare(comm, uuid)
    return comm


def _compare(comm, uuid):
    mine = torch.tensor([uuid], dtype=torch.int64)
    every = torch.empty(comm.size, dtype=torch.int64)
    comm.all_gather_at(mine.data_ptr(), every.data_ptr(), 1, "int64")
    for other, theirs in enumerate(every.tolist()):
        if theirs != uuid:
            comm.close()
            raise Mismatch(f"reconfigure: rank {other} has the uuid {theirs}, rank {comm.rank} has {uuid}")
