"""Eager calls on GPUs like calls before. What serves them is found once, so that a call costs the host little: every
line of run() is paid for in each of them."""
from __future__ import annotations

import os
from typing import Any, NamedTuple, Optional

import torch
import torch.distributed as dist

from tilepost._errors import Error
from tilepost.torch import _group
from tilepost.torch._group import GroupState, Layer

Tensor = torch.Tensor

_PLAIN_TYPES = torch.Tensor, torch.nn.Parameter
_MOST_READY = 4096  # kinds of calls in a group; with more the oldest are looked up again

# The environment as the system has it. Where a variable is not set, os.environ.get raises and catches errors inside, for
# as long as a third of all the rest takes.
_environment = getattr(os.environ, "_data", None) if os.name == "posix" else None
# What code that inductor writes allocates with, on the current device: without the detour of Tensor.new_empty.
_empty_on_current_device = getattr(torch._C._dynamo.guards, "_empty_strided_cuda", None)
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def is_off() -> bool:
    """Whether TILEPOST=off asks for PyTorch's own operations."""
    if _environment is not None:
        return _environment.get(b"TILEPOST") == b"off"
    return os.environ.get("TILEPOST") == "off"


class Shape(NamedTuple):
    """Of a result, row-major."""
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def shape_of(*sizes: int) -> Shape:
    """The shape with these sizes."""
    strides, stride = [], 1
    for size in reversed(sizes):
        strides.append(stride)
        stride *= size
    return Shape(sizes, tuple(reversed(strides)))


class Ready:
    """What serves calls of one kind."""
    __slots__ = ("layer", "rows", "served", "run", "out", "gathered", "dtype", "device", "index")

    def __init__(self, state: GroupState, layer: Layer, rows: int, out: Shape, gathered: Optional[Shape]) -> None:
        assert state.device is not None
        self.layer, self.rows, self.out, self.gathered = layer, rows, out, gathered
        self.served = state.served(layer, rows)
        self.run = self.served.op.prepared(rows)
        self.dtype, self.device, self.index = layer.dtype, state.device, state.device.index

    def reshaped(self, leading: tuple[int, ...]) -> Ready:
        """The same with a result of so many rows in other dimensions."""
        other = object.__new__(Ready)
        for name in Ready.__slots__:
            setattr(other, name, getattr(self, name))
        other.out = shape_of(*leading, self.out.sizes[-1])
        return other

    def empty(self, shape: Shape) -> Tensor:
        """Memory for a result."""
        if _empty_on_current_device is None or torch._C._cuda_getDevice() != self.index:
            return torch.empty(shape.sizes, dtype=self.dtype, device=self.device)
        return _empty_on_current_device(shape.sizes, shape.strides, self.dtype)


# What sums are added to, and how they are normalised: residual, weight, epsilon.
Norm = tuple[Tensor, Tensor, float]


def _of(tensor: Tensor) -> Any:
    return type(tensor), tensor.shape, tensor.stride(), tensor.dtype, tensor.get_device()


def _kind(operation: str, a: Tensor, w: Tensor, bias: Optional[Tensor], norm: Optional[Norm] = None) -> Any:
    """All that decides how a call without scales is served in a group, but for what run() looks at itself."""
    kind = operation, a.shape, w.shape, w.stride(), a.dtype, w.dtype, a.get_device(), w.get_device()
    if bias is None and norm is None:
        return kind
    return kind, None if bias is None else _of(bias), None if norm is None else (_of(norm[0]), _of(norm[1]))


def _flat(tensor: Tensor) -> Tensor:
    return tensor.view(-1, tensor.shape[-1])


def _find(state: GroupState, operation: str, a: Tensor, w: Tensor, bias: Optional[Tensor],
          norm: Optional[Norm] = None) -> Optional[Ready]:
    """What serves a call. Operations are called with two dimensions, and remembered with them. The result of a sum that
    all ranks get has the others of a, and that of a norm those of the residual."""
    kind = _kind(operation, a, w, bias, norm)
    ready = state.ready.get(kind)
    if ready is None and a.dim() > 2 and a.is_contiguous() and (norm is None or norm[0].is_contiguous()):
        flat_norm = None if norm is None else (_flat(norm[0]), *norm[1:])
        ready = state.ready.get(_kind(operation, _flat(a), w, bias, flat_norm))
        if ready is not None and (norm is not None or operation == "gemm_all_reduce"):
            ready = ready.reshaped((a if norm is None else norm[0]).shape[:-1])
        if ready is not None:
            _put(state, kind, ready)
    return ready


def _put(state: GroupState, kind: Any, ready: Ready) -> None:
    if len(state.ready) >= _MOST_READY:
        state.ready.pop(next(iter(state.ready)))
    state.ready[kind] = ready


def run(operation: str, a: Tensor, w: Tensor, bias: Optional[Tensor], group: _group.Group,
        gathers: bool = True, norm: Optional[Norm] = None) -> Optional[tuple[Tensor, Optional[Tensor]]]:
    """A run on a GPU like one before, with its out and, if `gathers`, its gathered rows. None where there was none like
    that, where autograd, a compiler, a mode or a kind of tensors of its own looks at the call, or where an operand has
    to be copied first."""
    if torch.compiler.is_compiling() or type(a) not in _PLAIN_TYPES or type(w) not in _PLAIN_TYPES or not a.is_cuda or \
            torch._C._len_torch_dispatch_stack() != 0:
        return None
    if torch.is_grad_enabled() and (a.requires_grad or w.requires_grad or bias is not None and bias.requires_grad):
        return None
    state = _group.state_of_call(group)
    ready = _find(state, operation, a, w, bias, norm)
    if ready is None or not a.is_contiguous() or is_off():
        return None
    a_at, w_at, bias_at = a.data_ptr(), w.data_ptr(), 0 if bias is None else bias.data_ptr()
    norm_at = None if norm is None else (norm[0].data_ptr(), norm[1].data_ptr(), norm[2])
    if (a_at | w_at | bias_at) & 15 or norm_at is not None and (norm_at[0] | norm_at[1]) & 15:
        return None
    out = ready.empty(ready.out)
    gathered = ready.empty(ready.gathered) if gathers and ready.gathered is not None else None
    try:
        stream = _current_stream(ready.index)
        if stream != state.last_stream:
            stream = state.stream_of_run(ready.layer, ready.served, ready.rows)
        ready.run(a_at, w_at, out.data_ptr(), stream, bias_at, 0 if gathered is None else gathered.data_ptr(), norm_at)
    except Error as error:
        _group.fail(operation, error, a=a.shape, w=w.shape)
    return out, gathered


def call(operation: str, a: Tensor, w: Tensor, bias: Optional[Tensor],
         group_name: str) -> tuple[Tensor, Optional[Tensor]]:
    """An operation's out and gathered rows: by run(), or by the operation itself."""
    again = run(operation, a, w, bias, group_name)
    if again is not None:
        return again
    result = getattr(torch.ops.tilepost, operation)(a, w, bias, group_name)
    return result if isinstance(result, tuple) else (result, None)


def remember(operation: str, state: GroupState, layer: Layer, rows: int, a: Tensor, w: Tensor, bias: Optional[Tensor],
             out: Tensor, gathered: Optional[Tensor] = None, norm: Optional[Norm] = None) -> None:
    """Lets run() serve calls like this one, which has run, with results like these."""
    others = [bias, *(norm or ())[:2]]
    has_copies = layer.layout == "tn" and not w.is_contiguous() or \
        any(each is not None and not each.is_contiguous() for each in others)
    if not a.is_cuda or rows == 0 or has_copies or layer.scales or out.dtype != layer.dtype:
        return
    rows_apart = None if gathered is None else shape_of(*gathered.shape)
    _put(state, _kind(operation, a, w, bias, norm), Ready(state, layer, rows, shape_of(*out.shape), rows_apart))
