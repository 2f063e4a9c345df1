"""The ways in which a layer's products and collectives are computed. SP: with sequence parallelism."""
from __future__ import annotations

from typing import Callable, NamedTuple, Optional

import torch
import torch.distributed as dist
import torch.nn.functional as F

import tilepost.torch as tp

Tensor = torch.Tensor


EPSILON = 1e-5


class Form(NamedTuple):
    """How a layer multiplies. `column` takes the rows that a rank has between layers, `row` gives them."""
    name: str
    sequence_parallel: bool  # whether these rows are shares
    column: Callable[[Tensor, Tensor], Tensor]
    row: Callable[[Tensor, Tensor], Tensor]
    row_norm: Optional[Callable[[Tensor, Tensor, Tensor, Tensor, float], Tensor]] = None

    def add_and_norm(self, a: Tensor, w: Tensor, residual: Tensor, norm: Tensor) -> tuple[Tensor, Tensor]:
        """The rows with the product added to them, and these normalised. A form with `row_norm` adds in place."""
        if self.row_norm is not None:
            return residual, self.row_norm(a, w, residual, norm, EPSILON)
        residual = residual + self.row(a, w)
        return residual, F.rms_norm(residual, norm.shape, norm, EPSILON)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, share):
        whole = share.new_empty(share.shape[0] * dist.get_world_size(), share.shape[1])
        dist.all_gather_into_tensor(whole, share.contiguous())
        return whole

    @staticmethod
    def backward(ctx, gradient):
        return _scattered(gradient.contiguous())


class _Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, whole):
        return _scattered(whole)

    @staticmethod
    def backward(ctx, gradient):
        return _Gather.forward(None, gradient)


def _scattered(whole: Tensor) -> Tensor:
    share = whole.new_empty(whole.shape[0] // dist.get_world_size(), whole.shape[1])
    dist.reduce_scatter_tensor(share, whole)
    return share


def _reduced(a: Tensor, w: Tensor) -> Tensor:
    y = F.linear(a, w)
    dist.all_reduce(y)
    return y


def _fused_column(a: Tensor, w: Tensor) -> Tensor:
    name = dist.group.WORLD.group_name
    return torch.ops.symm_mem.fused_all_gather_matmul(a, [w.t()], 0, name, return_A=False)[1][0]


def _fused_row(a: Tensor, w: Tensor) -> Tensor:
    return torch.ops.symm_mem.fused_matmul_reduce_scatter(a, w.t(), "sum", 0, dist.group.WORLD.group_name)


NCCL = Form("NCCL", False, F.linear, _reduced)
NCCL_SP = Form("NCCL SP", True, lambda a, w: F.linear(_Gather.apply(a), w),
               lambda a, w: _Scatter.apply(F.linear(a, w)))
ASYNC_TP = Form("async-TP SP", True, _fused_column, _fused_row)
TILEPOST = Form("tilepost", False, F.linear, tp.gemm_all_reduce)
TILEPOST_SP = Form("tilepost SP", True, tp.all_gather_gemm, tp.gemm_reduce_scatter)
TILEPOST_NORM = Form("tilepost norm", False, F.linear, tp.gemm_all_reduce, tp.gemm_all_reduce_norm)
TILEPOST_SP_NORM = Form("tilepost SP norm", True, tp.all_gather_gemm, tp.gemm_reduce_scatter,
                        tp.gemm_reduce_scatter_norm)

BASELINES = (NCCL, NCCL_SP, ASYNC_TP)
OURS = (TILEPOST, TILEPOST_SP, TILEPOST_NORM, TILEPOST_SP_NORM)


def for_inference(device: torch.device) -> list[Form]:
    """All forms that run here: PyTorch has async-TP on GPUs alone."""
    if device.type != "cuda":
        return [NCCL, NCCL_SP, *OURS]
    from torch.distributed._symmetric_memory import enable_symm_mem_for_group
    enable_symm_mem_for_group(dist.group.WORLD.group_name)
    return [*BASELINES, *OURS]
