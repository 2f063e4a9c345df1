"""parallelize(): tensor parallelism with sequence parallelism for a model."""
from __future__ import annotations

import re
from typing import Any, Mapping, NamedTuple, Optional, Union

import torch
import torch.distributed as dist
from torch import nn

from tilepost.torch import _group, _ops
from tilepost.torch.models.division import Division
from tilepost.torch.models.fused_norms import fuse_norms
from tilepost.torch.models.layers import DividedRowLinear, GatheredColumnLinear, sum_gradients
from tilepost.torch.models.merged import MergedColumnParallelLinear, in_parts, merge
from tilepost.torch.models.weights import check_divisible, check_linear, part_of, whole_of
from tilepost.torch.nn import ColumnParallelLinear, RowParallelLinear

# The layers of a Llama-shaped decoder layer by their places in it.
_QKV = ("q_proj", "k_proj", "v_proj")
_GATE_UP = ("gate_proj", "up_proj")

Plan = Union[str, Mapping[str, str]]


def parallelize(model: nn.Module, mesh: _ops.Group, plan: Plan = "auto", sequence_parallel: bool = True,
                least_rows: int = 1024) -> nn.Module:
    """Divides a model's linear layers among the ranks of a group, in place, and returns the model. Collective.

    mesh: a DeviceMesh of one dimension, a process group, or its name.
    plan: "auto" for models of Llama's form (Llama, Mistral, Qwen2, Qwen3 and others with the same names): q, k, v and
    gate, up are merged, embeddings and norms work on shares of the rows, lm_head is divided where its outputs can be.
    Otherwise a mapping from names of linear layers, in which * stands for a number, to "colwise" or "rowwise".
    sequence_parallel: with "auto", whether passes are divided (see Division) that have at least `least_rows` rows or
    gradients. With a mapping, whether "colwise" layers take and "rowwise" layers give shares of the rows.

    Weights may be whole on every rank, on any device, or divided already as transformers loads them with a tp_plan.
    Raises ValueError with the name of the layer where a model is of another form or cannot be divided, before anything
    is changed."""
    group_name = _group.name_of(mesh)
    if plan != "auto":
        if isinstance(plan, str):
            raise ValueError(f"tilepost.torch.parallelize: plan is '{plan}'; expected \"auto\" or a mapping")
        return _parallelize_by_names(model, group_name, plan, sequence_parallel)
    division = Division(group_name, sequence_parallel, least_rows)
    form = _form_of(model)
    made = [_made_for(name, layer, division) for name, layer in form.layers]
    head = _made_head(form, division)
    for layer in made:
        layer.put_in_place(division)
    if head is not None:
        form.head_parent.lm_head = head
    fuse_norms([layer for _, layer in form.layers], form.base.norm, division)
    _divide_passes(form, division)
    return model


def _own_part(name: str, linear: nn.Module, dim: int,
              division: Division) -> tuple[torch.Tensor, Optional[torch.Tensor]]:
    """This rank's part of weight and bias: of the outputs (dim 0), or of the inputs, where the bias stays whole."""
    check_linear(name, linear)
    weight = part_of(name, linear.weight, dim, division.rank, division.world)
    if linear.bias is None or dim == 1:
        return weight, whole_of(linear.bias)
    return weight, part_of(name, linear.bias, 0, division.rank, division.world)


class _Form(NamedTuple):
    """Where the parts of a Llama-shaped model are."""
    base: nn.Module  # has embed_tokens, layers and norm
    layers: list[tuple[str, nn.Module]]
    head_parent: nn.Module
    embedding: nn.Module


def _form_of(model: nn.Module) -> _Form:
    base = getattr(model, getattr(model, "base_model_prefix", "model") or "model", model)
    missing = [name for name in ("embed_tokens", "layers", "norm") if not hasattr(base, name)]
    if missing:
        raise ValueError(f"tilepost.torch.parallelize: {type(base).__name__} has no {' and no '.join(missing)}, so it "
                         "is not of Llama's form; give a plan of names, or use tilepost.torch's layers in the model")
    layers = [(f"layers.{index}", layer) for index, layer in enumerate(base.layers)]
    return _Form(base, layers, model, base.embed_tokens)


class _Made(NamedTuple):
    """What replaces the linear layers of a decoder layer."""
    layer: nn.Module
    qkv: MergedColumnParallelLinear
    gate_up: MergedColumnParallelLinear
    o: DividedRowLinear
    down: DividedRowLinear

    def put_in_place(self, division: Division) -> None:
        attention, mlp = self.layer.self_attn, self.layer.mlp
        for parent, names, merged in ((attention, _QKV, self.qkv), (mlp, _GATE_UP, self.gate_up)):
            for name, part in zip(names, in_parts(merged)):
                setattr(parent, name, part)
        attention.o_proj, mlp.down_proj = self.o, self.down
        for name, child in self.layer.named_children():
            if name not in ("self_attn", "mlp") and next(child.parameters(), None) is not None:
                sum_gradients(child, division)
        for name, child in attention.named_children():
            if name.endswith("norm"):
                sum_gradients(child, division, always=True)
        attention.register_forward_pre_hook(_gather_for_attention, with_kwargs=True)


def _made_for(name: str, layer: nn.Module, division: Division) -> _Made:
    _check_layer(name, layer)
    attention, mlp = layer.self_attn, layer.mlp
    qkv = _merged(f"{name}.self_attn", attention, _QKV, division)
    gate_up = _merged(f"{name}.mlp", mlp, _GATE_UP, division)
    o, down = (DividedRowLinear(*_own_part(f"{name}.{each}", linear, 1, division), division)
               for each, linear in (("self_attn.o_proj", attention.o_proj), ("mlp.down_proj", mlp.down_proj)))
    _check_heads(name, attention, qkv)
    return _Made(layer, qkv, gate_up, o, down)


def _check_layer(name: str, layer: nn.Module) -> None:
    """Refuses a layer that has other linear layers than Llama's, or lacks one."""
    for parent, wanted in (("self_attn", {*_QKV, "o_proj"}), ("mlp", {*_GATE_UP, "down_proj"})):
        module = getattr(layer, parent, None)
        have = set() if module is None else {
            each for each, child in module.named_modules() if isinstance(child, nn.Linear)}
        if have != wanted:
            different = ", ".join(sorted(have ^ wanted))
            raise ValueError(f"tilepost.torch.parallelize: '{name}.{parent}' is not of Llama's form: {different} is in "
                             "one of them alone; give a plan of names")


def _check_heads(name: str, attention: nn.Module, qkv: MergedColumnParallelLinear) -> None:
    head_dim = getattr(attention, "head_dim", None)
    if head_dim and any(size % head_dim for size in qkv.sizes):
        raise ValueError(f"tilepost.torch.parallelize: '{name}.self_attn' would have {qkv.sizes} outputs of q, k and v "
                         f"on each rank, which are not whole heads of {head_dim}; use fewer ranks")


def _merged(prefix: str, parent: nn.Module, names: tuple[str, ...], division: Division) -> MergedColumnParallelLinear:
    return merge([getattr(parent, name) for name in names], division.group_name, division.sequence_parallel, division,
                 [f"{prefix}.{name}" for name in names])


def _made_head(form: _Form, division: Division) -> Optional[nn.Module]:
    """The lm_head, unless there is none, it is the embedding's weight, or its outputs cannot be divided."""
    head = getattr(form.head_parent, "lm_head", None)
    if not isinstance(head, nn.Linear) or head.weight is form.embedding.weight:
        return None
    if head.weight.shape[0] % division.world != 0:
        return None
    return GatheredColumnLinear(*_own_part("lm_head", head, 0, division), division)


def _gather_for_attention(attention: nn.Module, inputs: tuple, others: dict[str, Any]) -> Optional[tuple]:
    """In a divided pass: multiplies q, k and v with the gathered rows, and gives these rows to the attention, which
    takes its batch from them."""
    merged = attention.q_proj.merged
    if not merged.division.divided:
        return None
    if "hidden_states" in others:
        return inputs, {**others, "hidden_states": merged.begin(others["hidden_states"])}
    return (merged.begin(inputs[0]), *inputs[1:]), others


def _divide_passes(form: _Form, division: Division) -> None:
    """Divides the rows in front of the first layer, and gathers them behind the last norm."""
    first = form.layers[0][1]
    for module in (form.base, first):
        module.division = division  # by which the hooks find it, in copies of the model too
    form.base.register_forward_pre_hook(_begin_pass, with_kwargs=True)
    if not division.sequence_parallel:
        return
    first.register_forward_pre_hook(_enter_first_layer, with_kwargs=True)
    sum_gradients(form.base.norm, division)
    form.base.norm.register_forward_hook(_leave_last_norm)


def _begin_pass(base: nn.Module, _: tuple, others: dict[str, Any]) -> None:
    asked = others.get("output_hidden_states")
    if asked is None:
        asked = getattr(getattr(base, "config", None), "output_hidden_states", False)
    base.division.begin(torch.is_grad_enabled(), bool(asked))


def _enter_first_layer(layer: nn.Module, inputs: tuple, others: dict[str, Any]) -> tuple:
    if "hidden_states" in others:
        return inputs, {**others, "hidden_states": layer.division.enter(others["hidden_states"])}
    return (layer.division.enter(inputs[0]), *inputs[1:]), others


def _leave_last_norm(norm: nn.Module, _: tuple, output: torch.Tensor) -> torch.Tensor:
    return norm.division.leave(output)


def _parallelize_by_names(model: nn.Module, group_name: str, plan: Mapping[str, str],
                          sequence_parallel: bool) -> nn.Module:
    group = _group.resolve(group_name)
    world = dist.get_world_size(group)
    chosen: list[tuple[str, str]] = []
    for pattern, style in plan.items():
        if style not in ("colwise", "rowwise"):
            raise ValueError(f"tilepost.torch.parallelize: '{pattern}' is given '{style}'; expected colwise or rowwise")
        known = re.compile(re.escape(pattern).replace(r"\*", r"\d+"))
        names = [name for name, _ in model.named_modules() if known.fullmatch(name)]
        if not names:
            raise ValueError(f"tilepost.torch.parallelize: no layer of {type(model).__name__} is called '{pattern}'")
        for name in names:
            linear = check_linear(name, model.get_submodule(name))
            check_divisible(name, linear.weight, 0 if style == "colwise" else 1, world)
        chosen += [(name, style) for name in names]
    for name, style in chosen:
        parent, _, own = name.rpartition(".")
        kind = ColumnParallelLinear if style == "colwise" else RowParallelLinear
        setattr(model.get_submodule(parent), own,
                kind.from_linear(model.get_submodule(name), group_name, sequence_parallel))
    return model
