"""Communicators and operations."""
from __future__ import annotations

import ctypes
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence, Union

from tilepost import _c
from tilepost._errors import Unsupported, check
from tilepost._plan import Plan

if TYPE_CHECKING:
    from tilepost._routing import Routing

# Runs that may be in flight, whose operands are kept.
_MOST_RUNS = 32


def _address(operand: Any) -> Union[int, None]:
    """The address of an operand: a number, a tensor, or writable memory of the host such as an array."""
    if operand is None or isinstance(operand, int):
        return operand
    if hasattr(operand, "data_ptr"):
        return operand.data_ptr()
    if memoryview(operand).nbytes == 0:
        return None  # nothing is read or written there
    return ctypes.addressof(ctypes.c_char.from_buffer(operand))


def _need_cuda(name: str) -> None:
    if not hasattr(_c.lib, name):
        raise Unsupported("this tilepost was built without CUDA: it has the host target, Comm.host()",
                          "TILEPOST_UNSUPPORTED")


class Comm:
    """One rank of a communicator."""

    def __init__(self, handle: ctypes.c_void_p, rank: int, world: int) -> None:
        """Used by the functions below."""
        self._handle, self.rank, self.world = handle, rank, world

    @staticmethod
    def host(world: int) -> list[Comm]:
        """The host target: all ranks of a communicator in this process. Each belongs to a thread of its own."""
        handles = (ctypes.c_void_p * max(world, 1))()
        check(_c.lib.tilepost_comm_create_host(world, handles))
        return [Comm(ctypes.c_void_p(handle), rank, world) for rank, handle in enumerate(handles)]

    @staticmethod
    def unique_id() -> bytes:
        """Rank 0 makes an id and sends it to the other ranks by any means."""
        _need_cuda("tilepost_get_unique_id")
        unique_id = _c.UniqueId()
        check(_c.lib.tilepost_get_unique_id(ctypes.byref(unique_id)))
        return ctypes.string_at(ctypes.addressof(unique_id), ctypes.sizeof(unique_id))

    @staticmethod
    def adopt(nccl: int, rank: int, world: int) -> Comm:
        """Splits from a communicator of NCCL's, an ncclComm_t, which the caller keeps and destroys later. It is on the
        current device. Collective."""
        _need_cuda("tilepost_comm_adopt")
        handle = ctypes.c_void_p()
        check(_c.lib.tilepost_comm_adopt(nccl, ctypes.byref(handle)))
        return Comm(handle, rank, world)

    @staticmethod
    def init(unique_id: bytes, rank: int, world: int) -> Comm:
        """This rank of a communicator on the current device. Collective."""
        _need_cuda("tilepost_comm_init")
        if len(unique_id) != ctypes.sizeof(_c.UniqueId):
            raise ValueError(f"unique_id has {len(unique_id)} bytes, expected {ctypes.sizeof(_c.UniqueId)}")
        handle = ctypes.c_void_p()
        copied = _c.UniqueId.from_buffer_copy(unique_id)
        check(_c.lib.tilepost_comm_init(ctypes.byref(copied), rank, world, ctypes.byref(handle)))
        return Comm(handle, rank, world)

    @staticmethod
    def init_with(all_gather: Callable[[bytes], Sequence[bytes]], rank: int, world: int) -> Comm:
        """As init, for ranks that find each other by means of their own: all_gather(own) returns the bytes of all
        ranks, as many as `own` has from each, in the order of ranks. It is called a few times, and not after this call.
        Where all ranks share the memory of a host, NCCL's communicators are only made for operations that need them."""
        _need_cuda("tilepost_comm_init_with")
        raised: list[BaseException] = []

        def gather(own: int, to: int, size: int, _: int) -> int:
            try:
                parts = all_gather(ctypes.string_at(own, size))
                if [len(part) for part in parts] != [size] * world:
                    raise ValueError(f"all_gather gave parts of {[len(part) for part in parts]} bytes, expected {size} "
                                     f"from each of {world} ranks")
                ctypes.memmove(to, b"".join(parts), size * world)
                return 0
            except BaseException as error:  # pylint: disable=broad-except
                raised.append(error)  # nothing may be raised through C
                return 1

        handle = ctypes.c_void_p()
        result = _c.lib.tilepost_comm_init_with(_c.AllGather(gather), None, rank, world, ctypes.byref(handle))
        if raised:
            raise raised[0]
        check(result)
        return Comm(handle, rank, world)

    def close(self) -> None:
        """Destroys the communicator, which must have no operations any more."""
        if self._handle:
            check(_c.lib.tilepost_comm_destroy(self._handle))
            self._handle = ctypes.c_void_p()

    def __del__(self) -> None:
        if self._handle:
            _c.lib.tilepost_comm_destroy(self._handle)


class Arrivals(NamedTuple):
    """What a route means for this rank."""
    rows: int  # of out
    rows_from: list[int]  # how many of them come from each rank
    landed: list[int]  # for each row of this rank, the row of its destination's out


@dataclass(frozen=True)
class LayerOperands:
    """What a run of a layer of experts (pattern moe) takes besides the operands of its first half
    (tilepost_layer_operands_t). With `tokens` the run routes as many tokens of this rank by `ids` and `weights`, of the
    routing's types. Without, Routing.set has routed them."""
    b: Any
    bias: Any = None
    ids: Any = None
    weights: Any = None
    tokens: Union[int, None] = None

    def filled(self) -> _c.LayerOperands:
        """The structure of C."""
        return _c.LayerOperands(ctypes.sizeof(_c.LayerOperands), _address(self.b), _address(self.bias),
                                _address(self.ids), _address(self.weights),
                                _c.ROUTED if self.tokens is None else self.tokens)


class PreparedRun:
    """Runs of an operation with m rows and nothing but addresses: Op.run in a third of the time. The caller keeps what
    they point to. One thread calls at a time, as for the operation."""
    __slots__ = ("op", "_filled", "_place", "_run")

    def __init__(self, op: Op, m: int) -> None:
        self.op = op  # it outlives the runs
        self._filled = _c.RunOperands(struct_size=ctypes.sizeof(_c.RunOperands), m=m)
        self._place = ctypes.byref(self._filled)
        self._run = _c.lib.tilepost_op_run_with

    def __call__(self, a: int, b: int, out: int, stream: int, bias: int = 0, gathered: int = 0,
                 norm: Union[tuple[int, int, float], None] = None) -> None:
        """Starts a run, asynchronous in `stream`. Collective. 0 is an operand that is not there. `norm`: norm_residual,
        norm_weight and norm_epsilon."""
        filled = self._filled
        filled.a, filled.b, filled.out, filled.bias, filled.gathered = a, b, out, bias, gathered
        if norm is not None:
            filled.norm_residual, filled.norm_weight, filled.norm_epsilon = norm
        result = self._run(self.op._handle, self._place, stream)
        if result != _c.OK:
            check(result)


class Op:
    """A plan on one communicator, ready to run. Collective: every rank makes it, in the same order."""

    def __init__(self, comm: Comm, plan: Plan, *, deadline: float = 60.0, host_workers: int = 0,
                 share_memory: bool = False, schedule_bytes: int = 0, routing: Union[Routing, None] = None) -> None:
        """The options are those of tilepost_options_t. A deadline of 0 s lets a run wait for ever."""
        self._handle = ctypes.c_void_p()
        self.comm, self.plan, self.routing = comm, plan, routing  # they outlive the operation
        self._operands: deque[Any] = deque(maxlen=_MOST_RUNS + 1)
        self._filled = _c.RunOperands(struct_size=ctypes.sizeof(_c.RunOperands))
        options = _c.Options(ctypes.sizeof(_c.Options), deadline, host_workers, int(share_memory), schedule_bytes,
                              None if routing is None else routing.handle)
        check(_c.lib.tilepost_op_create(comm._handle, plan._program, ctypes.byref(options),
                                        ctypes.byref(self._handle)))
        plan._hold(id(self))

    def run(self, a: Any, b: Any, out: Any, *, stream: int = 0, m: int = _c.PLANNED_M, scale_a: Any = None,
            scale_b: Any = None, bias: Any = None, residual: Any = None, gathered: Any = None,
            norm_weight: Any = None, norm_residual: Any = None, norm_epsilon: float = 0.0,
            expert_ends: Any = None, gathered_scales: Any = None, out_scales: Any = None,
            layer: Union[LayerOperands, None] = None) -> None:
        """Starts a run, asynchronous in `stream`. Collective. Operands are addresses, tensors, or writable memory of
        the host, 16-byte aligned; tilepost.h says what each pattern takes. They must not change before the run has
        ended."""
        filled = self._filled
        filled.a, filled.b, filled.out, filled.m = _address(a), _address(b), _address(out), m
        filled.scale_a, filled.scale_b, filled.bias = _address(scale_a), _address(scale_b), _address(bias)
        filled.residual, filled.gathered = _address(residual), _address(gathered)
        filled.norm_weight, filled.norm_residual = _address(norm_weight), _address(norm_residual)
        filled.norm_epsilon, filled.expert_ends = norm_epsilon, _address(expert_ends)
        filled.gathered_scales, filled.out_scales = _address(gathered_scales), _address(out_scales)
        of_layer = None if layer is None else layer.filled()  # read during the call
        filled.layer = None if of_layer is None else ctypes.pointer(of_layer)
        check(_c.lib.tilepost_op_run_with(self._handle, ctypes.byref(filled), stream or None))
        self._operands.append((a, b, out, scale_a, scale_b, bias, residual, gathered, norm_weight, norm_residual,
                               expert_ends, gathered_scales, out_scales, layer))

    def prepared(self, m: int) -> PreparedRun:
        """Runs of m rows that cost the host little."""
        return PreparedRun(self, m)

    def route(self, *, splits: Union[Sequence[int], None] = None,
              destinations: Union[Sequence[int], None] = None) -> Arrivals:
        """Sets where the rows of the following runs go: how many go to each rank, or the rank of each row.
        Collective."""
        if (splits is None) == (destinations is None):
            raise ValueError("give splits or destinations")
        rows = sum(splits) if splits is not None else len(destinations or ())
        route = _c.Route(struct_size=ctypes.sizeof(_c.Route), m=rows)
        if splits is not None:
            if len(splits) != self.comm.world:
                raise ValueError(f"{len(splits)} splits for {self.comm.world} ranks")
            route.splits = (ctypes.c_int64 * len(splits))(*splits)
        else:
            route.destinations = (ctypes.c_int32 * max(rows, 1))(*(destinations or ()))
        arrivals = _c.Arrivals(struct_size=ctypes.sizeof(_c.Arrivals))
        check(_c.lib.tilepost_op_route(self._handle, ctypes.byref(route), ctypes.byref(arrivals)))
        return Arrivals(arrivals.rows, arrivals.rows_from[:self.comm.world], arrivals.landed[:rows])

    def done(self) -> bool:
        """Whether all runs so far have ended. Raises the error that ended one."""
        result = _c.lib.tilepost_op_status(self._handle)
        if result == _c.IN_PROGRESS:
            return False
        check(result)
        return True

    def synchronize(self) -> None:
        """Waits for all runs so far, within the deadline."""
        check(_c.lib.tilepost_op_synchronize(self._handle))
        self._operands.clear()

    @property
    def out_elements(self) -> int:
        """Elements of out that a run with the plan's m writes on this rank."""
        return self._info().out_elements

    @property
    def device_bytes(self) -> int:
        """Bytes of device memory that the operation has allocated."""
        return self._info().device_bytes

    @property
    def warnings(self) -> list[str]:
        """Deviations from the plan that are no errors."""
        return _c.lib.tilepost_op_warnings(self._handle).decode().splitlines()

    def _info(self) -> _c.OpInfo:
        info = _c.OpInfo()
        check(_c.lib.tilepost_op_get_info(self._handle, ctypes.byref(info)))
        return info

    def close(self) -> None:
        """Waits for the operation's runs, within the deadline, and frees everything."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        check(_c.lib.tilepost_op_destroy(handle))
        self.plan._let_go(id(self))

    def __del__(self) -> None:
        _c.lib.tilepost_op_destroy(self._handle)
        self.plan._let_go(id(self))
