"""Routing of experts (tilepost/routing.h)."""
from __future__ import annotations

import ctypes
from collections import deque
from typing import Any

from tilepost import _c
from tilepost._errors import check
from tilepost._run import Comm, _address

_BF16, _F32 = 0, 3  # tilepost_dtype_t
# Calls that may wait for their turn on the host target, whose ids and weights are kept.
_MOST_SETS = 256


class Routing:
    """Which rows each expert of a mixture-of-experts layer multiplies. Collective: every rank makes it, in the same
    order, with the same experts, top and most_tokens."""

    def __init__(self, comm: Comm, experts: int, top: int, most_tokens: int, *, wide_ids: bool = False,
                 half_weights: bool = False, deadline: float = 60.0) -> None:
        """`experts`: of all ranks. `top`: of a token. `most_tokens`: of a rank. Ids are int32, or int64 where they are
        wide, and weights are fp32, or bf16 where they are half."""
        self.handle = ctypes.c_void_p()
        self.comm = comm  # it outlives the routing
        self._operands: deque[Any] = deque(maxlen=_MOST_SETS + 1)
        options = _c.lib.tilepost_default_routing_options()
        options.ids, options.deadline_seconds = int(wide_ids), deadline
        options.weights = _BF16 if half_weights else _F32
        check(_c.lib.tilepost_routing_create(comm._handle, experts, top, most_tokens, ctypes.byref(options),
                                             ctypes.byref(self.handle)))

    def set(self, ids: Any, weights: Any, tokens: int, *, stream: int = 0) -> None:
        """Routes this rank's tokens, asynchronous in `stream`. Collective. `ids` and `weights` are [tokens, top]:
        addresses, tensors, or writable memory of the host. They must not change before the call has executed."""
        check(_c.lib.tilepost_routing_set(self.handle, _address(ids), _address(weights), tokens, stream or None))
        self._operands.append((ids, weights))

    def synchronize(self) -> None:
        """Waits for the calls of set so far, and raises what went wrong in them."""
        check(_c.lib.tilepost_routing_synchronize(self.handle))

    def tables(self) -> _c.RoutingInfo:
        """The addresses of the tables, which stay the same."""
        info = _c.RoutingInfo()
        check(_c.lib.tilepost_routing_get_info(self.handle, ctypes.byref(info)))
        return info

    def close(self) -> None:
        """Destroys the routing, which operations must not be bound to any more."""
        if self.handle:
            check(_c.lib.tilepost_routing_destroy(self.handle))
            self.handle = ctypes.c_void_p()

    def __del__(self) -> None:
        if self.handle:
            _c.lib.tilepost_routing_destroy(self.handle)
