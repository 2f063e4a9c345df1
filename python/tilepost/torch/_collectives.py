"""Collectives over the ranks of a group that torch.compile takes. None of them has a gradient."""
from __future__ import annotations

import torch

_functional = torch.ops._c10d_functional


def all_gather_rows(share: torch.Tensor, world: int, group_name: str) -> torch.Tensor:
    """All ranks' rows, in the order of ranks."""
    return _functional.wait_tensor(_functional.all_gather_into_tensor(share.contiguous(), world, group_name))


def all_reduce(part: torch.Tensor, group_name: str) -> torch.Tensor:
    """The sum over ranks."""
    return _functional.wait_tensor(_functional.all_reduce(part.contiguous(), "sum", group_name))


class SumOfGradients(torch.autograd.Function):
    """The same tensor on all ranks, of which each uses its own part: its gradients are summed."""

    @staticmethod
    def forward(ctx, tensor, group_name):
        ctx.group_name = group_name
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, gradient):
        return all_reduce(gradient, ctx.group_name), None
