// The kernel that the author's example launches.
#include <tilepost/plan.h>

#include "ampere_gemm_universal_streamk.cu"

namespace corpus {

using Kernel = DeviceGemmStreamK::GemmKernel;

cudaError_t launch(const tilepost_launch_call_t* call, void* user);

}  // namespace corpus
