"""The GEMM of a layer whose outputs are divided among ranks, without sequence parallelism."""
from __future__ import annotations

from typing import Optional

import torch
import torch.nn.functional as F

from tilepost.torch import _again, _run
from tilepost.torch._weight_gradient import weight_gradient


class _ColumnGemm(torch.autograd.Function):
    """y = a w^T, of rows that all ranks have: the gradients of these are summed over ranks, behind their GEMM."""

    @staticmethod
    def forward(ctx, a, w, bias, group_name):
        ctx.save_for_backward(a, w)
        ctx.group_name = group_name
        return F.linear(a, w, bias)

    @staticmethod
    def backward(ctx, dy):
        a, w = ctx.saved_tensors
        needs = ctx.needs_input_grad
        dy = dy.contiguous()
        da = _again.call("gemm_all_reduce", dy, w.t(), None, ctx.group_name)[0] if needs[0] else None
        return da, weight_gradient(w, dy, a) if needs[1] else None, dy.sum(0) if needs[2] else None, None


def column_gemm(a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor], group_name: str) -> torch.Tensor:
    """a [..., k] w^T: all ranks have the same a, and each its own w [n, k] and bias [n]. Local; collective is the
    gradient of a alone."""
    if not _run.has_gradient(a, w, bias):
        return F.linear(a, w, bias)
    rows = a.reshape(-1, a.shape[-1])
    return _ColumnGemm.apply(rows, w, bias, group_name).reshape(*a.shape[:-1], w.shape[0])
