// The kernel of the author's example, with the types that it has in CutlassSgemmNN.
#include <tilepost/plan.h>

#include "basic_gemm.cu"

namespace corpus {

using Column = cutlass::layout::ColumnMajor;
using Kernel = cutlass::gemm::device::Gemm<float, Column, float, Column, float, Column>::GemmKernel;

cudaError_t launch(const tilepost_launch_call_t* call, void* user);

}  // namespace corpus
