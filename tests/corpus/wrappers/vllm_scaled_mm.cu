// One of the author's kernels, with an epilogue tree that scales the product.
#include <tilepost/plan.h>

#include "scaled_mm.cuh"

namespace corpus {

template <typename Accumulator, typename Output, typename Tile>
struct Scaled {
  using EVTCompute = cutlass::epilogue::fusion::Sm90EVT<
      cutlass::epilogue::fusion::Sm90Compute<cutlass::multiplies, Output, float,
                                             cutlass::FloatRoundStyle::round_to_nearest>,
      cutlass::epilogue::fusion::Sm90ScalarBroadcast<float>,
      cutlass::epilogue::fusion::Sm90AccFetch>;
};

using Kernel = vllm::cutlass_3x_gemm<cutlass::float_e4m3_t, cutlass::bfloat16_t, Scaled,
                                     cute::Shape<cute::_128, cute::_128, cute::_128>,
                                     cute::Shape<cute::_2, cute::_1, cute::_1>,
                                     cutlass::gemm::KernelTmaWarpSpecializedPingpongFP8FastAccum,
                                     cutlass::epilogue::TmaWarpSpecialized>::GemmKernel;

cudaError_t launch(const tilepost_launch_call_t* call, void* user);

}  // namespace corpus
