#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce of NumPy arrays: fits a line to points of which every rank has its own, by gradient descent.

    banyan run -n 4 python3 examples/numpy_allreduce.py
    mpirun -n 4 python3 examples/numpy_allreduce.py
"""
import os
import sys

import numpy

try:
    import banyan
except ImportError:  # not installed: it lies in the source tree
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bindings", "python"))
    import banyan


def main():
    with banyan.init() as comm:
        random = numpy.random.default_rng(comm.rank)
        x = random.uniform(-1, 1, 1000)
        y = 3 * x + 0.5 + random.normal(0, 0.1, 1000)
        line = numpy.zeros(2)  # slope, height
        for _ in range(200):
            error = line[0] * x + line[1] - y
            gradient = numpy.array([(error * x).mean(), error.mean()])
            comm.allreduce(gradient, out=gradient, op="avg")  # now it is that of all ranks' points
            line -= 0.5 * gradient
        lines = comm.all_gather(line)
        assert (lines == line).all()  # the same bits everywhere
        if comm.rank == 0:
            print(f"{comm.size} ranks, {1000 * comm.size} points: y = {line[0]:.2f} x + {line[1]:.2f}")


if __name__ == "__main__":
    main()
