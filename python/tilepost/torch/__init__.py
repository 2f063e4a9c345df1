"""Operations and layers for PyTorch. This version runs them on the host target: tensors on the CPU, in a process group
whose ranks are threads. Anywhere else PyTorch's own operations run, with one warning that says why."""
from tilepost.torch._group import release, use_catalogue
from tilepost.torch._ops import all_gather_gemm, gemm_all_reduce, gemm_reduce_scatter
from tilepost.torch.nn import ColumnParallelLinear, RowParallelLinear

__all__ = ["ColumnParallelLinear", "RowParallelLinear", "all_gather_gemm", "gemm_all_reduce", "gemm_reduce_scatter",
           "release", "use_catalogue"]
