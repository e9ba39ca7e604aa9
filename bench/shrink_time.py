#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a group needs to go on without a rank: from the moment in which the last rank is killed until the others have
noticed it, until they have shrunk, and until the first all-reduce of the new group is done. The slowest rank's times, in
milliseconds. Run it as `banyan run -n 8 --spare 1 python3 bench/shrink_time.py`."""

import os
import time

import numpy

import banyan

comm = banyan.init()
rank, size = comm.rank, comm.size
vector = numpy.ones(1024, numpy.float32)
for _ in range(20):
    comm.allreduce(vector)
killed = comm.broadcast(numpy.array([time.time() + 0.2 if rank == size - 1 else 0.0]), root=size - 1)[0]
if rank == size - 1:  # when all have heard of it
    time.sleep(max(0.0, killed - time.time()))
    os.kill(os.getpid(), 9)
try:
    while True:
        comm.allreduce(vector)
except banyan.Error:
    pass
noticed = time.time()
rest = comm.shrink()
shrunk = time.time()
rest.allreduce(vector)
times = numpy.array([noticed - killed, shrunk - noticed, time.time() - killed])
worst = rest.allreduce(times, op="max") * 1e3
if rest.rank == 0:
    print(f"{size} to {rest.size} ranks: noticed {worst[0]:.1f} ms, shrink {worst[1]:.1f} ms, first result {worst[2]:.1f} ms")
rest.close()
