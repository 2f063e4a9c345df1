"""This rank's parts of a layer's weight."""
from __future__ import annotations

from typing import Optional

import torch
from torch import nn

try:
    from torch.distributed.tensor import DTensor, Shard
except ImportError:  # PyTorch without distributed tensors
    DTensor = None


def part_of(name: str, tensor: torch.Tensor, dim: int, rank: int, world: int) -> torch.Tensor:
    """This rank's rows (dim 0) or columns (dim 1) of a parameter, which all ranks have whole, or which a loader has
    divided among them already (a DTensor). `name` is the layer's, for errors."""
    if DTensor is not None and isinstance(tensor, DTensor):
        if tensor.device_mesh.size() != world:
            raise ValueError(f"tilepost.torch.parallelize: '{name}' is divided among {tensor.device_mesh.size()} "
                             f"ranks, and the group has {world}")
        placement, local = tensor.placements[0], tensor.to_local().detach()
        if isinstance(placement, Shard) and placement.dim % tensor.dim() == dim:
            return local.clone()
        if not placement.is_replicate():
            raise ValueError(f"tilepost.torch.parallelize: '{name}' is divided as {placement}; expected Shard({dim})")
        tensor = local
    check_divisible(name, tensor, dim, world)
    share = tensor.shape[dim] // world
    return tensor.detach().narrow(dim, rank * share, share).clone()


def check_divisible(name: str, tensor: torch.Tensor, dim: int, world: int) -> None:
    """Refuses a parameter whose rows (dim 0) or columns (dim 1) are no multiple of the ranks."""
    if tensor.shape[dim] % world != 0:
        raise ValueError(f"tilepost.torch.parallelize: '{name}' has {tensor.shape[dim]} {('outputs', 'inputs')[dim]}, "
                         f"which cannot be divided among {world} ranks")


def whole_of(tensor: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
    """A parameter that all ranks have whole."""
    if tensor is None:
        return None
    if DTensor is not None and isinstance(tensor, DTensor):
        tensor = tensor.full_tensor()
    return tensor.detach().clone()


def check_linear(name: str, module: nn.Module) -> nn.Linear:
    """The module, which has to be a linear layer that multiplies its weight as it is."""
    if not isinstance(module, nn.Linear):
        raise ValueError(f"tilepost.torch.parallelize: '{name}' is a {type(module).__name__}, not a torch.nn.Linear; "
                         "leave it out of the plan")
    return module
