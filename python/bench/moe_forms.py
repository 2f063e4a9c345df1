"""The ways in which a whole layer of experts is computed: from hidden states, ids and weights to the tokens' sums."""
from __future__ import annotations

from typing import Callable, Union

import torch
import torch.distributed as dist

import experts
import tilepost
import timing
from experts import Layer


class Unavailable(Exception):
    """A form that does not run here, or not in this mode. Its text says why. All ranks raise it together."""


def attempt(body: Callable[[], object]) -> None:
    """body() on every rank. Where it fails on one, all ranks say so. Collective."""
    failure = None
    try:
        body()
    except (RuntimeError, OSError, AttributeError) as error:
        failure = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    failures: list[Union[str, None]] = [None] * dist.get_world_size()
    dist.all_gather_object(failures, failure)
    for each in failures:
        if each is not None:
            raise Unavailable(each)


class Ours(experts.Ours):
    """tilepost's layer as one operation, which routes too."""

    def __call__(self) -> torch.Tensor:
        layer = self.layer
        return self.run(layer.hidden, layer.gate_up, tilepost.LayerOperands(
            layer.down, ids=layer.ids, weights=layer.weights, tokens=layer.case.tokens))


def all_gather(layer: Layer) -> timing.Call:
    """AllGather, sort, grouped GEMMs, weighted sum, ReduceScatter. With all rows it waits for no number."""
    def call() -> torch.Tensor:
        rows = layer.sort()
        return layer.down_sums(layer.up(rows), rows)

    return call


class _Routes:
    """A rank's own routes, sorted by expert."""

    def __init__(self, layer: Layer) -> None:
        ids = layer.ids.flatten()
        ordered, self.order = ids.sort(stable=True)
        ends = torch.searchsorted(ordered, torch.arange(1, layer.shape.experts + 1, device=layer.device))
        self.counts = torch.diff(ends, prepend=ends.new_zeros(1))  # of each expert of all ranks
        self.tokens = self.order // layer.shape.top
        self.rows = torch.empty_like(self.order)  # for each token its routes' places in this order
        self.rows[self.order] = torch.arange(len(ids), device=layer.device)
        self.rows = self.rows.view(layer.ids.shape)


def _exchanged(rows: torch.Tensor, sent: list[int], received: list[int]) -> torch.Tensor:
    out = rows.new_empty(sum(received), *rows.shape[1:])
    dist.all_to_all_single(out, rows, received, sent)
    return out


def all_to_all(layer: Layer) -> timing.Call:
    """A row for each route goes to the rank of its expert, and home, as in torchtitan. Sizes go to the host."""
    if layer.case.mode == "graph":
        raise Unavailable("its sizes are on the host, so that no graph can capture it")
    world, local = layer.world, layer.local

    def call() -> torch.Tensor:
        routes = _Routes(layer)
        arriving = torch.empty_like(routes.counts)
        dist.all_to_all_single(arriving, routes.counts)
        by_source = arriving.view(world, local)
        sizes = torch.stack([routes.counts.view(world, local).sum(1), by_source.sum(1)]).tolist()
        received = _exchanged(layer.hidden.index_select(0, routes.tokens), sizes[0], sizes[1])
        # Rows come by source, and within a source by expert.
        expert = torch.arange(local, device=layer.device).repeat(world).repeat_interleave(
            arriving, output_size=len(received))
        order = expert.argsort(stable=True)
        ends = by_source.sum(0).cumsum(0).int()
        inner = layer.activation(experts.grouped(received.index_select(0, order), layer.gate_up, ends))
        made = torch.empty_like(received)
        made[order] = experts.grouped(inner, layer.down, ends)
        home = _exchanged(made, sizes[1], sizes[0])
        return layer.weighted_sum(home, routes.rows, layer.weights)

    return call


class Symmetric:
    """The same by torch.ops.symm_mem.all_to_all_vdev_2d, which reads sizes on the device and sorts by expert."""

    def __init__(self, layer: Layer) -> None:
        if layer.device.type != "cuda":
            raise Unavailable("it needs NVSHMEM, and so GPUs")
        self.layer = layer
        attempt(self._allocate)

    def _allocate(self) -> None:
        import torch.distributed._symmetric_memory as symmetric  # pylint: disable=import-outside-toplevel
        if symmetric.get_backend(self.layer.device) != "NVSHMEM":
            symmetric.set_backend("NVSHMEM")
        shape, device = self.layer.shape, self.layer.device
        routes = self.layer.case.tokens * shape.top
        # An expert without rows takes a row of space.
        most = routes * self.layer.world + self.layer.local

        def empty(*size: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
            return symmetric.empty(*size, dtype=dtype, device=device)

        self.sent, self.home = (empty(routes, shape.hidden, dtype=torch.bfloat16) for _ in range(2))
        self.received, self.made = (empty(most, shape.hidden, dtype=torch.bfloat16).zero_() for _ in range(2))
        self.counts = empty(shape.experts)
        self.arrived, self.returned = (empty(2, shape.experts) for _ in range(2))  # counts and places
        self.group = dist.group.WORLD.group_name

    def __call__(self) -> torch.Tensor:
        layer = self.layer
        routes = _Routes(layer)
        self.counts.copy_(routes.counts)
        torch.index_select(layer.hidden, 0, routes.tokens, out=self.sent)
        torch.ops.symm_mem.all_to_all_vdev_2d(self.sent, self.received, self.counts, self.arrived, self.group)
        # By expert, and within an expert by source: an expert ends with the rows of the last source.
        ends = self.arrived.sum(0).view(layer.local, layer.world)[:, -1].int()
        inner = layer.activation(experts.grouped(self.received, layer.gate_up, ends))
        self.made.copy_(experts.grouped(inner, layer.down, ends))
        torch.ops.symm_mem.all_to_all_vdev_2d_offset(self.made, self.home, self.arrived, self.returned, self.group)
        return layer.weighted_sum(self.home, routes.rows, layer.weights)


BASELINES = {"AllGather": all_gather, "all_to_all_single": all_to_all, "all_to_all_vdev_2d": Symmetric}
