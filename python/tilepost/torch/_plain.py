"""PyTorch's own operations, where tilepost's cannot serve."""
from __future__ import annotations

from typing import Optional

import torch
import torch.distributed as dist
import torch.nn.functional as F

from tilepost.torch._group import GroupState
from tilepost.torch._run import out_dtype

Tensor = torch.Tensor


def product(a: Tensor, w: Tensor, bias: Optional[Tensor], scale_a: Optional[Tensor] = None,
            scale_b: Optional[Tensor] = None) -> Tensor:
    """a w^T + bias of one rank, scaled."""
    if a.dtype != torch.float8_e4m3fn:
        y = F.linear(a, w, bias if scale_a is None else None)
        return y if scale_a is None else _scaled(y.float(), bias, scale_a, scale_b, a)
    return _scaled(a.float() @ w.float().t(), bias, scale_a, scale_b, a)


def _scaled(y: Tensor, bias: Optional[Tensor], scale_a: Optional[Tensor], scale_b: Optional[Tensor],
            a: Tensor) -> Tensor:
    if scale_a is not None and scale_b is not None:
        y = y * scale_a.reshape(-1, 1) * scale_b.reshape(1, -1)
    return (y if bias is None else y + bias.float()).to(out_dtype(a))


def sum_over_ranks(state: GroupState, y: Tensor) -> Tensor:
    """The sum of the ranks' y, in its place."""
    dist.all_reduce(y, group=state.group)
    return y


def share_of_sum(state: GroupState, y: Tensor) -> Tensor:
    """This rank's rows of the sum of the ranks' y."""
    out = y.new_empty(y.shape[0] // state.world, y.shape[1])
    dist.reduce_scatter_tensor(out, y.contiguous(), group=state.group)
    return out


def gather(state: GroupState, a: Tensor) -> Tensor:
    """The rows of all ranks. Types that collectives do not know go as bytes."""
    rows = a.contiguous()
    out = rows.new_empty(rows.shape[0] * state.world, *rows.shape[1:])
    is_f8 = rows.dtype == torch.float8_e4m3fn
    dist.all_gather_into_tensor(*(each.view(torch.uint8) if is_f8 else each for each in (out, rows)), group=state.group)
    return out


def add_and_norm(x: Tensor, residual: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Adds x to residual, and returns the rows of that sum, normalised."""
    residual.add_(x)
    rows = residual.float()
    scale = torch.rsqrt(rows.square().mean(-1, keepdim=True) + eps)
    return (rows * scale * weight.float()).to(residual.dtype)


def exchange_splits(state: GroupState, splits: list[int]) -> list[list[int]]:
    """The ranks' splits, in their order, of which these are this rank's."""
    device = torch.device("cuda", torch.cuda.current_device()) if dist.get_backend(state.group) == "nccl" else "cpu"
    sent = torch.tensor(splits, dtype=torch.int64, device=device)
    ranks = [torch.empty_like(sent) for _ in splits]
    dist.all_gather(ranks, sent, group=state.group)
    return [each.tolist() for each in ranks]


def send_rows(state: GroupState, rows: Tensor, splits: list[int], rows_from: list[int]) -> Tensor:
    """The rows for this rank, by source rank, of `rows`, which are in the order of their destinations."""
    out = rows.new_empty(sum(rows_from), rows.shape[1])
    dist.all_to_all_single(out, rows.contiguous(), rows_from, splits, group=state.group)
    return out
