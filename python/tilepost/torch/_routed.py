"""All-to-All: rows of a product, or of what is multiplied, go to the ranks that each call names."""
from __future__ import annotations

from typing import Optional, Sequence, Union

import torch

from tilepost import Arrivals
from tilepost._errors import Error
from tilepost.torch import _group, _plain, _run
from tilepost.torch._group import GroupState, Layer
from tilepost.torch._ops import Group
from tilepost.torch._weight_gradient import weight_gradient

_library = torch.library.Library("tilepost", "FRAGMENT")
_ARGUMENTS = "Tensor a, Tensor w, Tensor? bias, int[]? splits, Tensor? destinations, str group_name"
# rows_from: [ranks] how many rows came from each rank. landed: [rows of a] the row of its destination's y.
_library.define(f"gemm_all_to_all({_ARGUMENTS}) -> (Tensor y, Tensor landed, Tensor rows_from)")
_library.define(f"all_to_all_gemm({_ARGUMENTS}) -> (Tensor y, Tensor gathered, Tensor landed, Tensor rows_from)")


def _check(operation: str, a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor],
           splits: Optional[Sequence[int]], destinations: Optional[torch.Tensor], world: int) -> None:
    _run.check(operation, a, w, bias)
    if (splits is None) == (destinations is None):
        raise ValueError(f"tilepost.torch.{operation}: give splits or destinations")
    if splits is not None and (len(splits) != world or min(splits) < 0 or sum(splits) != a.shape[0]):
        raise ValueError(f"tilepost.torch.{operation}: splits {list(splits)}, expected {world} numbers whose sum is "
                         f"{a.shape[0]}, the rows of a")
    if destinations is not None:
        if tuple(destinations.shape) != (a.shape[0],) or destinations.is_floating_point():
            raise ValueError(f"tilepost.torch.{operation}: destinations {tuple(destinations.shape)} of "
                             f"{destinations.dtype}, expected a rank for each of the {a.shape[0]} rows of a")


class _Route:
    """Where the rows of one call go."""

    def __init__(self, operation: str, state: GroupState, splits: Optional[Sequence[int]],
                 destinations: Optional[torch.Tensor]) -> None:
        self.splits = None if splits is None else list(splits)
        self.ranks = None if destinations is None else destinations.tolist()  # waits for the GPU
        wrong = [each for each in self.ranks or () if not 0 <= each < state.world]
        if wrong:
            raise ValueError(f"tilepost.torch.{operation}: destination {wrong[0]}, and the group has ranks 0 to "
                             f"{state.world - 1}")
        self.rows = sum(self.splits) if self.splits is not None else len(self.ranks or ())

    def counts(self, world: int) -> list[int]:
        """How many rows go to each rank."""
        if self.splits is not None:
            return self.splits
        counts = [0] * world
        for each in self.ranks or ():
            counts[each] += 1
        return counts


def _refuse_capture(operation: str) -> None:
    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(f"tilepost.torch.{operation}: ranks tell each other through the host where rows go, which a "
                           "CUDA graph cannot capture; leave it out of the graph")


def _plain_order(route: _Route, a: torch.Tensor) -> Optional[torch.Tensor]:
    """Rows of a in the order of their destinations; None where they lie so."""
    if route.ranks is None:
        return None
    return torch.sort(torch.tensor(route.ranks, dtype=torch.int64, device=a.device), stable=True).indices


def _plain_landed(state: GroupState, all_splits: list[list[int]], order: Optional[torch.Tensor],
                  a: torch.Tensor) -> torch.Tensor:
    """Arrivals.landed, by the splits of all ranks."""
    table = _numbers(all_splits, a)
    before = table[:state.rank].sum(0)  # rows for each rank from the ranks before this one
    counts = table[state.rank]
    first = counts.cumsum(0) - counts
    ranks = torch.repeat_interleave(torch.arange(state.world, device=a.device), counts)
    landed = before[ranks] + torch.arange(len(ranks), device=a.device) - first[ranks]
    if order is None:
        return landed
    return torch.empty_like(landed).index_copy_(0, order, landed)


def _plain_exchange(state: GroupState, route: _Route, a: torch.Tensor,
                    rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """`rows`, in the order of a, sent; landed and rows_from."""
    order, splits = _plain_order(route, a), route.counts(state.world)
    all_splits = _plain.exchange_splits(state, splits)
    rows_from = [each[state.rank] for each in all_splits]
    sent = rows if order is None else rows[order]
    y = _plain.send_rows(state, sent, splits, rows_from)
    return y, _plain_landed(state, all_splits, order, a), _numbers(rows_from, a)


def _set_route(operation: str, state: GroupState, layer: Layer, route: _Route, a: torch.Tensor,
               w: torch.Tensor) -> Arrivals:
    """Sets where the rows of the next run go. Collective."""
    try:
        op = state.served(layer, max(route.rows, 1)).op
        return op.route(splits=route.splits, destinations=route.ranks)
    except Error as error:
        _group.fail(operation, error, a=a.shape, w=w.shape)
        raise AssertionError("fail() raises") from error


def _numbers(values: Sequence, a: torch.Tensor) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64, device=a.device)


def _gemm_all_to_all(a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor], splits: Optional[Sequence[int]],
                     destinations: Optional[torch.Tensor],
                     group_name: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    operation, state = "gemm_all_to_all", _group.state_of(group_name)
    _check(operation, a, w, bias, splits, destinations, state.world)
    _refuse_capture(operation)
    route = _Route(operation, state, splits, destinations)
    layer = _run.layer_of(operation, a, w, bias, routing="rows" if splits is None else "splits")
    if _run.uses_plain(operation, state, layer, a):
        return _plain_exchange(state, route, a, _plain.product(a, w, bias))
    arrivals = _set_route(operation, state, layer, route, a, w)
    out = a.new_empty(arrivals.rows, w.shape[0], dtype=_run.out_dtype(a))
    _run.run_route(operation, state, layer, route.rows, a, w, out, bias=bias)
    return out, _numbers(arrivals.landed, a), _numbers(arrivals.rows_from, a)


def _all_to_all_gemm(a: torch.Tensor, w: torch.Tensor, bias: Optional[torch.Tensor], splits: Optional[Sequence[int]],
                     destinations: Optional[torch.Tensor],
                     group_name: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    operation, state = "all_to_all_gemm", _group.state_of(group_name)
    _check(operation, a, w, bias, splits, destinations, state.world)
    _refuse_capture(operation)
    route = _Route(operation, state, splits, destinations)
    layer = _run.layer_of(operation, a, w, bias, routing="rows" if splits is None else "splits")
    if _run.uses_plain(operation, state, layer, a):
        gathered, landed, rows_from = _plain_exchange(state, route, a, a)
        return _plain.product(gathered, w, bias), gathered, landed, rows_from
    arrivals = _set_route(operation, state, layer, route, a, w)
    gathered = a.new_empty(arrivals.rows, a.shape[1])
    out = a.new_empty(arrivals.rows, w.shape[0], dtype=_run.out_dtype(a))
    _run.run_route(operation, state, layer, route.rows, a, w, out, bias=bias, gathered=gathered)
    return out, gathered, _numbers(arrivals.landed, a), _numbers(arrivals.rows_from, a)


for _key in ("CPU", "CUDA"):
    _library.impl("gemm_all_to_all", _gemm_all_to_all, _key)
    _library.impl("all_to_all_gemm", _all_to_all_gemm, _key)


def _rows_that_come():
    """How many rows a rank gets: what its route says."""
    return torch.library.get_ctx().new_dynamic_size()


@torch.library.register_fake("tilepost::gemm_all_to_all")
def _(a, w, bias, splits, destinations, group_name):
    world = _group.resolve(group_name).size()
    _check("gemm_all_to_all", a, w, bias, splits, destinations, world)
    y = a.new_empty(_rows_that_come(), w.shape[0], dtype=_run.out_dtype(a))
    return y, a.new_empty(a.shape[0], dtype=torch.int64), a.new_empty(world, dtype=torch.int64)


@torch.library.register_fake("tilepost::all_to_all_gemm")
def _(a, w, bias, splits, destinations, group_name):
    world = _group.resolve(group_name).size()
    _check("all_to_all_gemm", a, w, bias, splits, destinations, world)
    rows = _rows_that_come()
    return (a.new_empty(rows, w.shape[0], dtype=_run.out_dtype(a)), a.new_empty(rows, a.shape[1]),
            a.new_empty(a.shape[0], dtype=torch.int64), a.new_empty(world, dtype=torch.int64))


# ---- Gradients: rows go back the way that they came

def _back(rows: torch.Tensor, destinations: Optional[torch.Tensor]) -> torch.Tensor:
    """Rows that have come back, by the rank that had them, in the order in which they were sent."""
    if destinations is None:
        return rows
    order = torch.sort(destinations.to(rows.device), stable=True).indices
    return torch.empty_like(rows).index_copy_(0, order, rows)


class _GemmAllToAll(torch.autograd.Function):
    """y = rows of the ranks' a w^T. Their gradients come back in front of a GEMM."""

    @staticmethod
    def forward(ctx, a, w, bias, splits, destinations, group_name):
        y, landed, rows_from = torch.ops.tilepost.gemm_all_to_all(a, w, bias, splits, destinations, group_name)
        ctx.save_for_backward(a, w, destinations, rows_from)
        ctx.group_name = group_name
        ctx.mark_non_differentiable(landed, rows_from)
        return y, landed, rows_from

    @staticmethod
    def backward(ctx, dy, *_):
        a, w, destinations, rows_from = ctx.saved_tensors
        needs = ctx.needs_input_grad
        da, dp, *_ = torch.ops.tilepost.all_to_all_gemm(dy.contiguous(), w.t(), None, rows_from.tolist(), None,
                                                        ctx.group_name)
        dp = _back(dp, destinations)
        return (_back(da, destinations) if needs[0] else None, weight_gradient(w, dp, a) if needs[1] else None,
                dp.sum(0) if needs[2] else None, None, None, None)


class _AllToAllGemm(torch.autograd.Function):
    """y = the rows that came, times w^T. Their gradients go back behind a GEMM."""

    @staticmethod
    def forward(ctx, a, w, bias, splits, destinations, group_name):
        y, gathered, landed, rows_from = torch.ops.tilepost.all_to_all_gemm(a, w, bias, splits, destinations,
                                                                            group_name)
        ctx.save_for_backward(gathered, w, destinations, rows_from)
        ctx.group_name = group_name
        ctx.mark_non_differentiable(gathered, landed, rows_from)
        return y, gathered, landed, rows_from

    @staticmethod
    def backward(ctx, dy, *_):
        gathered, w, destinations, rows_from = ctx.saved_tensors
        needs = ctx.needs_input_grad
        da = None
        if needs[0]:
            back, *_ = torch.ops.tilepost.gemm_all_to_all(dy.contiguous(), w.t(), None, rows_from.tolist(), None,
                                                          ctx.group_name)
            da = _back(back, destinations)
        return (da, weight_gradient(w, dy, gathered) if needs[1] else None, dy.sum(0) if needs[2] else None, None,
                None, None)


Where = Union[Sequence[int], torch.Tensor]


def _as_route(where: Where) -> tuple[Optional[list[int]], Optional[torch.Tensor]]:
    """`where` as splits or as destinations: a tensor names the rank of each row, a list counts them."""
    return (None, where) if isinstance(where, torch.Tensor) else (list(where), None)


def gemm_all_to_all(a: torch.Tensor, w: torch.Tensor, where: Where, *, group: Group = None,
                    bias: Optional[torch.Tensor] = None) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows of the ranks' products a w^T + bias that are for this rank, by the rank that they come from and then in
    its order, and where this rank's rows have landed: [m], for each row of a the row of its destination's result.
    a [m, k], w [n, k]. `where`: a list of how many consecutive rows go to each rank, or a tensor of integers [m] with
    the rank of each row. Ranks may have different m, each at most 1024 or what init() was told."""
    y, landed, _ = _GemmAllToAll.apply(a, w, bias, *_as_route(where), _group.name_of(group))
    return y, landed


def all_to_all_gemm(a: torch.Tensor, w: torch.Tensor, where: Where, *, group: Group = None,
                    bias: Optional[torch.Tensor] = None) -> tuple[torch.Tensor, torch.Tensor]:
    """The ranks' rows of a that are for this rank, times w^T + bias, in the order of gemm_all_to_all, and how many came
    from each rank: [ranks], which given to gemm_all_to_all as a list sends results back."""
    y, _, _, rows_from = _AllToAllGemm.apply(a, w, bias, *_as_route(where), _group.name_of(group))
    return y, rows_from
