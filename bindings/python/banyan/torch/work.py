# SPDX-License-Identifier: Apache-2.0
"""Work that goes on: one thread a process group, which makes the calls in the order in which they came, and the Work
objects and futures that torch looks at.

Two traps of torch lie here. A Work made from a future says that all went well, whatever the future says; so Work is
a class of ours, whose wait() raises. But C++ keeps only its own half of a Python object, and waits for ever once
the other half is gone; so every Work is remembered for a while. It does not keep tensors alive for so long: once
nobody in Python holds a Work that is done, its outputs become weak references.
"""

import collections
import sys
import threading
import time
import weakref

import torch
from torch._C._distributed_c10d import Work

_REMEMBERED = 8192  # more than C++ ever leaves unwaited for

_recent = collections.deque(maxlen=_REMEMBERED)
_lock = threading.Lock()
_with_outputs = []  # those of them that hold their outputs
_threads = {}  # that run, with what tells them to end


def start_thread(run, name, stop):
    """A thread that end_threads() ends. Where one comes back from torch's C++ while the interpreter shuts down, Python ends
    it there, in the middle of C++, and that aborts the process."""

    def run_and_forget():
        try:
            run()
        finally:
            _threads.pop(thread, None)

    thread = threading.Thread(target=run_and_forget, name=name, daemon=True)
    _threads[thread] = stop
    thread.start()
    return thread


def end_threads(seconds):
    """Waits so long at most: a call whose other ranks do not come may take its time-out."""
    until = time.monotonic() + seconds
    for stop in list(_threads.values()):
        stop()
    for thread in list(_threads):
        thread.join(max(0, until - time.monotonic()))


def remember(work):
    """Keeps the Python half of a Work that C++ may hold."""
    with _lock:
        _recent.append(work)


def _let_go_of_outputs():
    """Of works that are done and that only this file holds: the two lists, the loop and the question make four."""
    kept = []
    for work in _with_outputs:
        if work._is_done and sys.getrefcount(work) <= 4:
            work._outputs = _weak(work._outputs)
        else:
            kept.append(work)
    _with_outputs[:] = kept


def _weak(value):
    if isinstance(value, torch.Tensor):
        return weakref.ref(value)
    return [_weak(one) for one in value] if isinstance(value, (list, tuple)) else value


def _strong(value):
    if isinstance(value, weakref.ref):
        return value()  # None, when nobody has wanted it for long
    return [_strong(one) for one in value] if isinstance(value, list) else value


def _devices(value):
    """The GPUs that tensors lie on: a future must know them."""
    if isinstance(value, torch.Tensor):
        return {value.device} if value.is_cuda else set()
    return set().union(*map(_devices, value)) if isinstance(value, (list, tuple)) else set()


def make_future(outputs):
    devices = _devices(outputs)
    return torch.futures.Future(devices=sorted(devices, key=str)) if devices else torch.futures.Future()


class BanyanWork(Work):
    """A call that Python and C++ can wait for."""

    def __init__(self, outputs, changed):
        super().__init__()
        self._outputs = outputs
        self._changed = changed  # the group's condition
        self._is_done = False
        self._error = None
        self._futures = []
        with _lock:
            _let_go_of_outputs()
            _with_outputs.append(self)
            _recent.append(self)

    # The thread's.

    def finish(self, error):
        with self._changed:
            self._error = error
            self._is_done = True
            futures, self._futures = self._futures, []
            self._changed.notify_all()
        for future in futures:
            future.set_result(None)

    # torch's.

    def wait(self, timeout=None):
        seconds = timeout.total_seconds() if timeout else 0
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_done, seconds if seconds > 0 else None):
                raise TimeoutError(f"the collective is not done after {seconds} s")
        if self._error is not None:
            raise self._error
        return True

    def get_future(self):
        """Of the output tensors. What goes wrong is raised in a callback: C++ would take an exception that is set
        as a result for a value, and crash."""
        outputs = _strong(self._outputs)
        begun = make_future(outputs)

        def give(_):
            if self._error is not None:
                raise self._error
            return outputs

        future = begun.then(give)
        with self._changed:
            if not self._is_done:
                self._futures.append(begun)
                return future
        begun.set_result(None)
        return future

    def is_completed(self):
        return self._is_done

    def is_success(self):
        return self._is_done and self._error is None

    def exception(self):
        return self._error

    def result(self):
        self.wait()
        return _strong(self._outputs)

    def synchronize(self):
        self.wait()


class CombinedWork(Work):
    """Several calls that are waited for as one."""

    def __init__(self, works):
        super().__init__()
        self._works = list(works)
        remember(self)

    def wait(self, timeout=None):
        for work in self._works:
            work.wait(timeout) if timeout else work.wait()
        return True

    def synchronize(self):
        self.wait()

    def get_future(self):
        """Of a list with the outputs of each call."""
        gathered = torch.futures.collect_all([work.get_future() for work in self._works])
        return gathered.then(lambda done: [future.value() for future in done.value()])

    def is_completed(self):
        return all(work.is_completed() for work in self._works)

    def is_success(self):
        return all(work.is_success() for work in self._works)

    def exception(self):
        return next((work.exception() for work in self._works if work.is_completed() and not work.is_success()), None)

    def result(self):
        return [work.result() for work in self._works]


class Worker:
    """The thread. It starts with the first call and ends with stop(), or with the program."""

    def __init__(self, name):
        self._name = name
        self._changed = threading.Condition()
        self._calls = collections.deque()
        self._thread = None
        self._is_ending = False
        self._is_calling = False
        self.sequence = 0  # of the last collective
        self.uses_streams = False  # the last one was on CUDA tensors in the order of a stream

    def next_sequence(self):
        self.sequence += 1
        return self.sequence

    def submit(self, call, outputs):
        """call() is made when all before it are done; outputs are the tensors that it fills."""
        work = BanyanWork(outputs, self._changed)
        with self._changed:
            if self._is_ending:
                raise RuntimeError("the process group has been destroyed")
            self._calls.append((call, outputs, work))
            if self._thread is None:
                self._thread = start_thread(self._run, self._name, lambda: self.stop(wait=False))
            self._changed.notify_all()
        return work

    def run(self, call):
        """The same, waited for; what call() returns."""
        result = []
        self.submit(lambda: result.append(call()), None).wait()
        return result[0]

    @property
    def is_busy(self):
        """A call is being made, or waits to be."""
        return self._is_calling or bool(self._calls)

    def stop(self, wait=True):
        """No more calls; waits for those that were submitted, or ends them: nobody must wait for ever."""
        dropped = []
        with self._changed:
            self._is_ending = True
            if not wait:
                dropped = [work for _, _, work in self._calls]
                self._calls.clear()
            self._changed.notify_all()
        for work in dropped:
            work.finish(RuntimeError("the process group has been destroyed"))
        if wait and self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self):
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._calls or self._is_ending)
                if not self._calls:
                    return
                call, outputs, work = self._calls.popleft()
                self._is_calling = True
            error = None
            try:
                call()
            except BaseException as problem:
                error = problem
            self._is_calling = False
            work.finish(error)
            del call, outputs, work, error  # tensors are not kept while nothing is to do
