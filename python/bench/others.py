"""What a benchmark compares tilepost with, where the machine has it."""
from __future__ import annotations

import time
from types import ModuleType
from typing import Callable, Iterable, Mapping, TypeVar

import torch

Made = TypeVar("Made")


class Unavailable(Exception):
    """A form that this machine or this type lacks. Its text says why."""


def need_gpu(device: torch.device) -> None:
    """Raises Unavailable on a CPU."""
    if device.type != "cuda":
        raise Unavailable("it needs a GPU")


def deep_gemm_library() -> ModuleType:
    """DeepGEMM's package."""
    try:
        import deep_gemm as library  # pylint: disable=import-outside-toplevel
    except Exception as error:  # pylint: disable=broad-except
        raise Unavailable(f"no deep_gemm here: {type(error).__name__}: {error}") from error
    return library


def that_run(makers: Mapping[str, Callable[[], Made]]) -> tuple[dict[str, Made], dict[str, str]]:
    """What the makers return, and of those that fail the reasons. A maker makes a form and calls it once."""
    made, missing = {}, {}
    for name, make in makers.items():
        try:
            made[name] = make()
        except Exception as error:  # pylint: disable=broad-except  # a library's own
            missing[name] = (str(error).splitlines() or [type(error).__name__])[0]
    return made, missing


def part_of(text: str) -> tuple[int, int]:
    """PART and PARTS of PART/PARTS."""
    part, parts = map(int, text.split("/"))
    return part, parts


def first_calls(text: str, calls: Iterable[Callable[[], object]]) -> int:
    """Makes the calls of a part, PART/PARTS, which compile what DeepGEMM compiles at first use. Parts may run at the
    same time, and the library keeps what they compile. Returns the exit status."""
    part, parts = part_of(text)
    longest, begin = 0.0, time.perf_counter()
    for call in list(calls)[part::parts]:
        before = time.perf_counter()
        try:
            call()
        except Exception as error:  # pylint: disable=broad-except  # a library's own
            print(f"# no DeepGEMM: {error}")
            return 1
        torch.cuda.synchronize()
        longest = max(longest, time.perf_counter() - before)
        torch.cuda.empty_cache()
    print(f"part {part} of {parts}: {time.perf_counter() - begin:.1f} s, the longest first call {longest:.1f} s")
    return 0
