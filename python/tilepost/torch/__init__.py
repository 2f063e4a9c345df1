"""Operations and layers for PyTorch: GEMMs of tensor parallelism that overlap with their communication. They run on
NVIDIA's GPUs, a process for each, and on the CPU in a process group whose ranks are threads. Where they cannot,
PyTorch's own operations run, with one warning that says why. docs/python.md has the rest."""
import sys as _sys

import torch as _torch

from tilepost.torch import _versions

_versions.check(_sys.version_info, _torch.__version__,
                _torch.cuda.nccl.version() if _torch.cuda.is_available() else None)

# pylint: disable=wrong-import-position
from tilepost.torch._group import GroupMemory, init, memory, release, use_catalogue
from tilepost.torch._layer import Layer
from tilepost.torch._norms import gemm_all_reduce_norm, gemm_reduce_scatter_norm
from tilepost.torch._ops import all_gather_gemm, gemm_all_reduce, gemm_reduce_scatter
from tilepost.torch._routed import all_to_all_gemm, gemm_all_to_all
from tilepost.torch._weight_gradient import accumulate_in_fp32
from tilepost.torch.drop_in.install import install, uninstall
from tilepost.torch.drop_in.serving import calls_served
from tilepost.torch.models.hf import hf_plan
from tilepost.torch.models.parallelize import parallelize
from tilepost.torch.nn import ColumnParallelLinear, RowParallelLinear

__all__ = ["ColumnParallelLinear", "GroupMemory", "Layer", "RowParallelLinear", "accumulate_in_fp32",
           "all_gather_gemm", "all_to_all_gemm", "calls_served", "gemm_all_reduce", "gemm_all_reduce_norm",
           "gemm_all_to_all", "gemm_reduce_scatter", "gemm_reduce_scatter_norm", "hf_plan", "inductor_pass", "init",
           "install", "memory", "parallelize", "release", "uninstall", "use_catalogue"]


def __getattr__(name):
    """inductor_pass needs PyTorch's inductor, which takes long to import."""
    if name == "inductor_pass":
        from tilepost.torch.drop_in.inductor import inductor_pass
        return inductor_pass
    raise AttributeError(f"module 'tilepost.torch' has no attribute '{name}'")
