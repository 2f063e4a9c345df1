#include "runtime/cuda/consumers/pack.h"

#include <algorithm>

#include "runtime/cuda/device/kernel_launch.cuh"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 8192;

// A block copies one row at a time.
template <class Vector>
__global__ void __launch_bounds__(kThreads) pack_kernel(PackArguments arguments) {
  const int64_t width = arguments.row_bytes / static_cast<int64_t>(sizeof(Vector));
  const auto* rows = static_cast<const Vector*>(arguments.rows);
  auto* packed = static_cast<Vector*>(arguments.packed);
  for (int64_t row = blockIdx.x; row < arguments.count; row += gridDim.x) {
    const Vector* from = rows + arguments.order[row] * width;
    Vector* to = packed + row * width;
    for (int64_t i = threadIdx.x; i < width; i += kThreads) to[i] = from[i];
  }
}

struct Variant {
  int bytes;
  void (*kernel)(PackArguments);
};

const Variant kVariants[] = {
    {16, pack_kernel<uint4>},   {8, pack_kernel<uint2>},   {4, pack_kernel<uint32_t>},
    {2, pack_kernel<uint16_t>}, {1, pack_kernel<uint8_t>},
};

const Variant& widest(const PackArguments& arguments) {
  const uint64_t places = reinterpret_cast<uintptr_t>(arguments.rows) |
                          reinterpret_cast<uintptr_t>(arguments.packed) |
                          static_cast<uint64_t>(arguments.row_bytes);
  const Variant* variant = kVariants;
  while (places % variant->bytes != 0) ++variant;
  return *variant;
}

}  // namespace

cudaError_t preload_pack() {
  for (const Variant& variant : kVariants) {
    const auto* function = reinterpret_cast<const void*>(variant.kernel);
    if (const auto error = preload_kernel(function); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t launch_pack(const PackArguments& arguments, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(std::min(arguments.count, kMostBlocks)));
  return launch_kernel(widest(arguments).kernel, grid, dim3(kThreads), stream, arguments);
}

}  // namespace tilepost::cuda
