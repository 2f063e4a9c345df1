"""What PyTorch's fused operations compute, by tilepost's. The signatures are PyTorch's (torch.ops.symm_mem); each
raises NotServed where tilepost's operations do not take the operands."""
from __future__ import annotations

from typing import Optional, Sequence

import torch
from torch.distributed._symmetric_memory import _maybe_convert_scalar_types_to_dtypes as dtypes_of

from tilepost.torch import _again, _group
from tilepost.torch.drop_in import scales
from tilepost.torch.drop_in.serving import NotServed, batch_of, check, rows_of, weight_of

Tensor = torch.Tensor
_operations = torch.ops.tilepost


def _largest_first(weights: Sequence[Tensor]) -> list[int]:
    """The order in which weights are multiplied: the first of them while rows are gathered."""
    return sorted(range(len(weights)), key=lambda index: -weights[index].shape[0])


def all_gather_matmul(A: Tensor, Bs: list[Tensor], gather_dim: int, group_name: str, *,
                      return_A: bool = True) -> tuple[Optional[Tensor], list[Tensor]]:
    """The rows of all ranks along gather_dim, times each of Bs [k, n]. The gather overlaps with the largest of them."""
    rows, weights = rows_of(A, gather_dim), [weight_of(b) for b in Bs]
    if not weights:
        raise NotServed("there is no B")
    for w in weights:
        check("all_gather_gemm", rows, w, group_name)
    shape = list(A.shape[:-1])
    shape[gather_dim] *= _group.resolve(group_name).size()
    products: list[Tensor] = [rows] * len(weights)
    first, *others = _largest_first(weights)
    products[first], gathered = _again.call("all_gather_gemm", rows.contiguous(), weights[first], None, group_name)
    for index in others:
        products[index] = gathered @ Bs[index]
    whole = batch_of(gathered, shape, gather_dim) if return_A else None
    return whole, [batch_of(y, shape, gather_dim) for y in products]


def matmul_reduce_scatter(A: Tensor, B: Tensor, reduce_op: str, scatter_dim: int, group_name: str) -> Tensor:
    """This rank's part along scatter_dim of the sum, or average, over ranks of A B."""
    rows, w = rows_of(A, scatter_dim), weight_of(B)
    world = _check_reduction(reduce_op, A.shape[scatter_dim], group_name)
    check("gemm_reduce_scatter", rows, w, group_name)
    y, _ = _again.call("gemm_reduce_scatter", rows.contiguous(), w, None, group_name)
    return _scattered(y, list(A.shape[:-1]), scatter_dim, reduce_op, world)


def _check_reduction(reduce_op: str, size: int, group_name: str) -> int:
    """The number of ranks."""
    if reduce_op not in ("sum", "avg"):
        raise NotServed(f"reduce_op is '{reduce_op}'")
    world = _group.resolve(group_name).size()
    if size % world != 0:
        raise NotServed(f"{size} rows cannot be divided among {world} ranks")
    return world


def _scattered(y: Tensor, shape: list[int], dim: int, reduce_op: str, world: int) -> Tensor:
    """The rows of this rank's part as PyTorch's operation gives them: contiguous."""
    if reduce_op == "avg":
        y.div_(world)
    shape[dim] //= world
    return batch_of(y, shape, dim).contiguous()


def all_gather_scaled_matmul(A: Tensor, Bs: list[Tensor], A_scale: Tensor, B_scales: list[Tensor], gather_dim: int,
                             group_name: str, biases: list[Optional[Tensor]], result_scales: list[Optional[Tensor]],
                             out_dtypes: list[Optional[torch.dtype]],
                             use_fast_accum: list[bool]) -> tuple[Tensor, list[Tensor]]:
    """all_gather_matmul of float8_e4m3fn with scales: A's for the tensor, for this rank's rows, or for all rows."""
    rows, weights = rows_of(A, gather_dim), [weight_of(b) for b in Bs]
    if not weights:
        raise NotServed("there is no B")
    out_dtypes = dtypes_of(out_dtypes)
    world = _group.resolve(group_name).size()
    for w, B_scale, bias, result_scale, out_dtype in zip(weights, B_scales, biases, result_scales, out_dtypes):
        scales.check_result(rows, result_scale, out_dtype)
        check("all_gather_gemm", rows, w, group_name, bias, scales.kind_of(A_scale, B_scale))
    shape = list(A.shape[:-1])
    shape[gather_dim] *= world
    of_rows = scales.of_gathered_rows(A, A_scale, gather_dim, world, group_name)
    products: list[Tensor] = [rows] * len(weights)
    first, *others = _largest_first(weights)
    products[first], gathered = _operations.all_gather_gemm(
        rows.contiguous(), weights[first], biases[first], group_name,
        *scales.pair(of_rows, B_scales[first], rows.shape[0] * world, weights[first].shape[0]))
    for index in others:
        products[index] = torch._scaled_mm(gathered, Bs[index], of_rows.reshape(-1, 1) if of_rows.numel() > 1 else
                                           of_rows.reshape(()), B_scales[index], bias=biases[index],
                                           out_dtype=out_dtypes[index], use_fast_accum=use_fast_accum[index])
    return batch_of(gathered, shape, gather_dim), [batch_of(y, shape, gather_dim) for y in products]


def scaled_matmul_reduce_scatter(A: Tensor, B: Tensor, A_scale: Tensor, B_scale: Tensor, reduce_op: str,
                                 orig_scatter_dim: int, scatter_dim_after_maybe_reshape: int, group_name: str,
                                 output_shape: Optional[list[int]] = None, bias: Optional[Tensor] = None,
                                 result_scale: Optional[Tensor] = None, out_dtype: Optional[torch.dtype] = None,
                                 use_fast_accum: bool = False) -> Tensor:
    """matmul_reduce_scatter of float8_e4m3fn with scales. A has the rows of a product of output_shape, of which
    orig_scatter_dim is scattered. A bias is not served: in PyTorch's operation every rank adds its own."""
    shape = list(A.shape[:-1] if output_shape is None else output_shape[:-1])
    whole = A.reshape(*shape, A.shape[-1])
    rows, w = rows_of(whole, orig_scatter_dim), weight_of(B)
    world = _check_reduction(reduce_op, shape[orig_scatter_dim], group_name)
    scales.check_result(rows, result_scale, out_dtype)
    if bias is not None:
        raise NotServed("a bias, which every rank would add to the sum")
    check("gemm_reduce_scatter", rows, w, group_name, None, scales.kind_of(A_scale, B_scale))
    of_rows = A_scale.reshape(-1)
    if of_rows.numel() > 1:
        of_rows = rows_of(A_scale.reshape(*shape, 1), orig_scatter_dim)
    y = _operations.gemm_reduce_scatter(rows.contiguous(), w, None, group_name,
                                        *scales.pair(of_rows, B_scale, rows.shape[0], w.shape[0]))
    return _scattered(y, shape, orig_scatter_dim, reduce_op, world)
