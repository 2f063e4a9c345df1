"""install(): callers of PyTorch's fused operations get tilepost's."""
from __future__ import annotations

import functools
import logging
import warnings
from typing import Any, Callable

import torch
import torch.distributed._symmetric_memory as symm_mem_module

from tilepost.torch.drop_in import fused
from tilepost.torch.drop_in.serving import NotServed, note_not_served, note_served

_log = logging.getLogger("tilepost")

# PyTorch's operation, ours, and what runs where ours does not serve: PyTorch's own on GPUs, and its collective and
# matmul one after the other on CPUs, where it has no fused one.
_OPERATIONS = {
    "fused_all_gather_matmul": fused.all_gather_matmul,
    "fused_matmul_reduce_scatter": fused.matmul_reduce_scatter,
    "fused_all_gather_scaled_matmul": fused.all_gather_scaled_matmul,
    "fused_scaled_matmul_reduce_scatter": fused.scaled_matmul_reduce_scatter,
}
# vLLM's copy of the last one, which it calls for fp8.
_VLLM = "patched_fused_scaled_matmul_reduce_scatter"


def _own(name: str, key: str) -> Callable[..., Any]:
    """PyTorch's own operation."""
    return getattr(symm_mem_module, f"_{name}" + ("" if key == "CUDA" else "_fallback"))


def serve(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """An operation that is tilepost's where it serves, and otherwise `own`."""
    ours = _OPERATIONS[name]

    @functools.wraps(ours)
    def run(*operands: Any, **options: Any) -> Any:
        try:
            result = ours(*operands, **options)
        except NotServed as reason:
            note_not_served(name, reason)
            return own(*operands, **options)
        note_served(name)
        return result

    return run


_libraries: list[torch.library.Library] = []


def install(*, symm_mem: bool = True) -> list[str]:
    """Puts tilepost's operations in the place of torch.ops.symm_mem's fused ones, and of vLLM's where vLLM has been
    imported, on GPUs and CPUs, for this process: async-TP, torchtitan and vLLM call them. Returns the names of those
    that are replaced. What a call asks that is not served goes to PyTorch's own operation, with one warning; with
    TILEPOST=strict it is an error. uninstall() undoes it. A second call changes nothing but for a vLLM imported since.
    """
    if not symm_mem:
        raise ValueError("tilepost.torch.install: nothing is asked for; give symm_mem=True")
    uninstall()
    library = torch.library.Library("symm_mem", "IMPL")
    _libraries.append(library)
    names = []
    for name in _OPERATIONS:
        _override(library, name, name)
        names.append(f"symm_mem::{name}")
    if hasattr(torch.ops.vllm, _VLLM):
        names.append(_install_in_vllm())
    _log.info("tilepost: replaced %s", ", ".join(names))
    return names


def _override(library: torch.library.Library, target: str, name: str) -> None:
    """Puts our operation of `name` in the place of `target`. PyTorch would warn that there is one already."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*verriding a previously registered", category=UserWarning)
        for key in ("CUDA", "CPU"):
            library.impl(target, serve(name, _own(name, key)), key, allow_override=True)


def _install_in_vllm() -> str:
    library = torch.library.Library("vllm", "IMPL")
    _libraries.append(library)
    _override(library, _VLLM, "fused_scaled_matmul_reduce_scatter")
    return f"vllm::{_VLLM}"


def uninstall() -> None:
    """PyTorch's own operations again."""
    for library in _libraries:
        library._destroy()
    _libraries.clear()
