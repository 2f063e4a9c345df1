"""How the rows of a model's forward pass are divided among ranks: sequence parallelism.

A row is a token of a sequence of the batch. Between the layers of a divided pass each rank has its share of the rows,
which are those of all sequences one after the other, filled up with rows of zeros to a multiple of the ranks."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from tilepost.torch import _group
from tilepost.torch._collectives import all_gather_rows

if TYPE_CHECKING:
    from tilepost.torch.models.fused_norms import NormOfSum, Normalised


class _Share(torch.autograd.Function):
    """This rank's rows of those that all ranks have."""

    @staticmethod
    def forward(ctx, rows, rank, world, group_name):
        ctx.world, ctx.group_name = world, group_name
        share = rows.shape[0] // world
        return rows.narrow(0, rank * share, share).clone()

    @staticmethod
    def backward(ctx, gradient):
        return all_gather_rows(gradient, ctx.world, ctx.group_name), None, None, None


class _Whole(torch.autograd.Function):
    """All ranks' rows. Every rank computes the same with them, so that it has the whole gradient of its own."""

    @staticmethod
    def forward(ctx, share, rank, world, group_name):
        ctx.rank, ctx.share = rank, share.shape[0]
        return all_gather_rows(share, world, group_name)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.narrow(0, ctx.rank * ctx.share, ctx.share).clone(), None, None, None


class Division:
    """What the layers of a model know of the pass that runs. All of them hold the same Division.

    A pass is divided where it is to have gradients, so that those of norms are summed in every pass or in none, and
    otherwise from `least_rows` rows on. Fewer rows are summed on all ranks (AllReduce), which is faster for few."""

    def __init__(self, group_name: str, sequence_parallel: bool, least_rows: int) -> None:
        group = _group.resolve(group_name)
        self.group_name, self.rank, self.world = group_name, dist.get_rank(group), dist.get_world_size(group)
        self.sequence_parallel, self.least_rows = sequence_parallel, least_rows
        self.trains, self.is_asked_for_whole = False, False
        self.divided, self.rows, self.batch = False, 0, (0, 0)
        self.fuses = False  # whether layers may compute the norms behind their sums (fused_norms.py)
        self.norm_of_sum: Optional[NormOfSum] = None  # for the linear layer that runs next
        self.normalised: Optional[Normalised] = None  # by the layer that ran last

    def begin(self, trains: bool, is_asked_for_whole: bool) -> None:
        """A pass begins. `is_asked_for_whole`: its caller wants all rows between the layers."""
        self.trains, self.is_asked_for_whole = trains, is_asked_for_whole
        self.divided = False
        self.fuses = not trains and not is_asked_for_whole
        self.norm_of_sum = self.normalised = None

    def take_norm_of_sum(self) -> Optional[NormOfSum]:
        """What the linear layer that asks has to do with its sum, if anything."""
        norm, self.norm_of_sum = self.norm_of_sum, None
        return norm

    def take_normalised(self, residual: torch.Tensor, norm: nn.Module) -> Optional[torch.Tensor]:
        """The rows of this residual as this norm gives them, if the layer in front has computed them."""
        normalised, self.normalised = self.normalised, None
        if normalised is None or normalised.residual is not residual or normalised.norm is not norm:
            return None
        return normalised.rows

    def enter(self, hidden: torch.Tensor) -> torch.Tensor:
        """hidden [batch, sequence, h], the input of the first layer: this rank's share [1, share, h] of a divided
        pass, otherwise itself."""
        self.batch = hidden.shape[0], hidden.shape[1]
        self.rows = hidden.shape[0] * hidden.shape[1]
        wanted = self.trains or self.rows >= self.least_rows
        self.divided = self.sequence_parallel and wanted and not self.is_asked_for_whole
        if not self.divided:
            return hidden
        rows = self.filled_up(hidden.reshape(self.rows, hidden.shape[2]))
        return _Share.apply(rows, self.rank, self.world, self.group_name).unsqueeze(0)

    def leave(self, share: torch.Tensor) -> torch.Tensor:
        """The output of the last layer, a share [1, share, h]: [batch, sequence, h] on all ranks. The opposite of
        enter."""
        if not self.divided:
            return share
        rows = _Whole.apply(share.reshape(-1, share.shape[-1]), self.rank, self.world, self.group_name)
        return self.as_batch(rows)

    def filled_up(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows of a pass, with rows of zeros behind them to a multiple of the ranks."""
        missing = -self.rows % self.world
        if missing == 0 or rows.shape[0] != self.rows:
            return rows
        return F.pad(rows, (0, 0, 0, missing))

    def as_batch(self, rows: torch.Tensor) -> torch.Tensor:
        """All rows [rows, n] as [batch, sequence, n], without those that fill them up."""
        return rows[:self.rows].unflatten(0, self.batch)
