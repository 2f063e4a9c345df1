"""Operations and layers for PyTorch. This version runs them on the host target: tensors on the CPU, in a process group
whose ranks are threads. Anywhere else PyTorch's own operations run, with one warning that says why."""
import sys as _sys

import torch as _torch

from tilepost.torch import _versions

_versions.check(_sys.version_info, _torch.__version__,
                _torch.cuda.nccl.version() if _torch.cuda.is_available() else None)

# pylint: disable=wrong-import-position
from tilepost.torch._group import release, use_catalogue
from tilepost.torch._ops import all_gather_gemm, gemm_all_reduce, gemm_reduce_scatter
from tilepost.torch._weight_gradient import accumulate_in_fp32
from tilepost.torch.models.hf import hf_plan
from tilepost.torch.models.parallelize import parallelize
from tilepost.torch.nn import ColumnParallelLinear, RowParallelLinear

__all__ = ["ColumnParallelLinear", "RowParallelLinear", "accumulate_in_fp32", "all_gather_gemm", "gemm_all_reduce",
           "gemm_reduce_scatter", "hf_plan", "parallelize", "release", "use_catalogue"]
