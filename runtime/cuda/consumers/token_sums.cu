// A block makes a tile at a time, and each of its warps one row of the tile at a time.
#include "runtime/cuda/consumers/token_sums.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "runtime/cuda/consumers/token_sums.cuh"
#include "runtime/cuda/device/kernel_launch.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = 768;  // with their registers they fill an SM
constexpr int kAtOnce = 4;     // rows that a lane loads before it adds them

// Returns where row `row` of a tile goes.
__device__ __forceinline__ uint16_t* place_of_row(const TokenSumArguments& args, const Tile& tile,
                                                  int row) {
  if (args.owner_rows == 0)
    return static_cast<uint16_t*>(args.out) + static_cast<long long>(tile.row + row) * args.n;
  const int owner = tile.m / args.owner_rows;
  return static_cast<uint16_t*>(args.peer_out[owner]) +
         static_cast<long long>(tile.m + row - owner * args.owner_rows) * args.n;
}

// A warp makes every `warps`-th row of a tile.
template <DType kType>
__device__ __forceinline__ void sum_tile(const TokenSumArguments& args, const Tile& tile, int warp,
                                         int warps, int lane) {
  const int rows = args.sums.rows_of_tile(tile.m);
  const int end = min(tile.n + args.tile_n, args.n);
  const auto* const products = static_cast<const uint4*>(args.products);
  Entries next;
  if (warp < rows) next = entries_of(args.sums, args.sums.token_of(tile.m + warp), lane);
  for (int row = warp; row < rows; row += warps) {
    const TokenPlace place = args.sums.token_of(tile.m + row);
    const Entries entries = next;
    // Those of the next row are on their way while this row is summed.
    if (row + warps < rows)
      next = entries_of(args.sums, args.sums.token_of(tile.m + row + warps), lane);
    uint16_t* const to = place_of_row(args, tile, row);
    for (int first = tile.n; first < end; first += 32 * kSumWidth) {
      const int column = first + lane * kSumWidth;
      const bool inside = column < end;
      Sum sum;
      add_rows<kType, kAtOnce>(products, args.n / kSumWidth, entries, column / kSumWidth, inside,
                               sum);
      if (!inside) continue;
      if (args.residual != nullptr && place.rank == args.sums.rank)
        add_unweighted<kType>(sum, __ldcs(reinterpret_cast<const uint4*>(
                                       static_cast<const uint16_t*>(args.residual) +
                                       static_cast<long long>(place.token) * args.n + column)));
      *reinterpret_cast<uint4*>(to + column) = rounded<kType>(sum);
    }
  }
}

// Tells whoever waits for the tile's group that the tile is stored. The barrier puts the stores of
// all threads of the block before thread 0's release, which is cumulative (PTX ISA, barrier; 8.9.5,
// Causality Order). Its scope spans GPUs, as the stores to other ranks' memory need.
__device__ __forceinline__ void raise(const TokenSumArguments& args, const Tile& tile) {
  __syncthreads();
  if (threadIdx.x != 0 || (args.owner_rows != 0 && tile.is_padding())) return;
  uint32_t* const counters =
      args.owner_rows == 0 ? args.counters : args.peer_counters[tile.m / args.owner_rows];
  ptx::red_release_sys(counters + static_cast<long long>(tile.group) * TILEPOST_COUNTER_STRIDE, 1);
}

template <DType kType>
__global__ void __launch_bounds__(kThreads, 1)
    token_sums_kernel(const __grid_constant__ TokenSumArguments args) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  for (int position = static_cast<int>(blockIdx.x); position < args.num_tiles;
       position += static_cast<int>(gridDim.x)) {
    const ptx::Quad entry = ptx::load_readonly(args.tiles + position);
    const Tile tile{entry.x, entry.y, entry.z, entry.w};
    if (!tile.is_padding()) sum_tile<kType>(args, tile, warp, kThreads / 32, lane);
    raise(args, tile);
  }
}

using Kernel = void (*)(TokenSumArguments);

// Outputs of experts have 16 bits.
Kernel kernel_of(tilepost_dtype_t type) {
  return type == TILEPOST_BF16 ? token_sums_kernel<DType::bf16> : token_sums_kernel<DType::f16>;
}

}  // namespace

cudaError_t preload_token_sums(tilepost_dtype_t type) {
  return preload_beside_gemm(reinterpret_cast<const void*>(kernel_of(type)));
}

cudaError_t launch_token_sums(const TokenSumArguments& arguments, tilepost_dtype_t type, int sms,
                              cudaStream_t stream) {
  const int blocks = std::clamp(arguments.num_tiles, 1, sms);
  return launch_kernel(kernel_of(type), dim3(blocks), dim3(kThreads), stream, arguments);
}

}  // namespace tilepost::cuda
