# SPDX-License-Identifier: Apache-2.0
"""Collectives on CUDA tensors in stream order: the host waits for nothing.

    the caller's stream   ──computes──┐                       ┌──wait()──uses the result──
    a stream of the group             └──collective──event────┘

The group's own stream lets communication overlap with what the caller computes next. The calls have communicators of
their own, since they are made by the caller's thread and all others by the group's: one for all-reduce, which may go
from GPU to GPU, and one for what always goes by way of the host, so that neither has to wait for the other's calls.
"""

import os

import torch
from torch._C._distributed_c10d import Work

from .tensors import bytes_of, sum_type
from .work import make_future, remember


def fits(tensors):
    """Whether the library can take them where they lie: dense CUDA tensors of one device without gaps. Where it is told to leave
    GPUs alone they go through the group's thread, as CPU tensors do, so that ranks may have either."""
    return (
        bool(tensors)
        and os.environ.get("BANYAN_GPU") != "off"
        and all(tensor.is_cuda and tensor.layout == torch.strided and tensor.is_contiguous() for tensor in tensors)
        and len({tensor.device for tensor in tensors}) == 1
    )


class StreamWork(Work):
    """Calls that a stream does. wait() makes the current stream wait, not the host."""

    def __init__(self, lane, communicator, outputs, event):
        super().__init__()
        self._lane = lane
        self._communicator = communicator
        self._outputs = outputs
        self._event = event
        remember(self)

    def _check(self):
        failure = self._communicator.find_failure()
        if failure is not None:
            raise failure

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
        return self.is_completed() and self._communicator.failure is None

    def exception(self):
        return self._communicator.find_failure()

    def result(self):
        self.wait()
        return self._outputs


class StreamLane:
    """The stream and the communicators of one process group on one device."""

    def __init__(self, communicator, device):
        self.communicator = communicator
        self.device = device
        self.stream = torch.cuda.Stream(device)
        self._staged = None  # made by the first call that needs it, at the same place on every rank

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
        return StreamWork(self, self.communicator, tensors, self.stream.record_event())

    def _call(self, tensors, outputs, call):
        """call(communicator, (device, stream)) with tensors that are whole and lie on the device."""
        if self._staged is None:
            self._staged = self.communicator.split(0, self.communicator.rank)
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.stream):
            call(self._staged, (self.device.index, self.stream.cuda_stream))
        for tensor in tensors:
            tensor.record_stream(self.stream)
        return StreamWork(self, self._staged, outputs, self.stream.record_event())

    def broadcast(self, tensor, root):
        address = tensor.data_ptr()
        return self._call(
            [tensor],
            [tensor],
            lambda comm, where: comm.broadcast_on_at(address, address, bytes_of(tensor), "uint8", root, where),
        )

    def reduce(self, tensor, op, root):
        address, (datatype, how, width) = tensor.data_ptr(), sum_type(tensor, op)
        return self._call(
            [tensor],
            [tensor],
            lambda comm, where: comm.reduce_on_at(
                address, address, tensor.numel() * width, datatype, how, root, where
            ),
        )

    def all_gather(self, parts, source, given):
        """parts: one tensor for all ranks' parts, or one for each."""

        def call(comm, where):
            into = parts[0] if len(parts) == 1 else source.new_empty((len(parts), *source.shape))
            comm.all_gather_on_at(source.data_ptr(), into.data_ptr(), bytes_of(source), "uint8", where)
            for number, part in enumerate(parts if len(parts) > 1 else []):
                part.copy_(into[number].view(part.shape), non_blocking=True)

        return self._call([*parts, source], given, call)

    def reduce_scatter(self, output, parts, op):
        """parts: one tensor with a part for every rank, or one for each."""
        datatype, how, width = sum_type(output, op)

        def call(comm, where):
            source = parts[0] if len(parts) == 1 else torch.cat([part.reshape(-1) for part in parts])
            comm.reduce_scatter_on_at(
                source.data_ptr(), output.data_ptr(), output.numel() * width, datatype, how, where
            )

        return self._call([*parts, output], [output], call)

    def all_to_all(self, output, source, size):
        count = bytes_of(source) // size
        return self._call(
            [output, source],
            output,
            lambda comm, where: comm.all_to_all_on_at(source.data_ptr(), output.data_ptr(), count, "uint8", where),
        )

    @property
    def communicators(self):
        return [self.communicator] if self._staged is None else [self.communicator, self._staged]

    def set_timeout(self, timeout):
        for one in self.communicators:
            one.set_timeout(timeout)

    def close(self):
        for one in reversed(self.communicators):
            one.close()
