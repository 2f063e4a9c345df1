#include <cuda_runtime.h>

#include "runtime/cuda/unpermute.h"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = 256;
// Blocks per tile: with few tiles in a group, one block each would leave the copy to a few SMs.
constexpr int kBlocksPerTile = 4;

// `Vector` holds kWidth elements; n and tile_n are multiples of kWidth.
template <class Vector>
__global__ void __launch_bounds__(kThreads)
    unpermute_kernel(const __grid_constant__ UnpermuteArguments args) {
  constexpr int kWidth = sizeof(Vector) / 2;
  const tilepost_tile_t tile = args.tiles[args.first_tile + blockIdx.x];
  if (tile.row < 0) return;
  const int first_row = tile.m * args.tile_m;
  const int first_column = tile.n * args.tile_n;
  const int rows = min(args.tile_m, args.m - first_row);
  const int vectors = min(args.tile_n, args.n - first_column) / kWidth;
  const int slot_pitch = args.tile_n / kWidth;
  const int out_pitch = args.n / kWidth;
  const auto* from = static_cast<const Vector*>(args.slots) + int64_t{tile.row} * slot_pitch;
  auto* to =
      static_cast<Vector*>(args.out) + int64_t{first_row} * out_pitch + first_column / kWidth;
  const int step = kThreads * kBlocksPerTile;
  for (int i = blockIdx.y * kThreads + threadIdx.x; i < rows * vectors; i += step) {
    const int row = i / vectors, column = i % vectors;
    to[int64_t{row} * out_pitch + column] = from[int64_t{row} * slot_pitch + column];
  }
}

using Kernel = void (*)(UnpermuteArguments);

struct Variant {
  int width;  // elements
  Kernel kernel;
};

const Variant kVariants[] = {
    {8, unpermute_kernel<uint4>},
    {4, unpermute_kernel<uint2>},
    {2, unpermute_kernel<uint32_t>},
    {1, unpermute_kernel<uint16_t>},
};

}  // namespace

cudaError_t preload_unpermute() {
  for (const Variant& variant : kVariants) {
    cudaFuncAttributes attributes;
    const auto* function = reinterpret_cast<const void*>(variant.kernel);
    if (const auto error = cudaFuncGetAttributes(&attributes, function); error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

cudaError_t launch_unpermute(const UnpermuteArguments& arguments, cudaStream_t stream) {
  const Variant* variant = kVariants;
  while (arguments.n % variant->width != 0 || arguments.tile_n % variant->width != 0) ++variant;
  const dim3 grid(arguments.num_tiles, kBlocksPerTile);
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, variant->kernel, arguments);
}

}  // namespace tilepost::cuda
