"""Whether tilepost's operations serve a call of PyTorch's fused ones."""
from __future__ import annotations

import collections
import os
import threading
import weakref
from typing import Optional

import torch

from tilepost.torch import _group, _run

# How many sizes of weight gradients are served for each group: their number of tokens is the k of an operation, and
# every k takes another.
_MOST_WEIGHT_GRADIENTS = 8

served: collections.Counter[str] = collections.Counter()
_weight_gradients: weakref.WeakKeyDictionary[_group.GroupState, set[tuple[int, int, int]]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class NotServed(Exception):
    """Why PyTorch's own operation runs."""


def rows_of(a: torch.Tensor, dim: int) -> torch.Tensor:
    """a [..., k] with `dim`, along which rows are gathered or scattered, at the front, and all others flattened."""
    if a.dim() < 2 or not 0 <= dim < a.dim():
        raise NotServed(f"dimension {dim} of a tensor of {a.dim()} dimensions")
    if dim == a.dim() - 1:
        raise NotServed("the last dimension is gathered or scattered, which is that of the sums")
    return a.movedim(dim, 0).flatten(0, -2)


def batch_of(rows: torch.Tensor, shape: list[int], dim: int) -> torch.Tensor:
    """The opposite of rows_of: `shape` is that of the result but for its last dimension, with `dim` in its place."""
    moved = [shape[dim], *shape[:dim], *shape[dim + 1:]]
    return rows.unflatten(0, moved).movedim(0, dim)


def weight_of(b: torch.Tensor) -> torch.Tensor:
    """b [k, n] as an operation takes it: w [n, k]."""
    if b.dim() != 2:
        raise NotServed(f"B has {b.dim()} dimensions")
    if not b.is_contiguous() and not b.t().is_contiguous():
        raise NotServed("B is neither contiguous nor the transpose of a contiguous matrix")
    return b.t()


def check(pattern: str, rows: torch.Tensor, w: torch.Tensor, group_name: str, bias: Optional[torch.Tensor] = None,
          scales: str = "") -> None:
    """Raises NotServed where the operation of a pattern does not take these operands, w [n, k]. `scales` as a Layer has
    them."""
    if rows.dtype != w.dtype or rows.shape[1] != w.shape[1]:
        raise NotServed(f"A is {rows.dtype} {tuple(rows.shape)}, and B {w.dtype} [{w.shape[1]}, {w.shape[0]}]")
    if os.environ.get("TILEPOST", "") == "off":
        raise NotServed("TILEPOST=off")
    state = _group.state_of(group_name)
    if rows.dtype == torch.float8_e4m3fn and not w.is_contiguous():
        raise NotServed("B of float8_e4m3fn is not the transpose of a contiguous matrix")
    reason = state.why_not(_run.layer_of(pattern, rows, w, bias, scales), rows.device)
    if reason:
        raise NotServed(reason)
    if not rows.is_contiguous() and rows.t().is_contiguous():
        _count_weight_gradient(state, rows, w)


def _count_weight_gradient(state: _group.GroupState, rows: torch.Tensor, w: torch.Tensor) -> None:
    """A transposed A is a weight's gradient, whose k is the number of tokens."""
    key = rows.shape[0], w.shape[0], w.shape[1]
    with _lock:
        known = _weight_gradients.setdefault(state, set())
        if key not in known and len(known) == _MOST_WEIGHT_GRADIENTS:
            raise NotServed(f"weight gradients of more than {_MOST_WEIGHT_GRADIENTS} sizes in one group: each number "
                            "of tokens takes an operation of its own there; use few of them")
        known.add(key)


def note_served(operation: str) -> None:
    """Counts a call that tilepost's operations have served."""
    with _lock:
        served[operation] += 1


def note_not_served(operation: str, reason: NotServed) -> None:
    """Says once why PyTorch's own operation runs. TILEPOST=strict makes it an error, TILEPOST=off is silent."""
    mode = os.environ.get("TILEPOST", "")
    if mode == "strict":
        raise RuntimeError(f"tilepost.torch: {operation} is not served: {reason}; TILEPOST=strict allows nothing else")
    if mode != "off":
        _group.warn_once(f"install ({operation})", str(reason))


def calls_served(operation: Optional[str] = None) -> int:
    """How many calls of PyTorch's fused operations tilepost's have served in this process: of one, or of all."""
    with _lock:
        return served.total() if operation is None else served[operation]
