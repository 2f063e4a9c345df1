"""Gradients of weights, which may be added up in fp32."""
from __future__ import annotations

from typing import Optional

import torch
from torch import nn


def weight_gradient(w: torch.Tensor, dy: torch.Tensor, a: torch.Tensor) -> Optional[torch.Tensor]:
    """dy^T a: that of w [n, k], from dy [rows, n] and a [rows, k]. Where `w.main_grad` is there, the gradient is added
    to it with fp32 from the product on, and there is none to return."""
    main_grad = getattr(w, "main_grad", None)
    if main_grad is None:
        return dy.t() @ a
    if main_grad.shape != w.shape or main_grad.dtype != torch.float32 or main_grad.device != w.device:
        raise ValueError(f"tilepost.torch: main_grad is {main_grad.dtype} {tuple(main_grad.shape)} on "
                         f"'{main_grad.device}'; expected torch.float32 {tuple(w.shape)} on '{w.device}'")
    if main_grad.is_cuda:
        torch.addmm(main_grad, dy.t(), a, out_dtype=torch.float32, out=main_grad)
    else:
        main_grad.addmm_(dy.t().float(), a.float())
    return None


def refuse_compiled(w: torch.Tensor) -> None:
    """Compiled backward passes do not see main_grad, and would leave it out."""
    if torch.compiler.is_compiling() and getattr(w, "main_grad", None) is not None:
        raise RuntimeError("tilepost.torch: main_grad is added to in eager mode, and torch.compile would leave it out. "
                           "Take main_grad from the weights, or compile the other parts of the model")


def accumulate_in_fp32(model: nn.Module) -> list[nn.Parameter]:
    """Gives the weights of tilepost's layers a `main_grad`, fp32 and zero, to which backward passes add their
    gradients; `grad` stays None. Returns these weights: an optimiser takes `main_grad` from them and sets it to zero,
    as Megatron's do. Other parameters are left as they are."""
    from tilepost.torch.nn import ColumnParallelLinear, RowParallelLinear  # nn uses this file
    kinds = ColumnParallelLinear, RowParallelLinear
    weights = [layer.weight for layer in model.modules() if isinstance(layer, kinds)]
    for weight in weights:
        weight.main_grad = torch.zeros_like(weight, dtype=torch.float32)
    return weights
