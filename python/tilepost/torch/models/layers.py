"""Layers of a model that know how its pass is divided."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import nn

from tilepost.torch import _norms, _ops
from tilepost.torch._collectives import SumOfGradients, all_gather_rows
from tilepost.torch._column import column_gemm
from tilepost.torch.models.division import Division
from tilepost.torch.nn import ColumnParallelLinear, RowParallelLinear


class DividedRowLinear(RowParallelLinear):
    """The last linear layer of an attention or an MLP: in a divided pass each rank gets its share [1, share, n] of the
    sum, otherwise all of it. Where the decoder layer asks for it, the sum is added to the residual, and its norm is the
    result (fused_norms.py)."""

    def __init__(self, weight: torch.Tensor, bias: Optional[torch.Tensor], division: Division) -> None:
        super().__init__(weight, bias, division.group_name, division.sequence_parallel)
        self.division = division

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        norm, w, others = self.division.take_norm_of_sum(), self.own_weight(), self._others
        if not self.division.divided:
            return _norms.gemm_all_reduce_norm(a, w, *norm, **others) if norm else _ops.gemm_all_reduce(a, w, **others)
        rows = self.division.filled_up(a.reshape(-1, a.shape[-1]))
        if norm:
            return _norms.gemm_reduce_scatter_norm(rows, w, *norm, **others)
        return _ops.gemm_reduce_scatter(rows, w, **others).unsqueeze(0)

    @property
    def _others(self) -> dict[str, Any]:
        return {"group": self.group_name, "bias": self.bias}


class _GatherColumns(torch.autograd.Function):
    """The columns of all ranks, of which each rank computes the same afterwards."""

    @staticmethod
    def forward(ctx, part, rank, world, group_name):
        ctx.rank, ctx.size = rank, part.shape[-1]
        rows = part.reshape(1, -1, part.shape[-1])
        whole = all_gather_rows(rows, world, group_name)
        return whole.permute(1, 0, 2).reshape(*part.shape[:-1], world * part.shape[-1])

    @staticmethod
    def backward(ctx, gradient):
        return gradient.narrow(-1, ctx.rank * ctx.size, ctx.size).contiguous(), None, None, None


class GatheredColumnLinear(ColumnParallelLinear):
    """A linear layer whose outputs all ranks get whole, while each multiplies its part of them: an lm_head."""

    def __init__(self, weight: torch.Tensor, bias: Optional[torch.Tensor], division: Division) -> None:
        super().__init__(weight, bias, division.group_name, False)
        self.division = division

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        part = column_gemm(a, self.own_weight(), self.bias, self.group_name)
        return _GatherColumns.apply(part, self.division.rank, self.division.world, self.group_name)


class _SumsGradients:
    """Goes in front of the class of a module of whose rows or heads each rank has a part. While its forward runs, its
    parameters are such that their gradients are summed over ranks. It is a class so that whatever puts other parameters
    into the module, as FSDP and loading do, changes nothing."""

    def forward(self, *inputs, **others):
        """The module's own, with those parameters."""
        self.__dict__["sums_gradients"] = torch.is_grad_enabled() and (self.always_sums or self.division.divided)
        try:
            return super().forward(*inputs, **others)
        finally:
            self.__dict__["sums_gradients"] = False


def _parameter(name: str) -> property:
    def get(module: nn.Module) -> Optional[torch.Tensor]:
        own = module._parameters.get(name)
        if own is None or not module.__dict__.get("sums_gradients"):
            return own
        return SumOfGradients.apply(own, module.division.group_name)

    return property(get)


def sum_gradients(module: nn.Module, division: Division, always: bool = False) -> None:
    """Sums the gradients of a norm's parameters over ranks: in divided passes, of which each rank has its share, or
    always, where each rank has its own heads."""
    kind = type(module)
    parameters = {name: _parameter(name) for name in module._parameters}
    module.__dict__.update(division=division, always_sums=always)
    module.__class__ = type(kind.__name__, (_SumsGradients, kind), {"__module__": kind.__module__, **parameters})
