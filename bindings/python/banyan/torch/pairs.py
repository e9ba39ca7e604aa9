# SPDX-License-Identifier: Apache-2.0
"""send and recv between two ranks of a group.

Each direction of a pair is a group of two, made when it is first used, by the store. A message is a broadcast of its
tag and length and then one of its bytes. Receivers put aside what has another tag than they want, so messages of
one tag stay in order and tags may overtake each other. A send is done when the receiver's rank has taken it.
"""

import collections
import ctypes

from ..communicator import Communicator
from ..errors import Mismatch
from .exchange import by_store
from .work import Worker

_Header = ctypes.c_int64 * 2  # tag, bytes


class Channel:
    """One direction of a pair."""

    def __init__(self, store, source, target, is_source, config):
        self._store = store
        self._name = f"{source}-{target}"
        self._rank = 0 if is_source else 1
        self._config = config
        self._comm = None
        self._aside = collections.defaultdict(collections.deque)  # by tag
        self.worker = Worker(f"banyan {self._name}")

    def _connected(self):
        if self._comm is None:
            allgather = by_store(self._store, self._rank, 2, f"pair/{self._name}", self._config["timeout"])
            self._comm = Communicator.init_exchange(2, self._rank, allgather, **self._config)
        return self._comm

    def send(self, flat, tag):
        comm, header = self._connected(), _Header(tag, flat.bytes)
        comm.broadcast_at(ctypes.addressof(header), ctypes.addressof(header), 2, "int64", 0)
        comm.broadcast_at(flat.address, flat.address, flat.bytes, "uint8", 0)

    def receive(self, flat, tag):
        comm, header = self._connected(), _Header()
        while not self._aside[tag]:
            comm.broadcast_at(None, ctypes.addressof(header), 2, "int64", 0)
            if header[0] == tag and header[1] == flat.bytes:
                comm.broadcast_at(None, flat.address, flat.bytes, "uint8", 0)
                return
            message = ctypes.create_string_buffer(max(1, header[1]))
            comm.broadcast_at(None, ctypes.addressof(message), header[1], "uint8", 0)
            self._aside[header[0]].append((message, header[1]))
        message, count = self._aside[tag].popleft()
        if count != flat.bytes:
            raise Mismatch(f"a message of {count} bytes came where {flat.bytes} are to be received (ranks {self._name})")
        ctypes.memmove(flat.address, message, count)

    def set_timeout(self, timeout):
        self._config["timeout"] = timeout
        if self._comm is not None:
            self._comm.set_timeout(timeout)

    def close(self):
        self.worker.stop(wait=False)
        if self._comm is not None and not self.worker.is_busy:
            self._comm.close()


class Pairs:
    """The channels of one rank of a group; workers are the ranks' numbers on the network."""

    def __init__(self, store, rank, config_of):
        self._store = store
        self._rank = rank
        self._config_of = config_of  # of a list of ranks
        self._timeout = None  # the config's
        self._channels = {}

    def to(self, target):
        return self._channel(self._rank, target)

    def source(self, source):
        return self._channel(source, self._rank)

    def _channel(self, source, target):
        if (source, target) not in self._channels:
            channel = Channel(
                self._store, source, target, source == self._rank, self._config_of([source, target])
            )
            if self._timeout is not None:
                channel.set_timeout(self._timeout)
            self._channels[source, target] = channel
        return self._channels[source, target]

    def set_timeout(self, timeout):
        self._timeout = timeout
        for channel in self._channels.values():
            channel.set_timeout(timeout)

    def close(self):
        for channel in self._channels.values():
            channel.close()
