"""Styles of Hugging Face's transformers: tensor parallelism while a model is loaded, with tilepost's operations."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import nn

from tilepost.torch import _ops
from tilepost.torch._column import column_gemm

# transformers' style, and ours in its place.
_STYLES = {"colwise": "tilepost_colwise", "rowwise": "tilepost_rowwise"}
_OLDEST = (5, 17)


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise ImportError("tilepost.torch.hf_plan needs transformers; pip install 'transformers>=5.17'") from error
    version = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    if version < _OLDEST:
        raise ImportError(f"tilepost.torch.hf_plan: transformers {transformers.__version__}; the oldest supported is "
                          f"{_OLDEST[0]}.{_OLDEST[1]}")
    return transformers


def _local(parameter: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
    """This rank's part of a parameter, with its gradient."""
    return parameter.to_local() if hasattr(parameter, "to_local") else parameter


def _serves(module: nn.Module) -> bool:
    """Whether the module multiplies its weight as it is."""
    return isinstance(module, nn.Linear) and not getattr(module, "_hf_quantized_needs_local_tp", False)


def _group_name(mesh: Any) -> str:
    return (mesh.get_group() if mesh.ndim == 1 else mesh.get_group("tp")).group_name


def register_styles() -> None:
    """Makes the styles tilepost_colwise and tilepost_rowwise known to transformers. hf_plan does so."""
    _transformers()
    from transformers.distributed.tensor_parallel import ALL_PARALLEL_STYLES, ColwiseParallel, RowwiseParallel

    class TilepostColwise(ColwiseParallel):
        """colwise; the gradients of its input are summed behind the GEMM that makes them."""

        def install_forward(self, module, mesh):
            if not _serves(module):
                return super().install_forward(module, mesh)
            name = _group_name(mesh)
            module.forward = lambda a: column_gemm(_local(a), _local(module.weight), _local(module.bias), name)
            return module

    class TilepostRowwise(RowwiseParallel):
        """rowwise; the AllReduce overlaps with the GEMM."""

        def install_forward(self, module, mesh):
            if not _serves(module):
                return super().install_forward(module, mesh)
            name = _group_name(mesh)
            module.forward = lambda a: _ops.gemm_all_reduce(_local(a), _local(module.weight), group=name,
                                                            bias=_local(module.bias))
            return module

    for name, style in (("tilepost_colwise", TilepostColwise), ("tilepost_rowwise", TilepostRowwise)):
        if name not in ALL_PARALLEL_STYLES:
            ALL_PARALLEL_STYLES.register(name, style())


def hf_plan(config: Any) -> dict[str, str]:
    """The tp_plan of a causal language model of transformers, with tilepost's styles in the place of its own:

        AutoModelForCausalLM.from_pretrained(name, distributed_config=DistributedConfig(tp_size=2,
                                                                                        tp_plan=tp.hf_plan(config)))

    `config` is the model's. Raises ValueError where transformers has no plan for it."""
    register_styles()
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING
    base = getattr(config, "base_model_tp_plan", None)
    if not base:
        raise ValueError("tilepost.torch.hf_plan: transformers has no tensor-parallel plan for "
                         f"{type(config).__name__}")
    prefix, own = "model", {}
    if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING:
        model = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
        prefix, own = model.base_model_prefix, getattr(model, "_tp_plan", None) or {}
    plan = {f"{prefix}.{name}": style for name, style in base.items()}
    return {name: _STYLES.get(style, style) for name, style in {**plan, **own}.items()}
