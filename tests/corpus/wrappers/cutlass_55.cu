// The kernel that the author's example launches.
#include <tilepost/plan.h>

#include "55_hopper_mixed_dtype_gemm.cu"

namespace corpus {

using Kernel = GemmKernelScaleOnly;

cudaError_t launch(const tilepost_launch_call_t* call, void* user);

}  // namespace corpus
