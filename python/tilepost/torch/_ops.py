"""The operations with equal shares: torch.library definitions, implementations, what fake tensors get, and autograd."""
from __future__ import annotations

from typing import Optional, Union

import torch

from tilepost.torch import _again, _group, _plain, _run
from tilepost.torch._group import Group
from tilepost.torch._weight_gradient import weight_gradient

_library = torch.library.Library("tilepost", "DEF")
_SCALES = "Tensor? scale_a=None, Tensor? scale_b=None"
_library.define(f"gemm_all_reduce(Tensor a, Tensor w, Tensor? bias, str group_name, {_SCALES}) -> Tensor")
_library.define(f"gemm_reduce_scatter(Tensor a, Tensor w, Tensor? bias, str group_name, {_SCALES}) -> Tensor")
_library.define(f"all_gather_gemm(Tensor a, Tensor w, Tensor? bias, str group_name, {_SCALES}) -> (Tensor, Tensor)")


def _world(group_name: str) -> int:
    return _group.resolve(group_name).size()


def _first_bias(state: _group.GroupState, bias: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
    """A bias is added once to a sum over ranks: by rank 0."""
    return bias if state.rank == 0 else None


def _gemm_all_reduce(a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor], group_name: str,
                     scale_a: Optional[torch.Tensor] = None, scale_b: Optional[torch.Tensor] = None) -> torch.Tensor:
    operation = "gemm_all_reduce"
    again = _again.run(operation, a, w, bias, group_name) if scale_a is None and scale_b is None else None
    if again is not None:
        return again[0]
    _run.check(operation, a, w, bias)
    scales = _run.scales_of(operation, a, w, scale_a, scale_b, a.shape[0])
    state, layer = _group.state_of(group_name), _run.layer_of(operation, a, w, bias, scales)
    if _run.uses_plain(operation, state, layer, a):
        return _plain.sum_over_ranks(state, _plain.product(a, w, _first_bias(state, bias), scale_a, scale_b))
    out = a.new_empty(a.shape[0], w.shape[0], dtype=_run.out_dtype(a))
    _run.run(operation, state, layer, a.shape[0], a, w, out, bias=bias, scale_a=scale_a, scale_b=scale_b)
    _again.remember(operation, state, layer, a.shape[0], a, w, bias, out)
    return out


def _gemm_reduce_scatter(a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor], group_name: str,
                         scale_a: Optional[torch.Tensor] = None,
                         scale_b: Optional[torch.Tensor] = None) -> torch.Tensor:
    operation = "gemm_reduce_scatter"
    again = _again.run(operation, a, w, bias, group_name) if scale_a is None and scale_b is None else None
    if again is not None:
        return again[0]
    _run.check(operation, a, w, bias)
    scales = _run.scales_of(operation, a, w, scale_a, scale_b, a.shape[0])
    state, layer = _group.state_of(group_name), _run.layer_of(operation, a, w, bias, scales)
    share = _run.rows_of_share(operation, a.shape[0], state.world)
    if _run.uses_plain(operation, state, layer, a):
        return _plain.share_of_sum(state, _plain.product(a, w, _first_bias(state, bias), scale_a, scale_b))
    out = a.new_empty(share, w.shape[0], dtype=_run.out_dtype(a))
    _run.run(operation, state, layer, a.shape[0], a, w, out, bias=bias, scale_a=scale_a, scale_b=scale_b)
    _again.remember(operation, state, layer, a.shape[0], a, w, bias, out)
    return out


def _all_gather_gemm(a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor], group_name: str,
                     scale_a: Optional[torch.Tensor] = None,
                     scale_b: Optional[torch.Tensor] = None) -> tuple[torch.Tensor, torch.Tensor]:
    operation = "all_gather_gemm"
    again = _again.run(operation, a, w, bias, group_name) if scale_a is None and scale_b is None else None
    if again is not None:
        return again
    _run.check(operation, a, w, bias)
    state = _group.state_of(group_name)
    rows = a.shape[0] * state.world
    if scale_a is not None and scale_a.numel() == a.shape[0] and scale_a.numel() not in (1, rows):
        scale_a = _plain.gather(state, scale_a.reshape(-1))  # of this rank's rows, as they are
    scales = _run.scales_of(operation, a, w, scale_a, scale_b, rows)
    layer = _run.layer_of(operation, a, w, bias, scales)
    if _run.uses_plain(operation, state, layer, a):
        gathered = _plain.gather(state, a)
        return _plain.product(gathered, w, bias, scale_a, scale_b), gathered
    gathered = a.new_empty(rows, a.shape[1])
    out = a.new_empty(rows, w.shape[0], dtype=_run.out_dtype(a))
    _run.run(operation, state, layer, rows, a, w, out, bias=bias, gathered=gathered, scale_a=scale_a, scale_b=scale_b)
    _again.remember(operation, state, layer, rows, a, w, bias, out, gathered)
    return out, gathered


_IMPLEMENTATIONS = {"gemm_all_reduce": _gemm_all_reduce, "gemm_reduce_scatter": _gemm_reduce_scatter,
                    "all_gather_gemm": _all_gather_gemm}
for _name, _implementation in _IMPLEMENTATIONS.items():
    for _key in ("CPU", "CUDA"):
        _library.impl(_name, _implementation, _key)


@torch.library.register_fake("tilepost::gemm_all_reduce")
def _(a, w, bias, group_name, scale_a=None, scale_b=None):
    _run.check("gemm_all_reduce", a, w, bias)
    return a.new_empty(a.shape[0], w.shape[0], dtype=_run.out_dtype(a))


@torch.library.register_fake("tilepost::gemm_reduce_scatter")
def _(a, w, bias, group_name, scale_a=None, scale_b=None):
    _run.check("gemm_reduce_scatter", a, w, bias)
    share = _run.rows_of_share("gemm_reduce_scatter", a.shape[0], _world(group_name))
    return a.new_empty(share, w.shape[0], dtype=_run.out_dtype(a))


@torch.library.register_fake("tilepost::all_gather_gemm")
def _(a, w, bias, group_name, scale_a=None, scale_b=None):
    _run.check("all_gather_gemm", a, w, bias)
    rows = a.shape[0] * _world(group_name)
    return a.new_empty(rows, w.shape[0], dtype=_run.out_dtype(a)), a.new_empty(rows, a.shape[1])


def _bias_gradient(wanted: bool, rows: torch.Tensor) -> Optional[torch.Tensor]:
    return rows.sum(0) if wanted else None


class _GemmAllReduce(torch.autograd.Function):
    """y = sum over ranks of a w^T. Each rank has all of y, and so of its gradient."""

    @staticmethod
    def forward(ctx, a, w, bias, group_name):
        ctx.save_for_backward(a, w)
        return _again.call("gemm_all_reduce", a, w, bias, group_name)[0]

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
        return _again.call("gemm_reduce_scatter", a, w, bias, group_name)[0]

    @staticmethod
    def backward(ctx, dy):
        a, w = ctx.saved_tensors
        needs = ctx.needs_input_grad
        da, gathered = _again.call("all_gather_gemm", dy.contiguous(), w.t(), None, ctx.group_name)
        return (da if needs[0] else None, weight_gradient(w, gathered, a) if needs[1] else None,
                _bias_gradient(needs[2], gathered), None)


class _AllGatherGemm(torch.autograd.Function):
    """y = all ranks' rows of a, times w^T, and these rows."""

    @staticmethod
    def forward(ctx, a, w, bias, group_name):
        y, gathered = _again.call("all_gather_gemm", a, w, bias, group_name)
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
            da = _again.call("gemm_reduce_scatter", dy.contiguous(), w.t(), None, ctx.group_name)[0]
        return da, weight_gradient(w, dy, gathered) if needs[1] else None, _bias_gradient(needs[2], dy), None


def as_rows(a: torch.Tensor) -> torch.Tensor:
    """a with its dimensions but the last flattened."""
    return a if a.dim() == 2 else a.reshape(-1, a.shape[-1])


def gemm_all_reduce(a: torch.Tensor, w: torch.Tensor, *, group: Group = None, bias: Optional[torch.Tensor] = None,
                    scale_a: Optional[torch.Tensor] = None, scale_b: Optional[torch.Tensor] = None) -> torch.Tensor:
    """The sum over ranks of a w^T, on all ranks: a [..., k], w [n, k], result [..., n]. `bias` [n] is added once, that
    of rank 0. `w` may be the transpose of a matrix. `scale_a` and `scale_b`, which have no gradients, scale this rank's
    product: fp32, one number each, or one for each row of a and of w. The result of float8_e4m3fn is bfloat16."""
    scaled = scale_a is not None or scale_b is not None
    again = None if scaled else _again.run("gemm_all_reduce", a, w, bias, group)
    if again is not None:
        return again[0]
    rows, name = as_rows(a), _group.name_of(group)
    if not scaled and _run.has_gradient(a, w, bias):
        y = _GemmAllReduce.apply(rows, w, bias, name)
    else:
        y = torch.ops.tilepost.gemm_all_reduce(rows, w, bias, name, scale_a, scale_b)
    return y if a.dim() == 2 else y.reshape(*a.shape[:-1], w.shape[0])


def gemm_reduce_scatter(a: torch.Tensor, w: torch.Tensor, *, group: Group = None, bias: Optional[torch.Tensor] = None,
                        scale_a: Optional[torch.Tensor] = None,
                        scale_b: Optional[torch.Tensor] = None) -> torch.Tensor:
    """This rank's rows of the sum over ranks of a w^T: a [m, k], w [n, k], result [m / ranks, n]. More dimensions of a
    are flattened. `bias` [n] is added once, that of rank 0; its gradient is that of all rows. The rest is as for
    gemm_all_reduce."""
    scaled = scale_a is not None or scale_b is not None
    again = None if scaled else _again.run("gemm_reduce_scatter", a, w, bias, group)
    if again is not None:
        return again[0]
    rows, name = as_rows(a), _group.name_of(group)
    if not scaled and _run.has_gradient(a, w, bias):
        return _GemmReduceScatter.apply(rows, w, bias, name)
    return torch.ops.tilepost.gemm_reduce_scatter(rows, w, bias, name, scale_a, scale_b)


def all_gather_gemm(a: torch.Tensor, w: torch.Tensor, *, group: Group = None, bias: Optional[torch.Tensor] = None,
                    return_gathered: bool = False, scale_a: Optional[torch.Tensor] = None,
                    scale_b: Optional[torch.Tensor] = None) -> Union[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    """All ranks' rows of a, times w^T: a [m / ranks, k], w [n, k], result [m, n]. More dimensions of a are flattened.
    With `return_gathered` also these rows, [m, k], through which no gradient goes. `scale_a` has a number for all rows,
    for each of this rank's, which are gathered first, or for each of all ranks'."""
    scaled = scale_a is not None or scale_b is not None
    again = None if scaled else _again.run("all_gather_gemm", a, w, bias, group, return_gathered)
    if again is not None:
        return again if return_gathered else again[0]
    rows, name = as_rows(a), _group.name_of(group)
    if not scaled and _run.has_gradient(a, w, bias):
        y, gathered = _AllGatherGemm.apply(rows, w, bias, name)
    else:
        y, gathered = torch.ops.tilepost.all_gather_gemm(rows, w, bias, name, scale_a, scale_b)
    return (y, gathered) if return_gathered else y
