# SPDX-License-Identifier: Apache-2.0
"""Tensors as the library sees them: an address, a count and a datatype.

What is moved and not added up travels as bytes, so every dtype will do. Tensors that are not contiguous are copied,
and copied back when the call is done; so are those of a GPU, by way of page-locked memory.
"""

import torch

from ..errors import Unsupported

_SUMS = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int8: "int8",
    torch.uint8: "uint8",
}
_COMPLEX = {torch.complex64: "float32", torch.complex128: "float64"}
_OPS = {"SUM": "sum", "AVG": "avg", "PRODUCT": "prod", "MIN": "min", "MAX": "max"}
_BOOL_OPS = {"sum": "max", "max": "max", "prod": "min", "min": "min"}


def check_tensor(tensor):
    if tensor.is_sparse or tensor.layout != torch.strided:
        raise Unsupported("the backend banyan has no sparse tensors; DDP: use dense gradients")
    if tensor.device.type not in ("cpu", "cuda"):
        raise Unsupported(f"the backend banyan has CPU and CUDA tensors, not {tensor.device}; copy them with .cpu()")
    return tensor


def op_name(op):
    """Of a ReduceOp in any of the forms that torch gives it: an enum, or an object that wraps one."""
    for name, ours in _OPS.items():
        if op == getattr(torch.distributed.ReduceOp, name):
            return ours
    others = ("BAND", "BOR", "BXOR", "PREMUL_SUM", "UNUSED")
    known = torch.distributed.ReduceOp
    found = [name for name in others if hasattr(known, name) and op == getattr(known, name)]
    raise Unsupported(f"the backend banyan has sum, avg, product, min and max, not {found[0] if found else op}")


def sum_type(tensor, op):
    """(datatype, op, elements a tensor element) with which its values are combined."""
    if tensor.dtype in _SUMS:
        return _SUMS[tensor.dtype], op, 1
    if tensor.dtype in _COMPLEX and op in ("sum", "avg"):
        return _COMPLEX[tensor.dtype], op, 2
    if tensor.dtype == torch.bool and op in _BOOL_OPS:
        return "uint8", _BOOL_OPS[op], 1
    raise Unsupported(f"the backend banyan cannot combine {tensor.dtype} by {op}")


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


class Flat:
    """Several tensors, or one, as one contiguous stretch of the host's memory; one that is such a stretch is used where
    it lies. What the caller's CUDA streams are to do with the tensors before is waited for, and copies are done when
    they return: whoever has waited for the call may use its results on any stream."""

    def __init__(self, tensors, is_read):
        self.tensors = [check_tensor(tensor) for tensor in tensors]
        first = self.tensors[0]
        devices = {tensor.device for tensor in self.tensors if tensor.is_cuda}
        self._earlier = [torch.cuda.current_stream(device).record_event() for device in devices]
        if len(self.tensors) == 1 and first.is_contiguous() and not devices:
            self.memory = first
            self.is_copy = False
            return
        if any(tensor.dtype != first.dtype for tensor in self.tensors):
            raise Unsupported("the tensors of one call have different dtypes")
        self.is_copy = True
        count = sum(tensor.numel() for tensor in self.tensors)
        self.memory = torch.empty(count, dtype=first.dtype, pin_memory=bool(devices))
        self.is_read = is_read

    def _wait_for_streams(self):
        for event in self._earlier:
            event.synchronize()

    def load(self):
        """Called when it is this call's turn."""
        self._wait_for_streams()
        if self.is_copy and self.is_read:
            at = 0
            with torch.no_grad():
                for tensor in self.tensors:
                    self.memory[at : at + tensor.numel()].copy_(tensor.detach().reshape(-1))
                    at += tensor.numel()
        return self

    def store(self):
        self._wait_for_streams()
        if self.is_copy:
            at = 0
            with torch.no_grad():
                for tensor in self.tensors:
                    tensor.detach().copy_(self.memory[at : at + tensor.numel()].view(tensor.shape))
                    at += tensor.numel()

    @property
    def address(self):
        return self.memory.data_ptr()

    @property
    def count(self):
        return self.memory.numel()

    @property
    def bytes(self):
        return bytes_of(self.memory)
