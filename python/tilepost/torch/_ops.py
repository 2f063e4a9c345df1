"""The operations: torch.library definitions, their implementations, what fake tensors get, and autograd."""
from __future__ import annotations

import os
from typing import Optional, Union

import torch
import torch.distributed as dist
import torch.nn.functional as F

from tilepost._errors import Error
from tilepost.torch import _group
from tilepost.torch._group import Layer
from tilepost.torch._weight_gradient import weight_gradient

_library = torch.library.Library("tilepost", "DEF")
_library.define("gemm_all_reduce(Tensor a, Tensor w, Tensor? bias, str group_name) -> Tensor")
_library.define("gemm_reduce_scatter(Tensor a, Tensor w, Tensor? bias, str group_name) -> Tensor")
_library.define("all_gather_gemm(Tensor a, Tensor w, Tensor? bias, str group_name) -> (Tensor, Tensor)")


def _is_transposed(w: torch.Tensor) -> bool:
    """Whether w [n, k] lies in memory as [k, n] row-major, as the transpose of a matrix does."""
    return not w.is_contiguous() and w.t().is_contiguous()


def _check(operation: str, a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor]) -> None:
    """Refuses operands that fit no layer. a is [rows, k], w [n, k], bias [n]."""
    shapes = f"a {tuple(a.shape)}, w {tuple(w.shape)}"
    if a.dim() != 2 or w.dim() != 2 or a.shape[1] != w.shape[1]:
        raise ValueError(f"tilepost.torch.{operation}: {shapes}; expected a [rows, k] and w [n, k]")
    if bias is not None and tuple(bias.shape) != (w.shape[0],):
        raise ValueError(f"tilepost.torch.{operation}: bias {tuple(bias.shape)} with {shapes}; expected "
                         f"[{w.shape[0]}]")
    for name, tensor in (("w", w), ("bias", bias)):
        if tensor is not None and (tensor.dtype != a.dtype or tensor.device != a.device):
            raise ValueError(f"tilepost.torch.{operation}: {name} is {tensor.dtype} on '{tensor.device}', and a is "
                             f"{a.dtype} on '{a.device}'")


def _rows_of_share(operation: str, rows: int, world: int) -> int:
    if rows % world != 0:
        raise ValueError(f"tilepost.torch.{operation}: {rows} rows cannot be divided among {world} ranks; pad a to a "
                         "multiple of them")
    return rows // world


def _world(group_name: str) -> int:
    return _group.resolve(group_name).size()


def _aligned(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as the runtime takes it: contiguous, and beginning at a multiple of 16 bytes."""
    tensor = tensor.contiguous()
    return tensor if tensor.data_ptr() % 16 == 0 else tensor.clone()


def _layer(pattern: str, a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor]) -> Layer:
    layout = "nn" if _is_transposed(w) else "tn"
    return Layer(pattern, w.shape[0], w.shape[1], a.dtype, layout, bias is not None)


def _why_not(operation: str, state: _group.GroupState, layer: Layer, a: torch.Tensor) -> str:
    """Why PyTorch's own operations are used, or "". TILEPOST=off asks for them, TILEPOST=strict refuses them."""
    mode = os.environ.get("TILEPOST", "")
    reason = "TILEPOST=off" if mode == "off" else state.why_not(layer, a.device)
    if reason and mode == "strict":
        raise RuntimeError(f"tilepost.torch.{operation}: {reason}, and TILEPOST=strict allows nothing else")
    if reason and mode != "off":
        _group.warn_once(operation, reason)
    return reason


def _run(operation: str, state: _group.GroupState, layer: Layer, rows: int, a: torch.Tensor, w: torch.Tensor,
         bias: Optional[torch.Tensor], out: torch.Tensor, gathered: Optional[torch.Tensor] = None) -> None:
    """One run of `rows` rows in all."""
    if rows == 0:
        return
    laid = w.t() if layer.layout == "nn" else w
    operands = _aligned(a), _aligned(laid), None if bias is None else _aligned(bias)
    try:
        op = state.op(layer, rows)
        op.run(operands[0], operands[1], out, m=rows, bias=operands[2], gathered=gathered)
        op.synchronize()
    except Error as error:
        _group.fail(operation, error, a=a.shape, w=w.shape)


def _first_bias(state: _group.GroupState, bias: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
    """A bias is added once to a sum over ranks: by rank 0."""
    return bias if state.rank == 0 else None


def _gemm_all_reduce(a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor], group_name: str) -> torch.Tensor:
    _check("gemm_all_reduce", a, w, bias)
    state, layer = _group.state_of(group_name), _layer("gemm_all_reduce", a, w, bias)
    if _why_not("gemm_all_reduce", state, layer, a):
        out = F.linear(a, w, _first_bias(state, bias))
        dist.all_reduce(out, group=_group.resolve(group_name))
        return out
    out = a.new_empty(a.shape[0], w.shape[0])
    _run("gemm_all_reduce", state, layer, a.shape[0], a, w, bias, out)
    return out


def _gemm_reduce_scatter(a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor],
                         group_name: str) -> torch.Tensor:
    _check("gemm_reduce_scatter", a, w, bias)
    state, layer = _group.state_of(group_name), _layer("gemm_reduce_scatter", a, w, bias)
    out = a.new_empty(_rows_of_share("gemm_reduce_scatter", a.shape[0], state.world), w.shape[0])
    if _why_not("gemm_reduce_scatter", state, layer, a):
        dist.reduce_scatter_tensor(out, F.linear(a, w, _first_bias(state, bias)), group=_group.resolve(group_name))
        return out
    _run("gemm_reduce_scatter", state, layer, a.shape[0], a, w, bias, out)
    return out


def _all_gather_gemm(a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor],
                     group_name: str) -> tuple[torch.Tensor, torch.Tensor]:
    _check("all_gather_gemm", a, w, bias)
    state, layer = _group.state_of(group_name), _layer("all_gather_gemm", a, w, bias)
    rows = a.shape[0] * state.world
    gathered = a.new_empty(rows, a.shape[1])
    if _why_not("all_gather_gemm", state, layer, a):
        dist.all_gather_into_tensor(gathered, a.contiguous(), group=_group.resolve(group_name))
        return F.linear(gathered, w, bias), gathered
    out = a.new_empty(rows, w.shape[0])
    _run("all_gather_gemm", state, layer, rows, a, w, bias, out, gathered)
    return out, gathered


_IMPLEMENTATIONS = {"gemm_all_reduce": _gemm_all_reduce, "gemm_reduce_scatter": _gemm_reduce_scatter,
                    "all_gather_gemm": _all_gather_gemm}
for _name, _implementation in _IMPLEMENTATIONS.items():
    for _key in ("CPU", "CUDA"):
        _library.impl(_name, _implementation, _key)


@torch.library.register_fake("tilepost::gemm_all_reduce")
def _(a, w, bias, group_name):
    _check("gemm_all_reduce", a, w, bias)
    return a.new_empty(a.shape[0], w.shape[0])


@torch.library.register_fake("tilepost::gemm_reduce_scatter")
def _(a, w, bias, group_name):
    _check("gemm_reduce_scatter", a, w, bias)
    return a.new_empty(_rows_of_share("gemm_reduce_scatter", a.shape[0], _world(group_name)), w.shape[0])


@torch.library.register_fake("tilepost::all_gather_gemm")
def _(a, w, bias, group_name):
    _check("all_gather_gemm", a, w, bias)
    rows = a.shape[0] * _world(group_name)
    return a.new_empty(rows, w.shape[0]), a.new_empty(rows, a.shape[1])


def _bias_gradient(wanted: bool, rows: torch.Tensor) -> Optional[torch.Tensor]:
    return rows.sum(0) if wanted else None


class _GemmAllReduce(torch.autograd.Function):
    """y = sum over ranks of a w^T. Each rank has all of y, and so of its gradient."""

    @staticmethod
    def forward(ctx, a, w, bias, group_name):
        ctx.save_for_backward(a, w)
        return torch.ops.tilepost.gemm_all_reduce(a, w, bias, group_name)

    @staticmethod
    def backward(ctx, dy):
        a, w = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return (dy @ w if needs[0] else None, weight_gradient(w, dy, a) if needs[1] else None,
                _bias_gradient(needs[2], dy), None)


class _GemmReduceScatter(torch.autograd.Function):
    """y = this rank's rows of the sum of a w^T. The gradients of all ranks' rows are gathered, once for both uses."""

    @staticmethod
    def forward(ctx, a, w, bias, group_name):
        ctx.save_for_backward(a, w)
        ctx.group_name = group_name
        return torch.ops.tilepost.gemm_reduce_scatter(a, w, bias, group_name)

    @staticmethod
    def backward(ctx, dy):
        a, w = ctx.saved_tensors
        needs = ctx.needs_input_grad
        da, gathered = torch.ops.tilepost.all_gather_gemm(dy.contiguous(), w.t(), None, ctx.group_name)
        return (da if needs[0] else None, weight_gradient(w, gathered, a) if needs[1] else None,
                _bias_gradient(needs[2], gathered), None)


class _AllGatherGemm(torch.autograd.Function):
    """y = all ranks' rows of a, times w^T, and these rows."""

    @staticmethod
    def forward(ctx, a, w, bias, group_name):
        y, gathered = torch.ops.tilepost.all_gather_gemm(a, w, bias, group_name)
        ctx.save_for_backward(gathered, w)
        ctx.group_name = group_name
        ctx.mark_non_differentiable(gathered)
        return y, gathered

    @staticmethod
    def backward(ctx, dy, _):
        gathered, w = ctx.saved_tensors
        needs = ctx.needs_input_grad
        da = None
        if needs[0]:
            da = torch.ops.tilepost.gemm_reduce_scatter(dy.contiguous(), w.t(), None, ctx.group_name)
        return da, weight_gradient(w, dy, gathered) if needs[1] else None, _bias_gradient(needs[2], dy), None


Group = Union[dist.ProcessGroup, str, None]


def _as_rows(a: torch.Tensor) -> torch.Tensor:
    return a if a.dim() == 2 else a.reshape(-1, a.shape[-1])


def gemm_all_reduce(a: torch.Tensor, w: torch.Tensor, *, group: Group = None,
                    bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    """The sum over ranks of a w^T, on all ranks: a [..., k], w [n, k], result [..., n]. `bias` [n] is added once, that
    of rank 0. `w` may be the transpose of a matrix."""
    y = _GemmAllReduce.apply(_as_rows(a), w, bias, _group.name_of(group))
    return y if a.dim() == 2 else y.reshape(*a.shape[:-1], w.shape[0])


def gemm_reduce_scatter(a: torch.Tensor, w: torch.Tensor, *, group: Group = None,
                        bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    """This rank's rows of the sum over ranks of a w^T: a [m, k], w [n, k], result [m / ranks, n]. More dimensions of a
    are flattened. `bias` [n] is added once, that of rank 0; its gradient is that of all rows."""
    return _GemmReduceScatter.apply(_as_rows(a), w, bias, _group.name_of(group))


def all_gather_gemm(a: torch.Tensor, w: torch.Tensor, *, group: Group = None, bias: Optional[torch.Tensor] = None,
                    return_gathered: bool = False) -> Union[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """All ranks' rows of a, times w^T: a [m / ranks, k], w [n, k], result [m, n]. More dimensions of a are flattened.
    With `return_gathered` also these rows, [m, k], through which no gradient goes."""
    y, gathered = _AllGatherGemm.apply(_as_rows(a), w, bias, _group.name_of(group))
    return (y, gathered) if return_gathered else y
