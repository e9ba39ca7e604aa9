# SPDX-License-Identifier: Apache-2.0
"""The package without PyTorch: communicators over NumPy arrays, requests, errors, groups out of groups, the engine."""
import os
import subprocess
import sys
import threading
import unittest

import ranks

import banyan
import numpy


def in_threads(comms, function):
    """function(comm) on each, at the same time; their results."""
    results, problems = [None] * len(comms), []

    def call(i):
        try:
            results[i] = function(comms[i])
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(comms))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    return results


class InOneProcess(unittest.TestCase):
    def setUp(self):
        self.comms = banyan.Communicator.init_all(3, timeout=20)
        self.addCleanup(lambda: [comm.close() for comm in self.comms])

    def test_every_dtype_is_added_up(self):
        for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"):
            results = in_threads(self.comms, lambda c: c.allreduce(numpy.full((2, 3), c.rank + 1, dtype)))
            for result in results:
                self.assertEqual(result.dtype, numpy.dtype(dtype))
                numpy.testing.assert_array_equal(result, numpy.full((2, 3), 6, dtype))

    def test_bfloat16_lives_in_arrays_of_uint16(self):
        one = numpy.array([1.0], numpy.float32).view(numpy.uint32) >> 16
        results = in_threads(self.comms, lambda c: c.allreduce(one.astype(numpy.uint16), dtype="bfloat16"))
        value = (results[0].astype(numpy.uint32) << 16).view(numpy.float32)
        self.assertEqual(value[0], 3.0)

    def test_arrays_of_shared_memory_are_arrays(self):
        def call(comm):
            array = banyan.empty((3, 5), "float64")
            assert array.shape == (3, 5) and array.dtype == numpy.float64 and not array.any()
            array[:] = comm.rank + 1
            view = comm.allreduce(array, out=array)[1:]
            del array
            return view

        for result in in_threads(self.comms, call):
            numpy.testing.assert_array_equal(result, numpy.full((2, 5), 6.0))
        self.assertEqual(banyan.empty(7).dtype, numpy.float32)
        self.assertEqual(banyan.empty((0, 4)).shape, (0, 4))

    def test_shared_memory_lives_as_long_as_a_view_of_it(self):
        before = len(os.listdir("/proc/self/fd"))
        view = banyan.empty(100000)[5:10]
        self.assertEqual(len(os.listdir("/proc/self/fd")), before + 1)
        view[:] = 3
        del view
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_every_op(self):
        expected = {"sum": 6, "prod": 6, "max": 3, "min": 1, "avg": 2}
        for op, value in expected.items():
            results = in_threads(self.comms, lambda c: c.allreduce(numpy.array([c.rank + 1.0]), op=op))
            self.assertEqual([r[0] for r in results], [value] * 3, op)

    def test_out_may_be_the_input_or_not_contiguous(self):
        def call(comm):
            array = numpy.ones((4, 6))
            self.assertIs(comm.allreduce(array, out=array), array)
            wide = numpy.zeros((4, 12))
            comm.allreduce(array[:, ::2], out=wide[:, ::4])
            return array.sum(), wide.sum()

        self.assertEqual(in_threads(self.comms, call), [(72.0, 108.0)] * 3)

    def test_the_other_collectives(self):
        def call(comm):
            rank = float(comm.rank)
            scattered = comm.reduce_scatter(numpy.arange(6.0))
            gathered = comm.all_gather(numpy.array([rank, -rank]))
            told = comm.broadcast(numpy.array([rank]), root=2)
            reduced = comm.reduce(numpy.array([rank]), root=1, op="max")
            comm.barrier()
            return scattered.tolist(), gathered.tolist(), told.tolist(), reduced is not None and reduced.tolist()

        for rank, result in enumerate(in_threads(self.comms, call)):
            parts = [[0.0, 3.0], [6.0, 9.0], [12.0, 15.0]]
            self.assertEqual(result[0], parts[rank])
            self.assertEqual(result[1], [[0.0, 0.0], [1.0, -1.0], [2.0, -2.0]])
            self.assertEqual(result[2], [2.0])
            self.assertEqual(result[3], [2.0] if rank == 1 else False)

    def test_requests_go_on_by_themselves(self):
        def call(comm):
            requests = [comm.allreduce_async(numpy.full(1000, float(i)), op="avg") for i in range(5)]
            return [request.wait(timeout=20)[999] for request in requests]

        self.assertEqual(in_threads(self.comms, call), [[0.0, 1.0, 2.0, 3.0, 4.0]] * 3)

    def test_a_wrong_argument_is_a_sentence_and_has_no_effect(self):
        comm = self.comms[0]
        with self.assertRaisesRegex(banyan.InvalidArgument, "root 7 is not a rank from 0 to 2"):
            comm.broadcast(numpy.ones(1), root=7)
        with self.assertRaisesRegex(banyan.InvalidArgument, "there is no op 'mean'"):
            comm.allreduce(numpy.ones(1), op="mean")
        with self.assertRaisesRegex(banyan.InvalidArgument, "arrays of complex128 cannot be added up"):
            comm.allreduce(numpy.ones(1, complex))
        with self.assertRaisesRegex(ValueError, "out is not an array of shape"):
            comm.allreduce(numpy.ones(2), out=numpy.ones(3))
        with self.assertRaisesRegex(ValueError, "not a multiple of the 3 ranks"):
            comm.reduce_scatter(numpy.ones(4))
        self.assertEqual(in_threads(self.comms, lambda c: c.allreduce(numpy.ones(1))[0]), [3.0] * 3)

    def test_views_that_overlap_are_refused_and_the_group_works_on(self):
        def call(comm):
            base = numpy.ones(12)
            calls = [
                lambda: comm.allreduce(base[:8], out=base[1:9]),
                lambda: comm.allreduce_async(base[1:9], out=base[:8]).wait(timeout=20),
                lambda: comm.reduce(base[:8], out=base[4:], root=comm.rank),
                lambda: comm.reduce_scatter(base[:9], out=base[comm.rank * 3 + 1 :][:3]),
                lambda: comm.all_gather(base[comm.rank * 3 + 1 :][:3], out=base[:9].reshape(3, 3)),
            ]
            for overlaps in calls:
                try:
                    overlaps()
                except banyan.InvalidArgument as error:
                    assert " and shares " in str(error) and "in place" in str(error), error
                else:
                    raise AssertionError("nothing was raised")
            comm.allreduce(base[:6], out=base[6:])
            comm.reduce_scatter(base[6:9], out=base[6 + comm.rank :][:1])
            return base[6 + comm.rank]

        self.assertEqual(in_threads(self.comms, call), [9.0] * 3)

    def test_an_abort_ends_everybodys_calls(self):
        def call(comm):
            if comm.rank == 0:
                comm.abort()
                return comm.failure
            with self.assertRaisesRegex(banyan.RemoteError, "rank 0 aborted"):
                comm.allreduce(numpy.ones(1))

        self.assertIs(in_threads(self.comms, call)[0], banyan.RemoteError)

    def test_a_closed_communicator_says_so(self):
        with banyan.Communicator.init_all(1)[0] as comm:
            comm.barrier()
        with self.assertRaisesRegex(banyan.InvalidArgument, "closed"):
            comm.barrier()
        comm.close()

    def test_a_wrong_config_is_a_sentence(self):
        with self.assertRaisesRegex(banyan.InvalidArgument, "rign"):
            banyan.Communicator.init_all(2, algorithm="rign")
        with self.assertRaisesRegex(banyan.InvalidArgument, "3 ranks do not fit"):
            banyan.Communicator.init_all(3, topology="ring:2")


class Library(unittest.TestCase):
    def test_a_file_that_is_not_there_is_named(self):
        code = "import sys; sys.path.insert(0, sys.argv[1]); import banyan"
        done = subprocess.run(
            [sys.executable, "-c", code, os.path.join(ranks.SOURCE, "bindings", "python")],
            env={**os.environ, "BANYAN_LIBRARY": "/nowhere/libbanyan.so"},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("set BANYAN_LIBRARY", done.stderr)
        self.assertIn("/nowhere/libbanyan.so", done.stderr)

    def test_without_a_launcher_init_says_so(self):
        with self.assertRaises(banyan.InvalidUsage):
            banyan.init()


def processes():
    with banyan.init(timeout=30) as comm:
        total = comm.allreduce(numpy.full(1000, comm.rank + 1.0))
        assert total[0] == 6.0, total
        half = comm.split(comm.rank % 2)
        assert half.allreduce(numpy.ones(1))[0] == half.size
        half.close()
    given = os.path.join(os.path.dirname(os.environ["BANYAN_EXCHANGE"]), "exchange")

    def allgather(mine):  # by files
        rank, size = comm.rank, comm.size
        with open(f"{given}.{rank}.new", "wb") as file:
            file.write(mine)
        os.rename(f"{given}.{rank}.new", f"{given}.{rank}")
        every = []
        for other in range(size):
            while not os.path.exists(f"{given}.{other}"):
                pass
            with open(f"{given}.{other}", "rb") as file:
                every.append(file.read())
        return every

    with banyan.Communicator.init_exchange(comm.size, comm.rank, allgather, timeout=30) as second:
        assert second.allreduce(numpy.ones(1))[0] == 3.0
    try:
        banyan.Communicator.init_exchange(comm.size, comm.rank, lambda mine: 1 / 0)
    except ZeroDivisionError:
        print("what the exchange raises comes through")


def train():
    with banyan.init(timeout=30) as comm:
        sizes = [1000, 30000, 7]
        gradients = [numpy.zeros(size, numpy.float32) for size in sizes]
        with banyan.Trainer(comm, measure_ms=100, profile_iterations=1) as trainer:
            for i, size in enumerate(sizes):
                assert trainer.register(f"layer{i}", size, "float32") == i
            trainer.commit()
            for step in range(8):
                trainer.begin()
                try:
                    trainer.wait(0, timeout=0.01)
                except TimeoutError as error:
                    assert "gradient 0 is not reduced" in str(error), error
                else:
                    raise AssertionError("a gradient was reduced before it was ready")
                for i in reversed(range(3)):
                    gradients[i][:] = comm.rank + step
                    trainer.ready(i, gradients[i].ctypes.data)
                trainer.wait()
                for gradient in gradients:
                    assert gradient[0] == gradient[-1] == step + 1.0, (step, gradient)
            stats = trainer.stats()
            assert stats.plan >= 1 and stats.tensors == 3 and "3 gradients sent in" in str(stats), stats
            assert "groups" in trainer.plan()


class BetweenProcesses(unittest.TestCase):
    def test_groups_and_exchanges(self):
        import tempfile

        with tempfile.TemporaryDirectory() as place:
            output = ranks.on(3, processes, environment={"BANYAN_EXCHANGE": os.path.join(place, "x")})
        self.assertEqual(output.count("what the exchange raises comes through"), 3)

    def test_gradients_are_averaged_as_planned(self):
        ranks.on(3, train)


ranks.main(globals()) if __name__ == "__main__" else None
