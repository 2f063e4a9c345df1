// The kernel that the author's cutlass_gemm_signal launches, by one of its instances.
#include <tilepost/plan.h>

#include <cuda_fp16.h>

#include "cutlass/arch/memory.h"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/thread/scale_type.h"
#include "cutlass/fast_math.h"
#include "cutlass/gemm/device/gemm_complex.h"

#include "gemm_with_signal.h"

namespace corpus {

using Half = cutlass::half_t;
using Row = cutlass::layout::RowMajor;
using Kernel =
    cutlass::GemmSignal<Half, Row, Half, cutlass::layout::ColumnMajor, Half, Row, Half,
                        cutlass::epilogue::thread::LinearCombination<Half, 8, Half, Half>,
                        cutlass::gemm::GemmShape<128, 128, 32>,
                        cutlass::gemm::GemmShape<64, 64, 32>, cutlass::gemm::GemmShape<16, 8, 16>,
                        3, 1>::GemmEpilogueFusion;

cudaError_t launch(const tilepost_launch_call_t* call, void* user);

}  // namespace corpus
