#include "runtime/cuda/consumers/hand_out.h"

#include <algorithm>

#include "runtime/cuda/device/kernel_launch.cuh"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 2048;

template <class Unit>
__global__ void __launch_bounds__(kThreads) hand_out_kernel(HandOutArguments arguments) {
  constexpr int64_t kUnit = sizeof(Unit);
  const char* const place =
      static_cast<const char*>(arguments.places) + (*arguments.run & 1) * arguments.apart;
  const auto* const from = reinterpret_cast<const Unit*>(place);
  auto* const to = static_cast<Unit*>(arguments.to);
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = arguments.first / kUnit + int64_t{blockIdx.x} * kThreads + threadIdx.x;
       i < arguments.end / kUnit; i += stride)
    to[i] = from[i];
}

template <class Unit>
cudaError_t launch_with(const HandOutArguments& arguments, cudaStream_t stream) {
  const int64_t units = (arguments.end - arguments.first) / static_cast<int64_t>(sizeof(Unit));
  const dim3 grid(static_cast<unsigned>(std::min((units + kThreads - 1) / kThreads, kMostBlocks)));
  return launch_kernel(hand_out_kernel<Unit>, grid, dim3(kThreads), stream, arguments);
}

// Whether everything is a multiple of the size of uint4.
bool is_aligned(const HandOutArguments& arguments) {
  const auto address = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); };
  const auto all = address(arguments.places) | address(arguments.to) |
                   static_cast<uintptr_t>(arguments.apart | arguments.first | arguments.end);
  return all % sizeof(uint4) == 0;
}

}  // namespace

cudaError_t preload_hand_out() {
  const cudaError_t words =
      preload_kernel(reinterpret_cast<const void*>(hand_out_kernel<uint32_t>));
  if (words != cudaSuccess) return words;
  return preload_kernel(reinterpret_cast<const void*>(hand_out_kernel<uint4>));
}

cudaError_t launch_hand_out(const HandOutArguments& arguments, cudaStream_t stream) {
  return is_aligned(arguments) ? launch_with<uint4>(arguments, stream)
                               : launch_with<uint32_t>(arguments, stream);
}

}  // namespace tilepost::cuda
