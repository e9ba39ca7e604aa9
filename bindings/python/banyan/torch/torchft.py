# SPDX-License-Identifier: Apache-2.0
"""A process group for torchft, which keeps replicas training while some of them come and go.

    from banyan.torch.torchft import ProcessGroupBanyan

    manager = torchft.Manager(pg=ProcessGroupBanyan(timeout=timedelta(seconds=30)), ...)

torchft calls configure() for each quorum, with a store, a rank and a size; its ProcessGroupWrapper then makes the group
of that quorum by _create_pg. So ranks may join as well as leave, and a group that failed is never used again.
"""

from datetime import timedelta

import torch.distributed as dist
from torchft.process_group import ProcessGroupWrapper, create_store_client

from ..communicator import Communicator
from .exchange import by_store
from .group import BanyanGroup


class ProcessGroupBanyan(ProcessGroupWrapper):
    def __init__(self, timeout=timedelta(seconds=60)):
        super().__init__(timeout=timeout)
        self._timeout = timeout

    def getBackendName(self):
        return "torchft-banyan"

    def errored(self):
        """What has ended the group of this quorum; torchft then asks for another one."""
        return self._pg.communicator.find_failure() if self._pg is not None else None

    def _create_pg(self, store, rank, world_size):
        if isinstance(store, str):  # "host:port/prefix", in the versions that pass it on as it is
            store = create_store_client(store, timeout=self._timeout)
        exchange = by_store(dist.PrefixStore("banyan", store), rank, world_size, "quorum", self._timeout)
        comm = Communicator.init_exchange(world_size, rank, exchange, timeout=self._timeout)
        return BanyanGroup(comm, store, timeout=self._timeout)
