"""What all operations do: check their operands, find who serves them, and run."""
from __future__ import annotations

import os
from typing import Optional, Union

import torch

from tilepost._c import PLANNED_M
from tilepost._errors import Error
from tilepost.torch import _group
from tilepost.torch._group import GroupState, Layer

Tensor = torch.Tensor


def is_transposed(w: Tensor) -> bool:
    """Whether w [n, k] lies in memory as [k, n] row-major, as the transpose of a matrix does."""
    return not w.is_contiguous() and w.t().is_contiguous()


def out_dtype(a: Tensor) -> torch.dtype:
    """The type of products of a."""
    return torch.bfloat16 if a.dtype == torch.float8_e4m3fn else a.dtype


def has_gradient(*tensors: Optional[Tensor]) -> bool:
    """Whether autograd will ask for the gradient of one of these."""
    return torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in tensors)


def check(operation: str, a: Tensor, w: Tensor, bias: Optional[Tensor]) -> None:
    """Refuses operands that fit no layer. a is [rows, k], w [n, k], bias [n]."""
    if a.dim() != 2 or w.dim() != 2 or a.shape[1] != w.shape[1]:
        raise ValueError(f"tilepost.torch.{operation}: a {tuple(a.shape)}, w {tuple(w.shape)}; expected a [rows, k] "
                         "and w [n, k]")
    if w.dtype != a.dtype or w.device != a.device:
        raise ValueError(f"tilepost.torch.{operation}: w is {w.dtype} on '{w.device}', and a is {a.dtype} on "
                         f"'{a.device}'")
    if bias is not None:
        check_operand(operation, "bias", bias, (w.shape[0],), a)


def check_operand(operation: str, name: str, tensor: Tensor, shape: tuple[int, ...], a: Tensor) -> None:
    """Refuses an operand of the output's type that has another shape, type or device."""
    if tuple(tensor.shape) != shape:
        raise ValueError(f"tilepost.torch.{operation}: {name} {tuple(tensor.shape)}, expected {list(shape)}")
    if tensor.dtype != out_dtype(a) or tensor.device != a.device:
        raise ValueError(f"tilepost.torch.{operation}: {name} is {tensor.dtype} on '{tensor.device}', and a is "
                         f"{a.dtype} on '{a.device}'; expected {out_dtype(a)} there")


def scales_of(operation: str, a: Tensor, w: Tensor, scale_a: Optional[Tensor], scale_b: Optional[Tensor],
              rows: int) -> str:
    """How operands are scaled: "", "tensor" or "rows" (Layer.scales). `rows`: of the product on this rank."""
    if scale_a is None and scale_b is None:
        return ""
    if scale_a is None or scale_b is None:
        raise ValueError(f"tilepost.torch.{operation}: scale_a and scale_b are given together")
    for name, scale in (("scale_a", scale_a), ("scale_b", scale_b)):
        if scale.dtype != torch.float32 or scale.device != a.device:
            raise ValueError(f"tilepost.torch.{operation}: {name} is {scale.dtype} on '{scale.device}', expected "
                             f"float32 on '{a.device}'")
    sizes = scale_a.numel(), scale_b.numel()
    if sizes == (rows, w.shape[0]) and sizes != (1, 1):
        return "rows"
    if sizes == (1, 1):
        return "tensor"
    raise ValueError(f"tilepost.torch.{operation}: scale_a {tuple(scale_a.shape)}, scale_b {tuple(scale_b.shape)}; "
                     f"expected one number each, or {rows} for the product's rows and {w.shape[0]} for its columns")


def rows_of_share(operation: str, rows: int, world: int) -> int:
    """The rows of each rank's share. The shares are equal, so that shapes do not depend on the rank."""
    if rows % world != 0:
        raise ValueError(f"tilepost.torch.{operation}: {rows} rows cannot be divided among {world} ranks; pad a to a "
                         "multiple of them")
    return rows // world


def aligned(tensor: Tensor) -> Tensor:
    """The tensor as the runtime takes it: contiguous, and beginning at a multiple of 16 bytes."""
    tensor = tensor.contiguous()
    return tensor if tensor.data_ptr() % 16 == 0 else tensor.clone()


def layer_of(pattern: str, a: Tensor, w: Tensor, bias: Optional[Tensor], scales: str = "", norm: bool = False,
             routing: str = "") -> Layer:
    """The layer of these operands."""
    layout = "nn" if is_transposed(w) else "tn"
    if layout == "nn" and a.dtype == torch.float8_e4m3fn:
        raise ValueError(f"tilepost.torch.{pattern}: w of float8_e4m3fn is the transpose of a matrix; tensor cores "
                         "read 8-bit operands along k alone, so give w [n, k] contiguous")
    return Layer(pattern, w.shape[0], w.shape[1], a.dtype, layout, bias is not None, scales, norm, routing)


def uses_plain(operation: str, state: GroupState, layer: Layer, a: Tensor) -> bool:
    """Whether PyTorch's own operations serve this layer. TILEPOST=off asks for them, TILEPOST=strict refuses them."""
    mode = os.environ.get("TILEPOST", "")
    if mode == "off":
        return True
    if state.world == 1 and a.device.type == "cuda":
        return True  # there is nothing to overlap
    reason = state.why_not(layer, a.device)
    if reason and mode == "strict":
        raise RuntimeError(f"tilepost.torch.{operation}: {reason}, and TILEPOST=strict allows nothing else")
    if reason:
        _group.warn_once(operation, reason)
    return bool(reason)


def run(operation: str, state: GroupState, layer: Layer, rows: int, a: Tensor, w: Tensor, out: Tensor,
        **operands: Union[Tensor, float, None]) -> None:
    """One run of `rows` rows in all. `operands` are those of tilepost.Op.run, such as bias and norm_epsilon."""
    if rows == 0:
        return
    try:
        _start(state, layer, rows, a, w, out, operands)
    except Error as error:
        _group.fail(operation, error, a=a.shape, w=w.shape)


def run_route(operation: str, state: GroupState, layer: Layer, rows: int, a: Tensor, w: Tensor, out: Tensor,
              **operands: Union[Tensor, float, None]) -> None:
    """The run of a route, of `rows` rows on this rank. Other ranks may have rows where this one has none."""
    try:
        _start(state, layer, max(rows, 1), a, w, out, operands, m=PLANNED_M)
    except Error as error:
        _group.fail(operation, error, a=a.shape, w=w.shape)


def _start(state: GroupState, layer: Layer, rows: int, a: Tensor, w: Tensor, out: Tensor,
           operands: dict[str, Union[Tensor, float, None]], m: Union[int, None] = None) -> None:
    """What is made here for the run, such as an aligned copy, may be freed at once on GPUs: PyTorch's allocator gives
    it to work behind the run in the same stream."""
    served = state.served(layer, rows)
    kept = [aligned(a), aligned(w.t() if layer.layout == "nn" else w)]
    addresses = {}
    for name, value in operands.items():
        if isinstance(value, Tensor):
            kept.append(aligned(value))
            value = kept[-1].data_ptr()
        addresses[name] = value
    is_cpu = a.device.type == "cpu"
    stream = 0 if is_cpu else state.stream_of_run(layer, served, rows)
    served.op.run(kept[0].data_ptr(), kept[1].data_ptr(), out.data_ptr(), stream=stream, m=rows if m is None else m,
                  **addresses)
    if is_cpu:
        served.op.synchronize()
    else:
        served.captured.add(rows)
