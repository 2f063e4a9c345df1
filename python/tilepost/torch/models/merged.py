"""Linear layers with the same input as one GEMM: q, k and v of an attention, gate and up of an MLP."""
from __future__ import annotations

from typing import Optional, Sequence

import torch
import torch.distributed as dist
from torch import nn

from tilepost.torch import _group, _ops
from tilepost.torch._column import column_gemm
from tilepost.torch.models.division import Division
from tilepost.torch.models.weights import check_linear, part_of
from tilepost.torch.nn import ColumnParallelLinear


class MergedColumnParallelLinear(ColumnParallelLinear):
    """Column-parallel linear layers whose weights lie one behind the other in one weight, so that they are one GEMM and
    one AllGather. The result is a tuple with the output of each."""

    def __init__(self, weight: torch.Tensor, bias: Optional[torch.Tensor], group: _ops.Group, sequence_parallel: bool,
                 sizes: Sequence[int], division: Optional[Division] = None) -> None:
        """`sizes` are the outputs of each layer on this rank. In a model, `division` says for each pass whether it has
        sequence parallelism."""
        super().__init__(weight, bias, group, sequence_parallel)
        self.sizes, self.division = tuple(sizes), division
        self.is_in_parts = False  # whether MergedParts stand for it in the model's state dict
        self._input: Optional[torch.Tensor] = None
        self._outputs: list[Optional[torch.Tensor]] = []

    def forward(self, a: torch.Tensor) -> tuple[torch.Tensor, ...]:
        gathers = self.sequence_parallel if self.division is None else self.division.divided
        if not gathers:
            return column_gemm(a, self.own_weight(), self.bias, self.group_name).split(self.sizes, dim=-1)
        y = _ops.all_gather_gemm(a, self.own_weight(), group=self.group_name, bias=self.bias)
        return (y if self.division is None else y.unsqueeze(0)).split(self.sizes, dim=-1)

    def part(self, index: int, a: torch.Tensor) -> torch.Tensor:
        """The output of one of the layers. All outputs for an input are computed once, and kept until taken."""
        if self._input is not a or self._outputs[index] is None:
            self._input, self._outputs = a, list(self.forward(a))
        output, self._outputs[index] = self._outputs[index], None
        if all(each is None for each in self._outputs):
            self._input = None
        return output

    def begin(self, share: torch.Tensor) -> torch.Tensor:
        """Gathers the share [1, share, k] of a divided pass and multiplies. Returns all rows [batch, sequence, k], for
        which part() then has the outputs; no gradient goes through them."""
        y, gathered = _ops.all_gather_gemm(share, self.own_weight(), group=self.group_name, bias=self.bias,
                                           return_gathered=True)
        self._input = self.division.as_batch(gathered)
        self._outputs = list(self.division.as_batch(y).split(self.sizes, dim=-1))
        return self._input

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        if not self.is_in_parts:
            super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict, prefix, *others):
        if not self.is_in_parts:
            super()._load_from_state_dict(state_dict, prefix, *others)


class MergedPart(nn.Module):
    """One layer of a merged one, in the place where the model has it. In state dicts it has its weight and bias under
    their old names; they are views of the merged ones."""

    def __init__(self, merged: MergedColumnParallelLinear, index: int) -> None:
        super().__init__()
        if index == 0:
            self.merged = merged  # the first part has the parameters
        else:
            self.__dict__["merged"] = merged
        merged.is_in_parts = True
        self.index, self.begins = index, sum(merged.sizes[:index])

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return self.merged.part(self.index, a)

    def _view(self, tensor: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        return None if tensor is None else tensor.narrow(0, self.begins, self.merged.sizes[self.index])

    @property
    def weight(self) -> torch.Tensor:
        """This layer's rows of the merged weight."""
        return self._view(self.merged.weight)

    @property
    def bias(self) -> Optional[torch.Tensor]:
        """This layer's part of the merged bias."""
        return self._view(self.merged.bias)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in (("weight", self.weight), ("bias", self.bias)):
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        for name, own in (("weight", self.weight), ("bias", self.bias)):
            if own is None:
                continue
            given = state_dict.get(prefix + name)
            if given is None:
                missing_keys.append(prefix + name)
            elif given.shape != own.shape:
                error_msgs.append(f"{prefix + name} is {tuple(given.shape)}; this rank's part is {tuple(own.shape)}")
            else:
                with torch.no_grad():
                    own.copy_(given)


def in_parts(merged: MergedColumnParallelLinear) -> list[MergedPart]:
    """Modules that stand where the merged layers stood. They are called with the same input, in any order."""
    return [MergedPart(merged, index) for index in range(len(merged.sizes))]


def merge(linears: Sequence[nn.Linear], group: _ops.Group = None, sequence_parallel: bool = False,
          division: Optional[Division] = None, names: Optional[Sequence[str]] = None) -> MergedColumnParallelLinear:
    """One layer of those given, which have the same input. `names` are theirs, for errors."""
    group_name = _group.name_of(group)
    ranks = _group.resolve(group_name)
    rank, world = dist.get_rank(ranks), dist.get_world_size(ranks)
    names = names or [f"layer {index}" for index in range(len(linears))]
    for name, linear in zip(names, linears):
        check_linear(name, linear)
    if len({linear.bias is None for linear in linears}) != 1:
        raise ValueError(f"tilepost.torch: {', '.join(names)} cannot be merged; either all of them or none have a bias")
    weights = [part_of(name, linear.weight, 0, rank, world) for name, linear in zip(names, linears)]
    bias = None
    if linears[0].bias is not None:
        bias = torch.cat([part_of(name, linear.bias, 0, rank, world) for name, linear in zip(names, linears)])
    return MergedColumnParallelLinear(torch.cat(weights), bias, group_name, sequence_parallel,
                                      [weight.shape[0] for weight in weights], division)
