# SPDX-License-Identifier: Apache-2.0
"""Ranks that leave the default process group and ranks that join it, while the program goes on.

    shrink()    after a loss: those who are left make a new default group
    grow()      now and then, on all ranks of the group: takes in who has asked, if anybody has
    join()      in a process that was started again, or is spare: asks, and waits until it is taken in

Those who join ask in a store of torch's: by default the one at MASTER_ADDR and MASTER_PORT. Only counters are used there,
since a wait that is given up leaves some versions of TCPStore out of step. Ranks are in the order of their numbers on
the network (`worker`, by default RANK), so a rank that was started again gets the rank it had, once all others are there.
"""

import datetime
import hashlib
import json
import os
import time

import torch
import torch.distributed as dist

from ..communicator import Communicator, unique_id
from ..errors import InvalidUsage, Timeout
from ..library import milliseconds
from .group import BanyanGroup, config_of, group_of

_POLL_S = 0.05
_SILENT_S = 2  # after forty polls without a sign, who has asked is taken for gone


def shrink(exclude=(), timeout=None, rule=None):
    """After a rank was lost: all others call this. A new default group of those that are left, which it returns;
    rank and size are new. Process groups and DDP models of before are to be made again. rule says how many must be left:
    "majority" of the last group (the default, unless BANYAN_SHRINK says otherwise), "any" or "at_least:N", the same on
    all ranks. Raises banyan.TooFewRanks where fewer are."""
    shown = dist.distributed_c10d._get_default_group()
    group = group_of(shown).without(exclude, timeout, rule)
    _make_default(shown, group)
    return group


def grow(store=None, timeout=None):
    """All ranks of the default group call this. If ranks have asked to join(), they are taken in, and a new default
    group is returned, as by shrink(); else None, at the cost of a short broadcast. Where it fails, the old group stays."""
    shown = dist.distributed_c10d._get_default_group()
    old = group_of(shown)
    told = _tell(old, _look(old, store) if old.rank() == 0 else None)
    if told is None:
        return None
    if "error" in told:
        raise InvalidUsage(told["error"])
    offer = dict(told, timeout_ms=milliseconds(timeout if timeout is not None else old.timeout))
    if old.rank() == 0:
        _answer(_notice_store(store), offer)
    group = _enter(offer, old.worker, _store(store), old.timeout)
    _first.setdefault("store", old._store)
    _make_default(shown, group)
    old.close(wait=False)
    return group


def join(store=None, timeout=None, worker=None):
    """Instead of init_process_group: waits until the members of a group that trains call grow(), and makes the new
    group the default one, which it returns."""
    if dist.is_initialized():
        raise InvalidUsage("join(): there is a default process group already")
    timeout = timeout if timeout is not None else datetime.timedelta(minutes=30)
    worker = int(os.environ.get("RANK", -1)) if worker is None else worker
    if worker < 0:
        raise InvalidUsage("join(): neither RANK nor worker says which rank this is")
    offer = _ask(_notice_store(store), worker, time.monotonic() + milliseconds(timeout) / 1000)
    group = _enter(offer, worker, _store(store), timeout)
    _set_group_count(offer["group_count"])
    _make_default(None, group)
    return group


# The store, and what is asked and answered there.

_stores = {}
_first = {}  # the store of the first default group: its server may be in this process, and others go on asking there


def _store(given):
    """The one at MASTER_ADDR, unless another is given."""
    if given is not None:
        return given
    try:
        place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    except (KeyError, ValueError):
        raise InvalidUsage("MASTER_ADDR and MASTER_PORT name no store where ranks ask to join; give one") from None
    if place not in _stores:
        _stores[place] = dist.TCPStore(
            *place, is_master=False, wait_for_workers=False, timeout=datetime.timedelta(seconds=30)
        )
    return _stores[place]


def _notice_store(given):
    return dist.PrefixStore("banyan/join", _store(given))


def _ask(notices, worker, deadline_s):
    ticket = notices.add("asked", 1)
    notices.set(f"{ticket}/worker", str(worker))
    notices.add(f"{ticket}/is_ready", 1)
    while not notices.add(f"{ticket}/is_answered", 0):
        if time.monotonic() > deadline_s:
            notices.add(f"{ticket}/is_answered", 1)  # nobody shall count on it
            raise Timeout(f"join(): no group has taken rank {worker} in; does it call grow(), and has it lost that rank?")
        notices.add(f"{ticket}/alive", 1)
        time.sleep(_POLL_S)
    answer = notices.get(f"{ticket}/answer").decode()
    if not answer:
        raise Timeout(f"join(): rank {worker} was silent for {_SILENT_S} s, and was not taken in")
    return json.loads(answer)


def _is_alive(notices, ticket):
    before, deadline_s = notices.add(f"{ticket}/alive", 0), time.monotonic() + _SILENT_S
    while time.monotonic() < deadline_s:
        if notices.add(f"{ticket}/alive", 0) != before:
            return True
        time.sleep(_POLL_S)
    return False


def _newcomers(notices, members):
    """Tickets and numbers of those who can be taken in. A number that a member has waits until that one is lost."""
    found = {}
    for ticket in range(1, notices.add("asked", 0) + 1):
        if notices.add(f"{ticket}/is_answered", 0) or not notices.add(f"{ticket}/is_ready", 0):
            continue
        worker = int(notices.get(f"{ticket}/worker"))
        if worker in members or worker in found.values():
            continue
        if _is_alive(notices, ticket):
            found[ticket] = worker
        else:
            notices.set(f"{ticket}/answer", "")
            notices.add(f"{ticket}/is_answered", 1)
    return found


def _look(group, store):
    """What rank 0 has to tell: None, or the new group, or what is wrong with the store."""
    members = group.workers or list(range(group.size()))
    try:
        found = _newcomers(_notice_store(store), members)
    except RuntimeError as problem:
        return {"error": f"grow(): the store where ranks ask to join does not work: {problem}"}
    if not found:
        return None
    return {
        "id": unique_id().hex(),
        "workers": sorted([*members, *found.values()]),
        "tickets": sorted(found),
        "group_count": _group_count(),
    }


def _answer(notices, offer):
    for ticket in offer["tickets"]:
        notices.set(f"{ticket}/answer", json.dumps(offer))
        notices.add(f"{ticket}/is_answered", 1)


def _tell(group, offer):
    """Rank 0's to all members."""
    data = torch.tensor(list(json.dumps(offer).encode()), dtype=torch.uint8) if offer else torch.empty(0, dtype=torch.uint8)
    length = torch.tensor([data.numel()], dtype=torch.int64)

    def call():
        group.communicator.broadcast_at(length.data_ptr(), length.data_ptr(), 1, "int64", 0)
        if not length.item():
            return None
        text = data if group.rank() == 0 else torch.empty(length.item(), dtype=torch.uint8)
        group.communicator.broadcast_at(text.data_ptr(), text.data_ptr(), text.numel(), "uint8", 0)
        return json.loads(bytes(text.tolist()))

    return group.run_in_turn(call)


def _enter(offer, worker, store, timeout):
    id, workers = bytes.fromhex(offer["id"]), offer["workers"]
    config = config_of(range(len(workers)), workers, offer["timeout_ms"] / 1000 or None)
    comm = Communicator.init_rank(len(workers), id, workers.index(worker), **config)
    name = hashlib.sha256(id).hexdigest()[:16]  # the id itself holds the group's secret
    return BanyanGroup(comm, dist.PrefixStore(f"grown/{name}", store), workers, timeout, f"grown {name}")


# torch has no call that exchanges the default group. Its tables have kept their names since 1.13; later versions have more
# of them.


def _make_default(old, group):
    c10d = dist.distributed_c10d
    name = "banyan " + ",".join(str(worker) for worker in group.workers)
    group.setGroupName(name)
    if hasattr(c10d, "_register_process_group"):  # 2.x: where functional collectives look
        if old is not None:
            c10d._unregister_process_group(old.getGroupName() if isinstance(old, BanyanGroup) else old.group_name)
        c10d._register_process_group(name, group)
    tables = {
        "_pg_map": ("banyan", group._store),
        "_pg_names": name,
        "_pg_group_ranks": {rank: rank for rank in range(group.size())},
        "_pg_backend_config": "cpu:banyan",
    }
    for name, value in tables.items():
        table = getattr(c10d, name, None)
        if isinstance(table, dict):
            table.pop(old, None)
            table[group] = value
    c10d._update_default_pg(group)


def _group_count():
    """How many groups were made: new_group() names the next one by it."""
    c10d = dist.distributed_c10d
    return c10d._world.group_count if hasattr(c10d, "_world") else c10d._group_count


def _set_group_count(count):
    c10d = dist.distributed_c10d
    if hasattr(c10d, "_world"):
        c10d._world.group_count = count
    else:
        c10d._group_count = count
