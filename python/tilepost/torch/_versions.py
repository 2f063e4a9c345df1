"""The versions of Python, PyTorch and NCCL that tilepost.torch works with. Others are refused by name."""
from __future__ import annotations

from typing import Optional, Sequence

OLDEST = {"Python": (3, 10), "PyTorch": (2, 11), "NCCL": (2, 28)}


def check(python: Sequence[int], torch_version: str, nccl: Optional[Sequence[int]]) -> None:
    """Raises ImportError for versions that are not supported. `nccl`: PyTorch's, None where there is no GPU."""
    torch_numbers = tuple(int(part) for part in torch_version.split("+")[0].split(".")[:2])
    for name, have in (("Python", python), ("PyTorch", torch_numbers), ("NCCL", nccl)):
        if have is not None and tuple(have[:2]) < OLDEST[name]:
            raise ImportError(f"tilepost.torch: {name} {have[0]}.{have[1]}; the oldest supported is {OLDEST[name][0]}."
                              f"{OLDEST[name][1]}")
