#include <cuda_runtime.h>

#include <algorithm>

#include "runtime/cuda/consumers/unpermute.h"
#include "runtime/cuda/device/kernel_launch.cuh"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = 256;
// The blocks of a tile. With one block for each tile, a group of few tiles would be copied by few
// SMs.
constexpr int kBlocksPerTile = 4;
// The vectors that a thread copies of a slab. They are enough loads at once to keep HBM busy.
constexpr int kVectorsPerThread = 4;
constexpr int kMostBlocks = 65535;  // the most blocks of a grid in y and in z

// `Vector` holds kWidth elements. n and tile_n are multiples of kWidth.
template <class Vector>
__global__ void __launch_bounds__(kThreads)
    unpermute_kernel(const __grid_constant__ UnpermuteArguments args) {
  constexpr int kWidth = sizeof(Vector) / 2;
  const tilepost_tile_t tile = args.tiles[args.first_tile + blockIdx.x];
  if (tile.row < 0) return;
  const int rows = min(args.tile_m, args.m - tile.m);
  const int vectors = min(args.tile_n, args.n - tile.n) / kWidth;
  const int slot_pitch = args.tile_n / kWidth;
  const int out_pitch = args.n / kWidth;
  const auto* from = static_cast<const Vector*>(args.slots) + int64_t{tile.row} * slot_pitch;
  auto* to = static_cast<Vector*>(args.out) + int64_t{tile.m} * out_pitch + tile.n / kWidth;
  const int step = kThreads * kBlocksPerTile;
  for (int i = blockIdx.y * kThreads + threadIdx.x; i < rows * vectors; i += step) {
    const int row = i / vectors, column = i % vectors;
    to[int64_t{row} * out_pitch + column] = from[int64_t{row} * slot_pitch + column];
  }
}

// The number of rows that a block copies at a time, if a row has `vectors` vectors.
__host__ __device__ constexpr int rows_at_once(int vectors) {
  return vectors < kThreads * kVectorsPerThread ? kThreads * kVectorsPerThread / vectors : 1;
}

// Block (x, y, z) copies rows that source z has sent, of the slab of tile column first + y.
template <class Vector>
__global__ void __launch_bounds__(kThreads)
    unpermute_slabs_kernel(const __grid_constant__ SlabArguments args) {
  constexpr int kWidth = sizeof(Vector) / 2;
  const int first_row = args.first_row[blockIdx.z];
  const int rows = args.first_row[blockIdx.z + 1] - first_row;
  const int height = args.height > 0 ? args.height : rows;
  const int tiles_n = (args.n + args.tile_n - 1) / args.tile_n;
  const int slab_pitch = args.tile_n / kWidth, out_pitch = args.n / kWidth;
  const int chunk = rows_at_once(slab_pitch);
  for (int n = args.first + blockIdx.y; n < args.end; n += gridDim.y) {
    const int vectors = min(args.tile_n, args.n - n * args.tile_n) / kWidth;
    const auto* slab = static_cast<const Vector*>(args.slabs) +
                       (int64_t{first_row} * tiles_n + int64_t{n} * height) * slab_pitch;
    auto* out =
        static_cast<Vector*>(args.out) + int64_t{first_row} * out_pitch + int64_t{n} * slab_pitch;
    for (int64_t at = int64_t{blockIdx.x} * chunk; at < rows; at += int64_t{gridDim.x} * chunk) {
      const int count = static_cast<int>(min(int64_t{chunk}, rows - at)) * vectors;
      for (int i = threadIdx.x; i < count; i += kThreads) {
        const int row = i / vectors, column = i % vectors;
        out[(at + row) * out_pitch + column] = slab[(at + row) * slab_pitch + column];
      }
    }
  }
}

struct Variant {
  int width;  // elements
  void (*slots)(UnpermuteArguments);
  void (*slabs)(SlabArguments);
};

const Variant kVariants[] = {
    {8, unpermute_kernel<uint4>, unpermute_slabs_kernel<uint4>},
    {4, unpermute_kernel<uint2>, unpermute_slabs_kernel<uint2>},
    {2, unpermute_kernel<uint32_t>, unpermute_slabs_kernel<uint32_t>},
    {1, unpermute_kernel<uint16_t>, unpermute_slabs_kernel<uint16_t>},
};

const Variant& widest(int n, int tile_n) {
  const Variant* variant = kVariants;
  while (n % variant->width != 0 || tile_n % variant->width != 0) ++variant;
  return *variant;
}

}  // namespace

cudaError_t preload_unpermute() {
  for (const Variant& variant : kVariants)
    for (const void* function : {reinterpret_cast<const void*>(variant.slots),
                                 reinterpret_cast<const void*>(variant.slabs)})
      if (const auto error = preload_kernel(function); error != cudaSuccess) return error;
  return cudaSuccess;
}

cudaError_t launch_unpermute(const UnpermuteArguments& arguments, cudaStream_t stream) {
  const dim3 grid(arguments.num_tiles, kBlocksPerTile);
  return launch_kernel(widest(arguments.n, arguments.tile_n).slots, grid, dim3(kThreads), stream,
                       arguments);
}

cudaError_t launch_unpermute_slabs(const SlabArguments& arguments, cudaStream_t stream) {
  const Variant& variant = widest(arguments.n, arguments.tile_n);
  const int chunk = rows_at_once(arguments.tile_n / variant.width);
  const int parts = std::max(1, (arguments.most_rows + chunk - 1) / chunk);
  const dim3 grid(static_cast<unsigned>(parts),
                  std::min(arguments.end - arguments.first, kMostBlocks), arguments.sources);
  return launch_kernel(variant.slabs, grid, dim3(kThreads), stream, arguments);
}

}  // namespace tilepost::cuda
