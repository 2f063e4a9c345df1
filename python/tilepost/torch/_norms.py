"""Sums over ranks that are added to a residual and normalised, as between two blocks of a transformer."""
from __future__ import annotations

from typing import Optional

import torch

from tilepost.torch import _again, _group, _plain, _run
from tilepost.torch._ops import Group, as_rows

_library = torch.library.Library("tilepost", "FRAGMENT")
for _name in ("gemm_all_reduce_norm", "gemm_reduce_scatter_norm"):
    _library.define(f"{_name}(Tensor a, Tensor w, Tensor? bias, Tensor(a!) residual, Tensor norm_weight, float eps, "
                    "str group_name) -> Tensor")


def _check(operation: str, a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor], residual: torch.Tensor,
           norm_weight: torch.Tensor, rows: int) -> None:
    """Refuses operands that do not fit. `rows`: that this rank ends with."""
    _run.check(operation, a, w, bias)
    _run.check_operand(operation, "residual", residual, (rows, w.shape[0]), a)
    _run.check_operand(operation, "norm_weight", norm_weight, (w.shape[0],), a)
    if not residual.is_contiguous():
        raise ValueError(f"tilepost.torch.{operation}: residual is not contiguous, and is written in its place")


def _norm(pattern: str, a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor], residual: torch.Tensor,
          norm_weight: torch.Tensor, eps: float, group_name: str) -> torch.Tensor:
    operation = f"{pattern}_norm"
    norm = residual, norm_weight, eps
    again = _again.run(operation, a, w, bias, group_name, norm=norm)
    if again is not None:
        return again[0]
    state = _group.state_of(group_name)
    rows = a.shape[0]
    if pattern == "gemm_reduce_scatter":
        rows = _run.rows_of_share(operation, rows, state.world)
    _check(operation, a, w, bias, residual, norm_weight, rows)
    layer = _run.layer_of(pattern, a, w, bias, norm=True)
    if _run.uses_plain(operation, state, layer, a):
        y = _plain.product(a, w, bias if state.rank == 0 else None)
        exchange = _plain.sum_over_ranks if pattern == "gemm_all_reduce" else _plain.share_of_sum
        return _plain.add_and_norm(exchange(state, y), residual, norm_weight, eps)
    if residual.data_ptr() % 16 != 0:
        raise ValueError(f"tilepost.torch.{operation}: residual begins at an address that is no multiple of 16 bytes")
    out = a.new_empty(rows, w.shape[0])
    _run.run(operation, state, layer, a.shape[0], a, w, out, bias=bias, norm_weight=_run.aligned(norm_weight),
             norm_residual=residual, norm_epsilon=eps)
    _again.remember(operation, state, layer, a.shape[0], a, w, bias, out, norm=norm)
    return out


def _gemm_all_reduce_norm(a, w, bias, residual, norm_weight, eps, group_name):
    return _norm("gemm_all_reduce", a, w, bias, residual, norm_weight, eps, group_name)


def _gemm_reduce_scatter_norm(a, w, bias, residual, norm_weight, eps, group_name):
    return _norm("gemm_reduce_scatter", a, w, bias, residual, norm_weight, eps, group_name)


for _key in ("CPU", "CUDA"):
    _library.impl("gemm_all_reduce_norm", _gemm_all_reduce_norm, _key)
    _library.impl("gemm_reduce_scatter_norm", _gemm_reduce_scatter_norm, _key)


@torch.library.register_fake("tilepost::gemm_all_reduce_norm")
def _(a, w, bias, residual, norm_weight, eps, group_name):
    _check("gemm_all_reduce_norm", a, w, bias, residual, norm_weight, a.shape[0])
    return torch.empty_like(residual)


@torch.library.register_fake("tilepost::gemm_reduce_scatter_norm")
def _(a, w, bias, residual, norm_weight, eps, group_name):
    share = _run.rows_of_share("gemm_reduce_scatter_norm", a.shape[0], _group.resolve(group_name).size())
    _check("gemm_reduce_scatter_norm", a, w, bias, residual, norm_weight, share)
    return torch.empty_like(residual)


def _refuse_gradients(operation: str, *tensors: Optional[torch.Tensor]) -> None:
    if _run.has_gradient(*tensors):
        raise RuntimeError(f"tilepost.torch.{operation} has no gradient, because it writes residual in its place; "
                           f"call it under torch.no_grad(), or use {operation.removesuffix('_norm')} and PyTorch's norm")


def gemm_all_reduce_norm(a: torch.Tensor, w: torch.Tensor, residual: torch.Tensor, norm_weight: torch.Tensor,
                         eps: float, *, group: Group = None, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    """Adds the sum over ranks of a w^T to `residual`, in its place, and returns its rows x as
    x / sqrt(mean(x^2) + eps) * norm_weight. a [..., k], w [n, k], residual and result [..., n], norm_weight [n]. `bias`
    [n] is added once, that of rank 0. It has no gradient."""
    _refuse_gradients("gemm_all_reduce_norm", a, w, residual, norm_weight, bias)
    again = _again.run("gemm_all_reduce_norm", a, w, bias, group, norm=(residual, norm_weight, eps))
    if again is not None:
        return again[0]
    y = torch.ops.tilepost.gemm_all_reduce_norm(as_rows(a), w, bias, _in_place(residual), norm_weight, eps,
                                                _group.name_of(group))
    return y.view(residual.shape)


def gemm_reduce_scatter_norm(a: torch.Tensor, w: torch.Tensor, residual: torch.Tensor, norm_weight: torch.Tensor,
                             eps: float, *, group: Group = None,
                             bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    """The same on this rank's rows of the sum: a [m, k], residual and result [m / ranks, n]."""
    _refuse_gradients("gemm_reduce_scatter_norm", a, w, residual, norm_weight, bias)
    again = _again.run("gemm_reduce_scatter_norm", a, w, bias, group, norm=(residual, norm_weight, eps))
    if again is not None:
        return again[0]
    y = torch.ops.tilepost.gemm_reduce_scatter_norm(as_rows(a), w, bias, _in_place(residual), norm_weight, eps,
                                                    _group.name_of(group))
    return y.view(residual.shape)


def _in_place(residual: torch.Tensor) -> torch.Tensor:
    """The rows of residual, of which writes go to residual."""
    return residual if residual.dim() == 2 else residual.view(-1, residual.shape[-1])
