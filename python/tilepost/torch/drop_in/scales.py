"""Scales of float8_e4m3fn as PyTorch's fused operations take them, for tilepost's."""
from __future__ import annotations

from typing import Optional

import torch

from tilepost.torch._collectives import all_gather_rows
from tilepost.torch.drop_in.serving import NotServed, rows_of


def check_result(rows: torch.Tensor, result_scale: Optional[torch.Tensor], out_dtype: Optional[torch.dtype]) -> None:
    """Raises NotServed where a product is asked for that the operations do not give."""
    if rows.dtype != torch.float8_e4m3fn:
        raise NotServed(f"scales of {rows.dtype}")
    if result_scale is not None:
        raise NotServed("a scale of the result")
    if out_dtype is not torch.bfloat16:
        raise NotServed(f"a result of {out_dtype or rows.dtype}; the operations give torch.bfloat16")


def of_gathered_rows(A: torch.Tensor, scale: torch.Tensor, gather_dim: int, world: int,
                     group_name: str) -> torch.Tensor:
    """The scales of all ranks' rows, in their order, or the one of the tensor. `scale` is that one, or [..., 1] for the
    rows of this rank's A, which are gathered, or for all ranks'."""
    if scale.shape[:-1] == A.shape[:-1] and scale.shape[-1:] == (1,):
        return all_gather_rows(rows_of(scale, gather_dim), world, group_name).reshape(-1)
    if scale.numel() == 1:
        return scale.reshape(1)
    whole = list(A.shape[:-1])
    whole[gather_dim] *= world
    if list(scale.shape) == [*whole, 1]:
        return rows_of(scale, gather_dim).reshape(-1)
    raise NotServed(f"a scale {tuple(scale.shape)} of A {tuple(A.shape)}: neither of the tensor nor of rows")


def kind_of(of_rows: torch.Tensor, of_columns: torch.Tensor) -> str:
    """How a Layer calls these scales."""
    return "tensor" if of_rows.numel() == of_columns.numel() == 1 else "rows"


def pair(of_rows: torch.Tensor, of_columns: torch.Tensor, rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Both scales of a product of rows × columns: both of one number, or both of one for each row and column."""
    given = of_rows.reshape(-1), of_columns.reshape(-1)
    for name, scale, size in (("A", given[0], rows), ("B", given[1], columns)):
        if scale.dtype != torch.float32 or scale.numel() not in (1, size):
            raise NotServed(f"a scale of {name} of {scale.numel()} {scale.dtype} for {size} rows or columns")
    if given[0].numel() == given[1].numel() == 1:
        return given
    return given[0].expand(rows).contiguous(), given[1].expand(columns).contiguous()
