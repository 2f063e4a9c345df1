"""Decoder layers whose sums over ranks are added to the residual and normalised by the operation that sums them.

In a pass without gradients o_proj and down_proj compute what the norm behind them would: the product, its sum over
ranks, the residual with that added, and the norm of this. So an attention, or an MLP, ends with one operation, where
transformers has eleven kernels. The residual is written in its place, and handed on with its norm."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

import torch
from torch import nn

from tilepost.torch.models.division import Division
from tilepost.torch.models.layers import DividedRowLinear

# Layers of transformers that do this and nothing else: x += self_attn(input_layernorm(x)), and then
# x += mlp(post_attention_layernorm(x)).
_KINDS = ("LlamaDecoderLayer", "MistralDecoderLayer", "Qwen2DecoderLayer", "Qwen3DecoderLayer")


class NormOfSum(NamedTuple):
    """What a sum is added to, and the norm of that."""
    residual: torch.Tensor
    weight: torch.Tensor
    epsilon: float


class Normalised(NamedTuple):
    """A residual whose norm has been computed, for the module that would compute it."""
    residual: torch.Tensor
    rows: torch.Tensor
    norm: nn.Module


def _is_rms_norm(norm: nn.Module) -> bool:
    return type(norm).__name__.endswith("RMSNorm") and hasattr(norm, "variance_epsilon") and hasattr(norm, "weight")


def can_fuse(layer: nn.Module) -> bool:
    """Whether the layer is one of those that add and normalise as Llama's do. Others run as they are."""
    known = [kind for kind in type(layer).__mro__
             if kind.__name__ in _KINDS and kind.__module__.startswith("transformers.models.")]
    return bool(known) and type(layer).forward is known[0].forward and "forward" not in layer.__dict__ and \
        _is_rms_norm(layer.input_layernorm) and _is_rms_norm(layer.post_attention_layernorm)


def _is_watched(*modules: nn.Module) -> bool:
    """Whether someone looks at what these modules return, which is something else in a fused pass."""
    return any(module._forward_hooks for module in modules)


def _fits(norm: nn.Module, hidden: torch.Tensor) -> bool:
    return _is_rms_norm(norm) and norm.weight.dtype == hidden.dtype and norm.weight.device == hidden.device


class _FusesNorms:
    """Goes in front of the class of a decoder layer."""

    def forward(self, hidden_states: torch.Tensor, *inputs: Any, **others: Any) -> torch.Tensor:
        """The layer's own, or the same by fused operations."""
        if inputs or not self._is_fused(hidden_states):
            return super().forward(hidden_states, *inputs, **others)
        division = self.division
        rows = division.take_normalised(hidden_states, self.input_layernorm)
        residual = hidden_states
        if rows is None:  # no residual of ours, which may be written
            residual, rows = hidden_states.clone(), self.input_layernorm(hidden_states)
        rows = self._add(residual, self.post_attention_layernorm,
                         lambda: self.self_attn(hidden_states=rows, **others)[0])
        between = rows
        rows = self._add(residual, self.following_norm, lambda: self.mlp(between))
        division.normalised = Normalised(residual, rows, self.following_norm)
        return residual

    def _is_fused(self, hidden: torch.Tensor) -> bool:
        if not self.division.fuses or torch.compiler.is_compiling():
            return False
        norms = self.input_layernorm, self.post_attention_layernorm, self.following_norm
        sums = self.self_attn.o_proj, self.mlp.down_proj
        # Others may have taken their places since, such as adapters, which add to what a sum returns.
        return all(isinstance(each, DividedRowLinear) for each in sums) and \
            all(_fits(norm, hidden) for norm in norms) and \
            not _is_watched(self, self.self_attn, self.mlp, *sums, *norms[:2])

    def _add(self, residual: torch.Tensor, norm: nn.Module, run: Callable[[], torch.Tensor]) -> torch.Tensor:
        """Runs an attention or an MLP, whose last layer adds its sum to the residual. Returns the rows of that,
        normalised."""
        division = self.division
        division.norm_of_sum = NormOfSum(residual, norm.weight, norm.variance_epsilon)
        rows = run()
        if division.norm_of_sum is not None:
            raise RuntimeError(f"tilepost.torch: {type(self).__name__} has not called its last linear layer")
        return rows


class _TakesNormalised:
    """Goes in front of the class of the norm behind the last layer."""

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """The rows that the layer in front has normalised, or the norm's own."""
        rows = self.division.take_normalised(hidden_states, self)
        return super().forward(hidden_states) if rows is None else rows


def _put_in_front(mixin: type, module: nn.Module, **attributes: Optional[Any]) -> None:
    kind = type(module)
    module.__dict__.update(attributes)  # not as modules of this one
    module.__class__ = type(kind.__name__, (mixin, kind), {"__module__": kind.__module__})


def fuse_norms(layers: list[nn.Module], last_norm: nn.Module, division: Division) -> None:
    """Lets the layers that can compute the norms behind their sums, in passes for which the division says so."""
    following = [layer.input_layernorm for layer in layers[1:] if hasattr(layer, "input_layernorm")] + [last_norm]
    if len(following) != len(layers) or not all(can_fuse(layer) for layer in layers) or not _is_rms_norm(last_norm):
        return
    for layer, norm in zip(layers, following):
        _put_in_front(_FusesNorms, layer, division=division, following_norm=norm)
    _put_in_front(_TakesNormalised, last_norm, division=division)
