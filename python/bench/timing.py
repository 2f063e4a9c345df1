"""Times of calls on all ranks, in turn with each other."""
from __future__ import annotations

import collections
import contextlib
import gc
import statistics
import time
from collections.abc import Iterator
from typing import Callable, NamedTuple

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

Call = Callable[[], object]


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keeps Python from finalising what happens to be garbage: a plan's end unloads its kernels, which ends a capture
    with an error."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def captured(call: Call, device: torch.device) -> Call:
    """The call as a CUDA graph, after three eager runs. On a CPU the call itself. The graph reads what the call reads
    at the addresses of today, so the call, which holds these tensors, lives as long."""
    if device.type != "cuda":
        return call
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with no_garbage_collection(), torch.cuda.graph(graph, stream=stream):
        kept = call()

    return Replays(call, graph, kept)


def in_turn(calls: list[Call], count: int) -> Call:
    """So many calls as one, those of the list in turn, which returns the last result."""
    def every() -> object:
        for index in range(count - 1):
            calls[index % len(calls)]()
        return calls[(count - 1) % len(calls)]()

    return every


class Replays(NamedTuple):
    """Replays of a captured call. A graph holds the memory that it allocated itself, and none that it only reads: that
    has to be kept for it. PyTorch gives back to CUDA what is free when the next graph is captured, and from then on a
    replay that reads there is an error."""
    captured: Call  # with all that it reads
    graph: torch.cuda.CUDAGraph
    result: object  # of each replay, in its place

    def __call__(self) -> object:
        self.graph.replay()
        return self.result


def interleaved(calls: dict[str, Call], rounds: int, device: torch.device, least_ms: float = 20.0,
                pause_ms: float = 0.0) -> dict[str, float]:
    """Microseconds of a call: the median of the rounds, in each of which every call is timed, for `least_ms` or longer,
    behind a pause in which the chip cools; the slowest rank counts. Collective."""
    counts = {name: _count_for(name, call, least_ms, device) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds):
        names = list(calls)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            time.sleep(pause_ms / 1000)
            times[name].append(_time(calls[name], counts[name], device))
    medians = torch.tensor([statistics.median(times[name]) for name in calls], dtype=torch.float64, device=device)
    dist.all_reduce(medians, dist.ReduceOp.MAX)
    return dict(zip(calls, medians.tolist()))


def _count_for(name: str, call: Call, least_ms: float, device: torch.device) -> int:
    """How often all ranks make a call in one go. One that fails ends the program with its name."""
    try:
        once = _time(call, 2, device)
    except RuntimeError as error:
        raise RuntimeError(f"{name}: {error}") from error
    count = torch.tensor([max(2, int(least_ms * 1000 / max(once, 1.0)))], device=device)
    dist.all_reduce(count, dist.ReduceOp.MAX)
    return min(int(count.item()), 200)


def _time(call: Call, count: int, device: torch.device) -> float:
    """Microseconds of one of `count` calls."""
    if device.type != "cuda":
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begin) * 1e6 / count
    dist.barrier(device_ids=[device.index])
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(count):
        call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1000 / count


def kernel_time(call: Call) -> float:
    """Microseconds that kernels take on the GPU by PyTorch's profiler: the median of each kernel, added up. The call
    has any number of runs, in each of which a kernel is launched once."""
    call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(3):
            call()
            torch.cuda.synchronize()
    spent: dict[str, list[float]] = collections.defaultdict(list)
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            spent[event.name].append(event.device_time)
    return sum(map(statistics.median, spent.values()))


def relative_error(have: torch.Tensor, want: torch.Tensor) -> float:
    """The norm of the difference over that of what is wanted: the largest of all ranks. Collective."""
    error = (have.detach().float() - want.detach().float()).norm() / want.detach().float().norm().clamp(min=1e-20)
    if not torch.isfinite(error):
        error = torch.full_like(error, float("inf"))
    dist.all_reduce(error, dist.ReduceOp.MAX)
    return float(error.item())
