"""Process groups as communicators, and the operations that are made of them."""
from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from typing import Any, Union

import torch
import torch.distributed as dist

import tilepost
from tilepost._errors import Error

# The element types that the bundled kernels multiply, as a spec calls them.
DTYPES = {torch.bfloat16: "bf16", torch.float16: "f16"}

# Runs have at most so many rows, unless one needs more; then another operation is made.
_LEAST_ROWS = 1024


def resolve(group_name: str) -> dist.ProcessGroup:
    """The group of that name, as PyTorch's own functional collectives find it."""
    return dist.distributed_c10d._resolve_process_group(group_name)  # pylint: disable=protected-access


def name_of(group: Union[dist.ProcessGroup, str, None]) -> str:
    """The name of a group: of the default one for None."""
    if isinstance(group, str):
        return group
    chosen = group if group is not None else dist.group.WORLD
    if chosen is None:
        raise ValueError("tilepost.torch: there is no process group; call torch.distributed.init_process_group first")
    return chosen.group_name


@dataclass(frozen=True)
class Layer:
    """What an operation is made for: everything but the number of rows."""
    pattern: str
    n: int
    k: int
    dtype: torch.dtype
    layout: str  # of w: tn [n, k], nn [k, n]
    bias: bool

    def fields(self, ranks: int, most_rows: int) -> dict[str, tilepost._plan.Value]:
        """The spec, for the host target."""
        return {"pattern": self.pattern, "ranks": ranks, "gemm.m": {"max": most_rows}, "gemm.n": self.n,
                "gemm.k": self.k, "gemm.a": DTYPES[self.dtype], "gemm.layout": self.layout,
                "gemm.epilogue": ["bias"] if self.bias else [], "arch": "host", "schedule.tile": [64, 64]}


class _HostRanks:
    """Communicators of groups whose ranks are threads of this process. The first rank makes those of all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, dict[int, tilepost.Comm]] = {}

    def take(self, group_name: str, rank: int, world: int) -> tilepost.Comm:
        """This rank's communicator."""
        with self._lock:
            comms = self._waiting.setdefault(group_name, {})
            if rank not in comms:
                comms.update(enumerate(tilepost.Comm.host(world)))
            comm = comms.pop(rank)
            if not comms:
                del self._waiting[group_name]
            return comm


_host_ranks = _HostRanks()
_catalogue: list[tilepost.Catalogue] = []
_plans: dict[tuple[Layer, int, int], tilepost.Plan] = {}
_plans_lock = threading.Lock()


def use_catalogue(catalogue: tilepost.Catalogue) -> None:
    """Takes kernels from this catalogue and not from the package's, in operations that are made from here on."""
    _catalogue[:] = [catalogue]


def _plan_of(layer: Layer, ranks: int, most_rows: int) -> tilepost.Plan:
    """The plan of a layer. Ranks that are threads share it."""
    key = layer, ranks, most_rows
    with _plans_lock:
        if key not in _plans:
            plan = tilepost.Plan(layer.fields(ranks, most_rows))
            _plans[key] = plan.load(_catalogue[0] if _catalogue else None)
        return _plans[key]


class GroupState:
    """What this rank has made for a group: a communicator, and an operation for each layer."""

    def __init__(self, group_name: str) -> None:
        group = resolve(group_name)
        self.name, self.rank, self.world = group_name, dist.get_rank(group), dist.get_world_size(group)
        self.backend = dist.get_backend(group)
        self._comm: Union[tilepost.Comm, None] = None
        self._ops: dict[tuple[Layer, int], tilepost.Op] = {}

    def why_not(self, layer: Layer, device: torch.device) -> str:
        """Why PyTorch's own operations serve this layer, or "". All ranks get the same answer."""
        if layer.dtype not in DTYPES:
            return f"{layer.dtype} is not among the types of the bundled kernels, bfloat16 and float16"
        if device.type != "cpu":
            return f"this version has the host target, and the tensors are on '{device.type}'"
        if self.backend != "threaded":
            return f"the host target needs ranks that are threads of one process, and the group's backend is " \
                   f"'{self.backend}'"
        return ""

    def op(self, layer: Layer, rows: int) -> tilepost.Op:
        """The operation that serves this layer for runs of so many rows. Collective where it is new."""
        most_rows = _LEAST_ROWS
        while most_rows < rows:
            most_rows *= 2
        key = layer, most_rows
        if key not in self._ops:
            if self._comm is None:
                self._comm = _host_ranks.take(self.name, self.rank, self.world)
            self._ops[key] = tilepost.Op(self._comm, _plan_of(layer, self.world, most_rows))
        return self._ops[key]

    def close(self) -> None:
        """Destroys the operations and the communicator."""
        for op in self._ops.values():
            op.close()
        self._ops.clear()
        if self._comm is not None:
            self._comm.close()
            self._comm = None


# Where ranks are threads, the groups of a rank belong to its thread and end with it. Otherwise they are the process's.
_of_process: dict[str, GroupState] = {}
_of_thread = threading.local()


def _states(group_name: str) -> dict[str, GroupState]:
    """The states among which that of this group is."""
    if dist.get_backend(resolve(group_name)) != "threaded":
        return _of_process
    if not hasattr(_of_thread, "states"):
        _of_thread.states = {}
    return _of_thread.states


def state_of(group_name: str) -> GroupState:
    """The state of this rank in a group."""
    states = _states(group_name)
    if group_name not in states:
        states[group_name] = GroupState(group_name)
    return states[group_name]


def release(group: Union[dist.ProcessGroup, str, None] = None) -> None:
    """Destroys what was made for a group: call it on every rank before the group is destroyed."""
    group_name = name_of(group)
    state = _states(group_name).pop(group_name, None)
    if state is not None:
        state.close()


_warned: set[str] = set()
_warned_lock = threading.Lock()


def warn_once(operation: str, reason: str) -> None:
    """Says why an operation of PyTorch's own is used, once for each reason."""
    with _warned_lock:
        is_new = reason not in _warned
        _warned.add(reason)
    if is_new:
        warnings.warn(f"tilepost.torch.{operation} uses PyTorch's own operations: {reason}", stacklevel=3)


def fail(operation: str, error: Error, **shapes: Any) -> None:
    """Raises an error of the runtime with the operation's name and the shapes."""
    text = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
    raise type(error)(f"tilepost.torch.{operation} ({text}): {error}", error.result) from error
