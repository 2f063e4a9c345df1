"""Failures of the C interface as exceptions."""
from __future__ import annotations

from tilepost import _c


class Error(RuntimeError):
    """A call of tilepost failed. `result` is the name of its result, such as "TILEPOST_TIMEOUT"."""

    def __init__(self, text: str, result: str) -> None:
        super().__init__(text)
        self.result = result


class InvalidArgument(Error, ValueError):
    """TILEPOST_INVALID_ARGUMENT: also everything that is wrong with the fields of a plan."""


class Unsupported(Error):
    """TILEPOST_UNSUPPORTED: this device, driver, catalogue or plan cannot do what the call asks."""


class OutOfMemory(Error, MemoryError):
    """TILEPOST_OUT_OF_MEMORY"""


class CudaError(Error):
    """TILEPOST_CUDA_ERROR"""


class NcclError(Error):
    """TILEPOST_NCCL_ERROR"""


class Timeout(Error, TimeoutError):
    """TILEPOST_TIMEOUT: a deadline passed, and the communicator was aborted."""


class Aborted(Error):
    """TILEPOST_ABORTED: the communicator was aborted earlier; make a new one."""


_CLASSES = {
    "TILEPOST_INVALID_ARGUMENT": InvalidArgument,
    "TILEPOST_UNSUPPORTED": Unsupported,
    "TILEPOST_OUT_OF_MEMORY": OutOfMemory,
    "TILEPOST_CUDA_ERROR": CudaError,
    "TILEPOST_NCCL_ERROR": NcclError,
    "TILEPOST_TIMEOUT": Timeout,
    "TILEPOST_ABORTED": Aborted,
}


def check(result: int) -> None:
    """Raises what a call of the C interface has reported on this thread."""
    if result == _c.OK:
        return
    text = _c.lib.tilepost_last_error().decode(errors="replace")
    name = _c.lib.tilepost_result_name(result).decode()
    raise _CLASSES.get(name, Error)(text, name)
