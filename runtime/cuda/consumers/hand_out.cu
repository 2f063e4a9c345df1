#include "runtime/cuda/consumers/hand_out.h"

#include <algorithm>

#include "runtime/cuda/device/kernel_launch.cuh"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 2048;
constexpr int64_t kUnit = sizeof(uint4);

__global__ void __launch_bounds__(kThreads) hand_out_kernel(HandOutArguments arguments) {
  const char* const place =
      static_cast<const char*>(arguments.places) + (*arguments.run & 1) * arguments.apart;
  const auto* const from = reinterpret_cast<const uint4*>(place);
  auto* const to = static_cast<uint4*>(arguments.to);
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = arguments.first / kUnit + int64_t{blockIdx.x} * kThreads + threadIdx.x;
       i < arguments.end / kUnit; i += stride)
    to[i] = from[i];
}

}  // namespace

cudaError_t preload_hand_out() {
  return preload_kernel(reinterpret_cast<const void*>(hand_out_kernel));
}

cudaError_t launch_hand_out(const HandOutArguments& arguments, cudaStream_t stream) {
  const int64_t units = (arguments.end - arguments.first) / kUnit;
  const dim3 grid(static_cast<unsigned>(std::min((units + kThreads - 1) / kThreads, kMostBlocks)));
  return launch_kernel(hand_out_kernel, grid, dim3(kThreads), stream, arguments);
}

}  // namespace tilepost::cuda
