# SPDX-License-Identifier: Apache-2.0
"""Gradients of a GPU for the engine, which sums in the host's memory.

    backward's stream   ──gradient──gradient──gradient──
    a stream of ours         └─copy to the host─┐  (page-locked memory, while backward goes on)
    a thread                                    └─ ready(unit) ─> engine
    backward's stream, at the end                                  wait for all ─> copies back

The hook that says a gradient is ready runs long before the GPU has computed it: an event on backward's stream is what
the copy waits for, and another one, behind the copy, is what the thread waits for.
"""

import queue

import torch

from .work import start_thread


class HostCopies:
    """The units of one model, on one GPU."""

    def __init__(self, device, on_ready):
        self._device = device
        self._on_ready = on_ready  # called with a unit's number, when its bytes are in its host memory
        self._stream = torch.cuda.Stream(device)
        self._queue = queue.Queue()
        self._thread = start_thread(self._run, "banyan gradients", lambda: self._queue.put(None))

    def make(self, view, count):
        """(as it lies on the GPU from this view on, its place on the host)."""
        flat = view.detach().as_strided((count,), (1,), view.storage_offset())
        return flat, torch.empty(count, dtype=view.dtype, pin_memory=True)

    def fetch(self, number, flat, host):
        """Called on backward's thread, when what computes the unit has been launched there."""
        with torch.cuda.device(self._device):
            computed = torch.cuda.current_stream().record_event()
            with torch.cuda.stream(self._stream):
                self._stream.wait_event(computed)
                host.copy_(flat, non_blocking=True)
                self._queue.put((number, self._stream.record_event()))

    def wait_until_all_are_ready(self):
        self._queue.join()

    def give_back(self, units):
        """Copies results to where the gradients lie. Done when it returns: futures of ours carry no streams."""
        with torch.cuda.device(self._device):
            for flat, host in units:
                flat.copy_(host, non_blocking=True)
            torch.cuda.current_stream().synchronize()

    def close(self):
        self._queue.put(None)
        self._thread.join()

    def _run(self):
        while True:
            item = self._queue.get()
            if item is not None:
                number, copied = item
                copied.synchronize()
                self._on_ready(number)
            self._queue.task_done()
            if item is None:
                return
