"""Communicators of process groups."""
from __future__ import annotations

import threading
from typing import Any, Callable, Union

import torch
import torch.distributed as dist

import tilepost
from tilepost import _c
from tilepost._errors import Error, Unsupported


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


def host_communicator(group: dist.ProcessGroup) -> tilepost.Comm:
    """This thread's rank."""
    return _host_ranks.take(group.group_name, dist.get_rank(group), dist.get_world_size(group))


def has_cuda() -> bool:
    """Whether the library has the CUDA target."""
    return hasattr(_c.lib, "tilepost_comm_init")


def on_all_ranks(group: dist.ProcessGroup, value: Any) -> list[Any]:
    """The values of all ranks, in their order. Collective, over the group itself."""
    values: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(values, value, group=group)
    return values


def attempt(group: dist.ProcessGroup, body: Callable[[], Any]) -> Any:
    """body() on every rank. Where one rank's raises an Error, every rank raises: Unsupported where all errors are that,
    and otherwise the first rank's error that is not."""
    result, failure = None, None
    try:
        result = body()
    except Error as error:
        failure = type(error), str(error), error.result
    failures = [(rank, each) for rank, each in enumerate(on_all_ranks(group, failure)) if each is not None]
    if not failures:
        return result
    grave = [each for each in failures if not issubclass(each[1][0], Unsupported)]
    rank, (kind, text, name) = (grave or failures)[0]
    raise kind(text if rank == dist.get_rank(group) else f"on rank {rank}: {text}", name)


def cuda_communicator(group: dist.ProcessGroup, device: torch.device,
                      communicator: Union[str, int]) -> tilepost.Comm:
    """A communicator on the current device. `communicator` is what init() takes. Collective."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    if communicator == "own":
        return attempt(group, lambda: tilepost.Comm.init_with(lambda own: on_all_ranks(group, own), rank, world))
    address = communicator if isinstance(communicator, int) else _of_process_group(group, device)
    return attempt(group, lambda: tilepost.Comm.adopt(address, rank, world))


def _of_process_group(group: dist.ProcessGroup, device: torch.device) -> int:
    """The address of the group's own communicator of NCCL. PyTorch makes it with the first collective."""
    dist.barrier(group, device_ids=[device.index])
    backend = group._get_backend(device)  # pylint: disable=protected-access
    address = backend._comm_ptr() if hasattr(backend, "_comm_ptr") else 0  # pylint: disable=protected-access
    if not all(on_all_ranks(group, address)):
        raise Unsupported("the group has no communicator of NCCL to adopt; use communicator='own'",
                          "TILEPOST_UNSUPPORTED")
    return address
