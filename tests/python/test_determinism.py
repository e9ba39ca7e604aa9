# SPDX-License-Identifier: Apache-2.0
"""BANYAN_DETERMINISTIC=1: the sum of an element has the same bits in every run, on every rank, and in whatever vector the
element travels."""
import unittest
import zlib

import ranks

import numpy

import banyan

COUNT = 300_000
CUTS = [0, 1, 2, 5, 12, 100, 1_000, 1_023, 9_000, 9_001, 70_000, 200_000, COUNT]  # buckets of many sizes


def values(rank):
    """Of many magnitudes, so that the order of additions shows."""
    generator = numpy.random.default_rng(rank)
    return (generator.standard_normal(COUNT) * 10.0 ** generator.integers(-6, 6, COUNT)).astype(numpy.float32)


def sums():
    """Prints a checksum of the whole vector's sum, which is that of every way to cut it up."""
    with banyan.init() as comm:
        whole = comm.allreduce(values(comm.rank))
        for cuts in (CUTS, [0, 131_072, COUNT], [0, COUNT - 3, COUNT]):
            parts = [comm.allreduce(values(comm.rank)[begin:end]) for begin, end in zip(cuts, cuts[1:])]
            assert numpy.array_equal(numpy.concatenate(parts).view("u4"), whole.view("u4")), "an element's bits differ"
        turned = comm.allreduce(numpy.ascontiguousarray(values(comm.rank)[::-1]))[::-1]  # every element lies elsewhere
        assert numpy.array_equal(numpy.ascontiguousarray(turned).view("u4"), whole.view("u4")), "bits differ by place"
        average = comm.allreduce(values(comm.rank), op="avg")
        assert numpy.array_equal((whole / numpy.float32(comm.size)).view("u4"), average.view("u4"))
        print(f"checksum {zlib.crc32(whole.tobytes())}")


class Determinism(unittest.TestCase):
    def checksums(self, count, **environment):
        output = ranks.on(count, sums, environment={"BANYAN_DETERMINISTIC": "1", **environment})
        found = [line.split("checksum ")[1] for line in output.splitlines() if "checksum" in line]
        self.assertEqual(len(found), count, output)
        return set(found)

    def test_an_element_has_the_same_bits_in_every_vector_and_run(self):
        for count in (3, 5):
            found = set()
            for environment in (
                {},
                {"BANYAN_TRANSPORT": "tcp", "BANYAN_SLICE_BYTES": "4096"},
                {"BANYAN_TOPO": f"hosts:2+{count - 2},gbps=1"},
            ):
                found |= self.checksums(count, **environment)
            self.assertEqual(len(found), 1, found)


ranks.main(globals()) if __name__ == "__main__" else None
