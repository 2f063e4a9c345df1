// The kernel that the author's example launches.
#include <tilepost/plan.h>

#include "48_hopper_warp_specialized_gemm.cu"

namespace corpus {

using Kernel = GemmKernel;

cudaError_t launch(const tilepost_launch_call_t* call, void* user);

}  // namespace corpus
