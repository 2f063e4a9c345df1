"""transformers' own tensor parallelism of a model that is made already. transformers divides models while it loads them,
and its call for that is not for others: it changed between 5.17 and 5.24."""
from __future__ import annotations

import inspect

import transformers
from torch.distributed.device_mesh import DeviceMesh
from transformers.distributed.tensor_parallel import apply_tensor_parallelism


def divide(model: transformers.PreTrainedModel, mesh: DeviceMesh) -> transformers.PreTrainedModel:
    """Divides the model by its tp_plan, as from_pretrained(…, tp_plan="auto") does it."""
    if "tp_plan" not in inspect.signature(apply_tensor_parallelism).parameters:
        return apply_tensor_parallelism(model, mesh)
    of_every_layer = model._expand_parallel_plan(model.tp_plan)  # pylint: disable=protected-access
    return apply_tensor_parallelism(model, mesh, of_every_layer)
