#!/usr/bin/env python3
"""Runs a benchmark with the async-TP of another version's Python code, in the PyTorch that is installed:

    torchrun --nproc-per-node 2 python/bench/other_async_tp.py FILE python/bench/layer.py --rows 8192

FILE is torch/distributed/_symmetric_memory/__init__.py of that version's wheel.
"""
from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch._C._distributed_c10d as c10d

MODULE = "torch.distributed._symmetric_memory"


def load(file: str) -> None:
    """Puts the file in the place of PyTorch's own module, which nothing may have imported yet."""
    if MODULE in sys.modules:
        raise RuntimeError(f"{MODULE} is there already; load another before what imports it")
    # 2.15 asks whether a group was enabled. The benchmarks enable theirs.
    if not hasattr(c10d, "_is_process_group_registered"):
        c10d._is_process_group_registered = lambda name: True  # pylint: disable=protected-access
    beside = str(Path(dist.__file__).parent / "_symmetric_memory")  # its other files stay the installed ones
    spec = importlib.util.spec_from_file_location(MODULE, file, submodule_search_locations=[beside])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    dist._symmetric_memory = module  # pylint: disable=protected-access


def main() -> int:
    if len(sys.argv) < 3:
        print(f"{__doc__}\nPyTorch {torch.__version__} is installed", file=sys.stderr)
        return 2
    load(sys.argv[1])
    sys.argv = sys.argv[2:]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
