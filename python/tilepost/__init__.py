"""GEMMs and their communication, overlapped tile by tile: plans them, explains the plans, and runs them.

    plan = tilepost.Plan({"pattern": "gemm_all_reduce", "ranks": 2, "gemm.m": 8192, "gemm.n": 4096, "gemm.k": 2048,
                          "gemm.a": "bf16"})
    print(plan.explain())

Planning needs neither a GPU nor PyTorch. docs/python.md has the rest.
"""
from importlib import metadata as _metadata

from tilepost._errors import (Aborted, CudaError, Error, InvalidArgument, NcclError, OutOfMemory, Timeout,
                              Unsupported)
from tilepost._plan import Catalogue, Plan
from tilepost._routing import Routing
from tilepost._run import Arrivals, Comm, LayerOperands, Op

try:
    __version__ = _metadata.version("tilepost")
except _metadata.PackageNotFoundError:  # a checkout
    __version__ = "0"

__all__ = ["Aborted", "Arrivals", "Catalogue", "Comm", "CudaError", "Error", "InvalidArgument", "LayerOperands",
           "NcclError", "Op", "OutOfMemory", "Plan", "Routing", "Timeout", "Unsupported", "__version__"]
