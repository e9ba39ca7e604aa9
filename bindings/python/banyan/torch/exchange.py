# SPDX-License-Identifier: Apache-2.0
"""How ranks meet: everybody's bytes to everybody, by torch's store or by a process group of another backend."""

import torch
import torch.distributed as dist


def by_store(store, rank, size, purpose):
    """An all-gather through the store that init_process_group made. purpose keeps several apart."""

    def allgather(mine):
        store.set(f"banyan/{purpose}/{rank}", mine.hex())
        return [bytes.fromhex(store.get(f"banyan/{purpose}/{other}").decode()) for other in range(size)]

    return allgather


def by_group(group):
    """An all-gather by a group of CPU tensors, Gloo's for instance."""

    def allgather(mine):
        out = [torch.empty(len(mine), dtype=torch.uint8) for _ in range(dist.get_world_size(group))]
        dist.all_gather(out, torch.frombuffer(bytearray(mine), dtype=torch.uint8), group=group)
        return [bytes(one.tolist()) for one in out]

    return allgather
