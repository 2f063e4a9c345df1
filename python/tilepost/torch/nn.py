"""Linear layers of tensor parallelism."""
from __future__ import annotations

from typing import Optional, Sequence, Union

import torch
import torch.distributed as dist
from torch import nn

from tilepost.torch import _group, _ops
from tilepost.torch._column import column_gemm
from tilepost.torch._weight_gradient import refuse_compiled


def _part_of(size: int, what: str, group_name: str) -> tuple[int, int]:
    """This rank's part of `size` rows or columns of a weight: where it begins, and how many there are."""
    group = _group.resolve(group_name)
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    if size % world != 0:
        raise ValueError(f"tilepost.torch: {size} {what} cannot be divided among {world} ranks")
    return rank * (size // world), size // world


class _Linear(nn.Module):
    def __init__(self, weight: torch.Tensor, bias: Optional[torch.Tensor], group: _ops.Group,
                 sequence_parallel: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = None if bias is None else nn.Parameter(bias)
        self.group_name = _group.name_of(group)
        self.sequence_parallel = sequence_parallel

    def own_weight(self) -> torch.Tensor:
        """The weight, for a GEMM whose backward pass gives its gradient."""
        refuse_compiled(self.weight)
        return self.weight

    def extra_repr(self) -> str:
        return f"{self.weight.shape[1]} -> {self.weight.shape[0]}, sequence_parallel={self.sequence_parallel}"


class ColumnParallelLinear(_Linear):
    """A linear layer of whose outputs each rank has a part. With sequence parallelism its input is this rank's rows,
    which are gathered; otherwise all ranks have the same rows."""

    @classmethod
    def from_linear(cls, linear: Union[nn.Linear, Sequence[nn.Linear]], group: _ops.Group = None,
                    sequence_parallel: bool = False) -> ColumnParallelLinear:
        """This rank's rows of the weight and of the bias. Of a list of layers with the same input, such as q, k and v:
        one layer with one GEMM, whose result is a tuple with the output of each."""
        if not isinstance(linear, nn.Linear):
            from tilepost.torch.models.merged import merge  # which is made of this class
            return merge(linear, group, sequence_parallel)
        begin, count = _part_of(linear.weight.shape[0], "outputs", _group.name_of(group))
        weight = linear.weight.detach()[begin:begin + count].clone()
        bias = None if linear.bias is None else linear.bias.detach()[begin:begin + count].clone()
        return cls(weight, bias, group, sequence_parallel)

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        if self.sequence_parallel:
            return _ops.all_gather_gemm(a, self.own_weight(), group=self.group_name, bias=self.bias)
        return column_gemm(a, self.own_weight(), self.bias, self.group_name)


class RowParallelLinear(_Linear):
    """A linear layer of whose inputs each rank has a part; the products are summed. With sequence parallelism each rank
    gets its rows of the sum, otherwise all ranks get all rows. All ranks have the whole bias, and rank 0's is added."""

    @classmethod
    def from_linear(cls, linear: nn.Linear, group: _ops.Group = None,
                    sequence_parallel: bool = False) -> RowParallelLinear:
        """This rank's columns of the weight."""
        begin, count = _part_of(linear.weight.shape[1], "inputs", _group.name_of(group))
        weight = linear.weight.detach()[:, begin:begin + count].clone()
        bias = None if linear.bias is None else linear.bias.detach().clone()
        return cls(weight, bias, group, sequence_parallel)

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        operation = _ops.gemm_reduce_scatter if self.sequence_parallel else _ops.gemm_all_reduce
        return operation(a, self.own_weight(), group=self.group_name, bias=self.bias)
