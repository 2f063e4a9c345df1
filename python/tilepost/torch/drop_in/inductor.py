"""A pass of PyTorch's inductor: fused operations of a graph become tilepost's."""
from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, Optional

import torch
import torch.distributed._symmetric_memory as symm_mem_module
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files

from tilepost.torch.drop_in.install import _OPERATIONS, _own, serve

_log = logging.getLogger("tilepost")
_library = torch.library.Library("tilepost", "FRAGMENT")
_functional = torch.ops._c10d_functional
_aten = torch.ops.aten

# The collectives of tensor parallelism: a graph with one of them has something to replace.
_COLLECTIVES = (_functional.all_gather_into_tensor.default, _functional.reduce_scatter_tensor.default,
                _functional.all_reduce.default)


def _define(name: str) -> None:
    """tilepost::<name> with the signature of symm_mem::<name>."""
    schema = str(getattr(torch.ops.symm_mem, name).default._schema).split("::", 1)[1]
    _library.define(schema, tags=[torch._C.Tag.needs_fixed_stride_order])
    for key in ("CUDA", "CPU"):
        _library.impl(name, serve(name, _own(name, key)), key)
    _library.impl(name, getattr(symm_mem_module, f"_{name}_fallback"), "Meta")


for _name in _OPERATIONS:
    _define(_name)
_TARGETS = {getattr(torch.ops.symm_mem, name).default: getattr(torch.ops.tilepost, name).default
            for name in _OPERATIONS}


def _replace_all_reduce(wait: torch.fx.Node) -> bool:
    """wait(all_reduce(a b)) of a product that has no other use becomes gemm_all_reduce."""
    reduce = wait.args[0]
    if not isinstance(reduce, torch.fx.Node) or reduce.target is not _functional.all_reduce.default:
        return False
    product, operation, group_name = reduce.args
    if operation != "sum" or len(reduce.users) != 1 or not isinstance(product, torch.fx.Node):
        return False
    if product.target is not _aten.mm.default or len(product.users) != 1:
        return False
    graph = wait.graph
    with graph.inserting_before(wait):
        w = graph.call_function(_aten.permute.default, (product.args[1], [1, 0]))
        w.meta["val"] = product.args[1].meta["val"].permute(1, 0)
        new = graph.call_function(torch.ops.tilepost.gemm_all_reduce.default, (product.args[0], w, None, group_name))
        new.meta["val"] = wait.meta["val"]
    wait.replace_all_uses_with(new)
    for node in (wait, reduce, product):
        graph.erase_node(node)
    return True


class InductorPass(CustomGraphPass):
    """Replaces, in every graph: the fused nodes that PyTorch's async-TP has made, and a matrix product that an
    all_reduce sums."""

    def __init__(self, strict: Optional[bool] = None) -> None:
        """`strict`: whether a graph with collectives in which nothing is replaced is an error; None: with
        TILEPOST=strict."""
        self._strict = strict
        self.replaced = 0  # in all graphs so far

    def __call__(self, graph: torch.fx.Graph) -> None:
        nodes = list(graph.nodes)
        fused = [node for node in nodes if node.target in _TARGETS]
        for node in fused:
            node.target = _TARGETS[node.target]
        waits = [node for node in nodes if node.target is _functional.wait_tensor.default]
        count = len(fused) + sum(_replace_all_reduce(node) for node in waits)
        self.replaced += count
        _log.info("tilepost: replaced %d of the graph's products and collectives", count)
        strict = os.environ.get("TILEPOST", "") == "strict" if self._strict is None else self._strict
        if strict and count == 0 and any(node.target in _COLLECTIVES for node in nodes):
            raise RuntimeError(
                "tilepost.torch.inductor_pass: the graph has collectives, and none of them stands beside a matrix "
                "product that could be replaced. For ReduceScatter and AllGather turn on torch._inductor.config."
                "_micro_pipeline_tp and call torch.distributed._symmetric_memory.enable_symm_mem_for_group")

    def uuid(self) -> Any:
        """What compiled graphs are cached by."""
        return get_hash_for_files((str(Path(__file__)),), f"strict={self._strict}")


def inductor_pass(strict: Optional[bool] = None) -> InductorPass:
    """The pass, for torch._inductor.config.post_grad_custom_post_pass. It runs behind PyTorch's own async-TP pass."""
    return InductorPass(strict)
