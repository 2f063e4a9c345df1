"""Process groups: what this rank has made for each of them."""
from __future__ import annotations

import atexit
import threading
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Iterable, Union

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

import tilepost
from tilepost._errors import Error, OutOfMemory, Unsupported
from tilepost._plan import Value
from tilepost.torch import _communicators, _plans
from tilepost.torch._layer import DTYPES, HOST, ROUTED, Layer, Machine, machine_of
from tilepost.torch._plans import use_catalogue

__all__ = ["DTYPES", "GroupMemory", "GroupState", "Layer", "init", "memory", "name_of", "release", "resolve",
           "state_of", "use_catalogue"]

# Runs have at most so many rows, unless one needs more; then another operation is made.
_LEAST_ROWS = 1024

# What is asked of the plan, in turn, until all ranks can make it: what the planner thinks fastest, which often stores
# into other GPUs' memory, and then messages, which go everywhere.
_WISHES: tuple[dict[str, Value], ...] = ({}, {"transport": "nccl"})


def resolve(group_name: str) -> dist.ProcessGroup:
    """The group of that name, as PyTorch's own functional collectives find it."""
    return dist.distributed_c10d._resolve_process_group(group_name)  # pylint: disable=protected-access


Group = Union[dist.ProcessGroup, DeviceMesh, str, None]


def name_of(group: Group) -> str:
    """The name of a group: of the default one for None, and of that of a mesh of one dimension."""
    if isinstance(group, str):
        return group
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise ValueError(f"tilepost.torch: the mesh has {group.ndim} dimensions; give the one for tensor "
                             "parallelism, such as mesh[\"tp\"]")
        group = group.get_group()
    chosen = group if group is not None else dist.group.WORLD
    if chosen is None:
        raise ValueError("tilepost.torch: there is no process group; call torch.distributed.init_process_group first")
    return chosen.group_name


class Served:
    """An operation that serves a layer's runs of at most `most_rows` rows."""

    def __init__(self, op: tilepost.Op, most_rows: int) -> None:
        self.op, self.most_rows = op, most_rows
        self.captured = {0}  # the numbers of rows that a graph may capture: those that have run


@dataclass(frozen=True)
class GroupMemory:
    """Bytes of device memory outside PyTorch's allocator, in all and of each operation that was made. The memory that
    other ranks touch is common to a group's operations, and counts for the one for which it was allocated."""
    bytes: int
    operations: tuple[tuple[Layer, int, int], ...]  # the layer, the most rows of a run, and bytes

    def __str__(self) -> str:
        lines = [f"{self.bytes / 2**20:.1f} MiB"]
        for layer, rows, size in self.operations:
            name = f"{layer.pattern}{'_norm' if layer.norm else ''}"
            lines.append(f"  {size / 2**20:.1f} MiB: {name}, n {layer.n}, k {layer.k}, {layer.dtype}, "
                         f"up to {rows} rows")
        return "\n".join(lines)


class GroupState:
    """What this rank has made for a group: a communicator, and operations for each layer."""

    def __init__(self, group_name: str) -> None:
        self.group = resolve(group_name)
        self.name, self.rank, self.world = group_name, dist.get_rank(self.group), dist.get_world_size(self.group)
        self.backend = dist.get_backend(self.group)
        self.max_rows = 0  # that init() was told
        self.communicator: Union[str, int] = "own"
        self.device: Union[torch.device, None] = None
        self._machine: Union[Machine, None] = None
        self._comm: Union[tilepost.Comm, None] = None
        self._served: dict[Layer, list[Served]] = {}
        self._reasons: dict[Layer, str] = {}  # why PyTorch's own operations serve a layer, or ""
        self._device_reason: Union[str, None] = None  # why they serve all layers; None: not known yet
        self.last_stream = 0  # of the last eager run; 0: the default one
        self.ready: dict[Any, Any] = {}  # what serves calls like those before (_again.Ready)

    # ---- Whether this group can run a layer

    def why_not(self, layer: Layer, device: torch.device) -> str:
        """Why PyTorch's own operations serve this layer, or "". All ranks get the same answer. Collective where it is
        asked for the first time."""
        reason = self._reasons.get(layer)
        if reason is None:
            reason = self._reasons[layer] = self._look(layer, device)
        elif device != self.device and self.device is not None:
            raise ValueError(f"tilepost.torch: tensors on '{device}' in group '{self.name}', whose operations are on "
                             f"'{self.device}'; a rank has one device")
        return reason

    def _look(self, layer: Layer, device: torch.device) -> str:
        if layer.dtype not in DTYPES:
            names = ", ".join(str(each).removeprefix("torch.") for each in DTYPES)
            return f"{layer.dtype} is not among the types of the bundled kernels, {names}"
        if device.type not in ("cpu", "cuda"):
            return f"there are operations for CPUs and NVIDIA's GPUs, and the tensors are on '{device.type}'"
        if device.type == "cuda":
            return self._look_at_gpu(layer, device)
        if self.backend != "threaded":
            return f"the host target needs ranks that are threads of one process, and the group's backend is " \
                   f"'{self.backend}'"
        self._machine, self.device = HOST, device
        return ""

    def _look_at_gpu(self, layer: Layer, device: torch.device) -> str:
        if self.backend in ("threaded", "fake"):
            return f"ranks on GPUs are processes, and the group's backend is '{self.backend}'"
        if self.world == 1:
            return "the group has one rank"
        self._refuse_in_capture(layer, "looked at")
        with torch.cuda.device(device):
            if self._device_reason is None:
                self._device_reason = self._agree_on_gpus(device)
                self.device = device
            return self._device_reason or self._make_first(layer)

    def _agree_on_gpus(self, device: torch.device) -> str:
        """Why the group's GPUs cannot run operations, or "". Makes the communicator. Collective."""
        machine, facts = machine_of(device), None
        if not _communicators.has_cuda():
            reason = "this tilepost was built without CUDA"
        elif isinstance(machine, str):
            reason = machine
        else:
            reason, facts = _facts_of(machine)
        ranks = _communicators.on_all_ranks(self.group, (reason, facts))
        for rank, (why, fact) in enumerate(ranks):
            if why:
                return why if why == reason else f"on rank {rank}: {why}"
            if fact != ranks[0][1]:
                return f"rank 0 has {' '.join(map(str, ranks[0][1]))}, and rank {rank} {' '.join(map(str, fact))}"
        assert isinstance(machine, Machine)
        self._machine = machine
        try:
            self._comm = _communicators.cuda_communicator(self.group, device, self.communicator)
        except Unsupported as error:
            return str(error)
        return ""

    def _make_first(self, layer: Layer) -> str:
        """Makes the layer's first operation. Returns why that is not possible, or "". Collective."""
        try:
            self._make(layer, self._most_rows(layer, 1))
        except Unsupported as error:
            return str(error)
        return ""

    # ---- Operations

    def served(self, layer: Layer, rows: int) -> Served:
        """What serves this layer for runs of so many rows. Collective where it is new."""
        for served in self._served.get(layer, ()):
            if rows <= served.most_rows:
                return served
        self._refuse_in_capture(layer, "made")
        with torch.cuda.device(self.device) if self._machine is not HOST else nullcontext():
            return self._make(layer, self._most_rows(layer, rows))

    def _most_rows(self, layer: Layer, rows: int) -> int:
        if layer.routing and rows > max(self.max_rows, _LEAST_ROWS):
            raise ValueError(
                f"tilepost.torch.{layer.pattern}: {rows} rows on rank {self.rank}, and the bound is "
                f"{max(self.max_rows, _LEAST_ROWS)}; ranks may have different numbers of rows, so call "
                "tilepost.torch.init(group, max_rows=…) on all of them first")
        if rows <= self.max_rows:
            return self.max_rows
        most_rows = _LEAST_ROWS
        while most_rows < rows:
            most_rows *= 2
        return most_rows

    def _make(self, layer: Layer, most_rows: int) -> Served:
        assert self._machine is not None
        if self._machine is HOST:
            if self._comm is None:
                self._comm = _communicators.host_communicator(self.group)
            op = tilepost.Op(self._comm, _plans.plan_of(layer, self.world, most_rows, HOST))
        else:
            op = self._make_on_gpu(layer, most_rows)
        served = Served(op, most_rows)
        self._served.setdefault(layer, []).append(served)
        return served

    def _make_on_gpu(self, layer: Layer, most_rows: int) -> tilepost.Op:
        """The operation by the first of _WISHES that all ranks can make."""
        reasons = []
        for wish in _WISHES:
            try:
                op = self._make_as(layer, most_rows, wish)
            except Unsupported as error:
                reasons.append(str(error))
                continue
            if reasons and is_new(f"transport of {self.name}"):
                warnings.warn(f"tilepost.torch: group '{self.name}' uses transport nccl: {reasons[0]}", stacklevel=2)
            return op
        raise Unsupported(reasons[-1], "TILEPOST_UNSUPPORTED")

    def _make_as(self, layer: Layer, most_rows: int, wish: dict[str, Value]) -> tilepost.Op:
        comm, machine = self._comm, self._machine
        assert comm is not None and machine is not None
        plan = _communicators.attempt(self.group,
                                      lambda: _plans.plan_of(layer, self.world, most_rows, machine, wish))

        def create() -> tilepost.Op:
            return tilepost.Op(comm, plan, share_memory=True)

        try:
            return _communicators.attempt(self.group, create)
        except OutOfMemory:
            torch.cuda.empty_cache()  # the runtime allocates beside PyTorch's allocator, which keeps what it has freed
            return _communicators.attempt(self.group, create)

    def _refuse_in_capture(self, layer: Layer, what: str) -> None:
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            raise RuntimeError(f"tilepost.torch.{layer.pattern}: an operation cannot be {what} while a CUDA graph is "
                               "captured; run once before, with this number of rows")

    def stream_of_run(self, layer: Layer, served: Served, rows: int) -> int:
        """The current stream, on which a run of so many rows may be put now. Runs of a group follow each other: they
        share memory."""
        assert self.device is not None
        stream = torch._C._cuda_getCurrentRawStream(self.device.index)  # pylint: disable=protected-access
        if torch.cuda.is_current_stream_capturing():
            if rows not in served.captured:
                raise RuntimeError(
                    f"tilepost.torch.{layer.pattern}: a run of {rows} rows cannot be captured in a CUDA graph before "
                    f"one has run eagerly; run once with {rows} rows, as PyTorch's warm-up does")
            return stream
        if stream != self.last_stream:
            if self.last_stream:
                last = torch.cuda.ExternalStream(self.last_stream, device=self.device)
                torch.cuda.current_stream(self.device).wait_stream(last)
            self.last_stream = stream
        return stream

    # ---- The end

    def memory(self) -> GroupMemory:
        """What the operations take."""
        operations = tuple((layer, served.most_rows, served.op.device_bytes)
                           for layer, list_of in self._served.items() for served in list_of)
        return GroupMemory(sum(size for *_, size in operations), operations)

    def close(self) -> None:
        """Destroys the operations and the communicator."""
        self.ready.clear()
        for named in [named for named, state in _of_call.items() if state is self]:
            del _of_call[named]
        served = [each for list_of in self._served.values() for each in list_of]
        self._served.clear()
        self._reasons.clear()
        self._device_reason = None
        for each in served:
            each.op.close()
        if self._comm is not None:
            self._comm.close()
            self._comm = None


def _facts_of(machine: Machine) -> tuple[str, Any]:
    """Why this rank has no kernels, or "" and what has to be the same on all ranks."""
    try:
        return "", (tilepost.__version__, machine.arch, machine.sms, machine.name, _plans.digest())
    except (Error, OSError) as error:
        return f"there is no catalogue of kernels: {error}", None


# Where ranks are threads, the groups of a rank belong to its thread and end with it. Otherwise they are the process's.
_of_process: dict[str, GroupState] = {}
_of_thread = threading.local()


def _states(group: dist.ProcessGroup) -> dict[str, GroupState]:
    """The states among which that of this group is."""
    if dist.get_backend(group) != "threaded":
        return _of_process
    if not hasattr(_of_thread, "states"):
        _of_thread.states = {}
    return _of_thread.states


def state_of(group_name: str) -> GroupState:
    """The state of this rank in a group. A group that was destroyed and made again is another one."""
    group = resolve(group_name)
    state = _of_process.get(group_name)
    if state is not None and state.group is group:
        return state
    states = _states(group)
    state = states.get(group_name)
    if state is not None and state.group is group:
        return state
    if state is not None:
        state.close()
    state = states[group_name] = GroupState(group_name)
    return state


_of_call: dict[Any, GroupState] = {}  # on GPUs, by what calls name a group with


def state_of_call(group: Group) -> GroupState:
    """state_of(name_of(group)), in less time where the group was found before."""
    named = dist.group.WORLD if group is None else group
    state = _of_call.get(named)
    # PyTorch forgets a group that was destroyed.
    if state is None or state.group not in dist.distributed_c10d._world.pg_map:  # pylint: disable=protected-access
        state = _of_call[named] = state_of(name_of(group))
    return state


def init(group: Union[dist.ProcessGroup, str, None] = None, *, max_rows: int = 0,
         communicator: Union[str, int] = "own", layers: Iterable[Layer] = (),
         device: Union[torch.device, str, int, None] = None) -> GroupMemory:
    """Says what a group's operations will need, and makes what is known already. Collective; call it before the
    group's first operation. Returns the memory that this rank has taken.

    `max_rows`: the most rows of a run, of all ranks together, for which operations are made; one rank's where each run
    says where rows go. Larger runs get operations of their own. `communicator`: "own" makes one; "adopt" splits from
    the group's own, PyTorch's; a number is the address of a communicator of NCCL's (ncclComm_t) that you keep.
    `layers`: operations to make now, which saves the first runs the time, and the memory that growing would leave.
    `device`: where the tensors will be; otherwise the current GPU, or the CPU where ranks are threads.
    """
    state = state_of(name_of(group))
    if state._comm is not None or state._served:  # pylint: disable=protected-access
        raise RuntimeError(f"tilepost.torch.init: group '{state.name}' has operations already; call init before its "
                           "first operation, or tilepost.torch.release(group) on all ranks")
    if max_rows < 0:
        raise ValueError(f"tilepost.torch.init: max_rows is {max_rows}, expected at least 0")
    if not isinstance(communicator, int) and communicator not in ("own", "adopt"):
        raise ValueError(f"tilepost.torch.init: communicator is '{communicator}', expected 'own', 'adopt' or the "
                         "address of an ncclComm_t")
    state.max_rows, state.communicator = max_rows, communicator
    if device is None:
        device = "cpu" if state.backend == "threaded" else f"cuda:{torch.cuda.current_device()}"
    elif isinstance(device, int):
        device = f"cuda:{device}"
    for layer in sorted(layers, key=lambda each: each.n + each.k, reverse=True):
        if layer.pattern in ROUTED and not layer.routing:
            raise ValueError(f"tilepost.torch.init: {layer.pattern} needs routing='splits' or 'rows'")
        reason = state.why_not(layer, torch.device(device))
        if reason:
            warn_once(layer.pattern, reason)
        else:
            state.served(layer, 1)
    return state.memory()


def memory(group: Union[dist.ProcessGroup, str, None] = None) -> GroupMemory:
    """What this rank's operations of a group take."""
    return state_of(name_of(group)).memory()


def release(group: Union[dist.ProcessGroup, str, None] = None) -> None:
    """Destroys what was made for a group: call it on every rank before the group is destroyed."""
    group_name = name_of(group)
    state = _states(resolve(group_name)).pop(group_name, None)
    if state is not None:
        state.close()


@atexit.register
def _release_all() -> None:
    for state in list(_of_process.values()):
        try:
            state.close()
        except Error:  # a run that failed was reported when it did
            pass
    _of_process.clear()


_warned: set[str] = set()
_warned_lock = threading.Lock()


def is_new(text: str) -> bool:
    """Whether this is the first time that this text is given."""
    with _warned_lock:
        new = text not in _warned
        _warned.add(text)
        return new


def warn_once(operation: str, reason: str) -> None:
    """Says why an operation of PyTorch's own is used, once for each reason."""
    if is_new(reason):
        warnings.warn(f"tilepost.torch.{operation} uses PyTorch's own operations: {reason}", stacklevel=3)


def fail(operation: str, error: Error, **shapes: Any) -> None:
    """Raises an error of the runtime with the operation's name and the shapes."""
    text = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
    raise type(error)(f"tilepost.torch.{operation} ({text}): {error}", error.result) from error
