# SPDX-License-Identifier: Apache-2.0
"""All-reduce of CUDA tensors in stream order: no thread of ours, and the host waits for nothing.

    the caller's stream   ──computes──┐                       ┌──wait()──uses the result──
    a stream of the group             └──all-reduce──event────┘

The group's own stream lets communication overlap with what the caller computes next. The calls have a communicator of
their own, since they are made by the caller's thread and all others by the group's.
"""

import torch
from torch._C._distributed_c10d import Work

from .tensors import sum_type
from .work import make_future, remember


def fits(tensors):
    """Whether the library can take them where they lie: dense CUDA tensors of one device without gaps."""
    return (
        bool(tensors)
        and all(tensor.is_cuda and tensor.layout == torch.strided and tensor.is_contiguous() for tensor in tensors)
        and len({tensor.device for tensor in tensors}) == 1
    )


class StreamWork(Work):
    """Calls that a stream does. wait() makes the current stream wait, not the host."""

    def __init__(self, lane, outputs, event):
        super().__init__()
        self._lane = lane
        self._outputs = outputs
        self._event = event
        remember(self)

    def _check(self):
        failure = self._lane.communicator.failure
        if failure is not None:
            raise failure("the group has failed while a stream was in an all-reduce; its other calls say why")

    def wait(self, timeout=None):
        self._check()
        torch.cuda.current_stream(self._lane.device).wait_event(self._event)
        return True

    def synchronize(self):
        self.wait()

    def get_future(self):
        future = make_future(self._outputs)
        with torch.cuda.stream(self._lane.stream):
            self._lane.stream.wait_event(self._event)
            future.set_result(self._outputs)
        return future

    def is_completed(self):
        return self._event.query()

    def is_success(self):
        return self.is_completed() and self._lane.communicator.failure is None

    def exception(self):
        failure = self._lane.communicator.failure
        return None if failure is None else failure("the group has failed")

    def result(self):
        self.wait()
        return self._outputs


class StreamLane:
    """The stream and the communicator of one process group on one device."""

    def __init__(self, communicator, device):
        self.communicator = communicator
        self.device = device
        self.stream = torch.cuda.Stream(device)

    def allreduce(self, tensors, op):
        kinds = [sum_type(tensor, op) for tensor in tensors]
        current = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(current)
        for tensor, (datatype, how, width) in zip(tensors, kinds):
            address = tensor.data_ptr()
            self.communicator.allreduce_on_at(
                address, address, tensor.numel() * width, datatype, how, self.device.index, self.stream.cuda_stream
            )
            tensor.record_stream(self.stream)
        return StreamWork(self, tensors, self.stream.record_event())

    def close(self):
        self.communicator.close()
