// Sixteen lanes have a block. A warp has two blocks at a time, of which it loads several pairs
// before it computes.
#include <cuda_runtime.h>

#include <algorithm>

#include "runtime/cuda/consumers/quantise.h"
#include "runtime/cuda/device/kernel_launch.cuh"
#include "tilepost/device/quantised.cuh"
#include "tilepost/device/rows.cuh"
#include "tilepost/internal/kernel_dtype.h"

namespace tilepost::cuda {
namespace {

using quantised::kLanes;
using quantised::kWidth;
using quantised::Neighbours;

constexpr int kThreads = 256, kWarp = 32, kBlocksOfWarp = kWarp / kLanes;
constexpr int kAtOnce = 4;       // loads of a thread that are under way at once
constexpr int kBlocksPerSm = 8;  // of threads

// The place of a lane's neighbours.
struct Place {
  int64_t row;
  int block, column;
};

__device__ __forceinline__ Place place_of(const QuantiseArguments& args, int64_t unit, int blocks) {
  const int64_t row = unit / blocks;
  const int block = static_cast<int>(unit - row * blocks);
  return {args.first_row + row, block,
          block * TILEPOST_SCALE_BLOCK + static_cast<int>(threadIdx.x) % kLanes * kWidth};
}

template <DType kType>
__device__ __forceinline__ Neighbours widened(const uint4& vector) {
  const uint32_t words[] = {vector.x, vector.y, vector.z, vector.w};
  Neighbours x;
#pragma unroll
  for (int w = 0; w < kWidth / 2; ++w) {
    const float2 pair = unpack<kType>(words[w]);
    x.values[2 * w] = pair.x, x.values[2 * w + 1] = pair.y;
  }
  return x;
}

// The lanes of a warp take the same turns, because all of them shuffle.
template <DType kType>
__global__ void __launch_bounds__(kThreads)
    quantise_kernel(const __grid_constant__ QuantiseArguments args) {
  const rows::Any layout{args.slot_rows, args.height, args.tile_m, args.tile_n,
                         (args.n + args.tile_n - 1) / args.tile_n};
  const int blocks = static_cast<int>(scale_blocks(args.n));
  const int64_t units = int64_t{args.rows} * blocks;
  const int64_t step = int64_t{gridDim.x} * (kThreads / kLanes);
  const int64_t warp = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  const int own = static_cast<int>(threadIdx.x) % kWarp / kLanes;  // the lane's block of the warp's
  for (int64_t first = warp * kBlocksOfWarp; first < units; first += kAtOnce * step) {
    uint4 loaded[kAtOnce] = {};
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int64_t unit = first + i * step + own;
      if (unit >= units) continue;
      const Place place = place_of(args, unit, blocks);
      if (place.column < args.n)
        loaded[i] =
            *reinterpret_cast<const uint4*>(static_cast<const uint16_t*>(args.x) +
                                            layout.place(place.row, layout.column(place.column)));
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const Neighbours x = widened<kType>(loaded[i]);
      const float scale = quantised::scale_of(x);
      const int64_t unit = first + i * step + own;
      if (unit >= units) continue;
      const Place place = place_of(args, unit, blocks);
      if (place.column < args.n)
        quantised::store(static_cast<uint8_t*>(args.out) + place.row * args.n + place.column, x,
                         scale);
      if (threadIdx.x % kLanes == 0)
        args.scales[place.row * args.steps.row + place.block * args.steps.block] = scale;
    }
  }
}

using Kernel = void (*)(QuantiseArguments);

Kernel kernel_for(tilepost_dtype_t type) {
  Kernel kernel = nullptr;
  with_dtype<&DtypeRow::is_half>(
      type, [&](auto dtype) { kernel = quantise_kernel<in_kernels(dtype.value)>; });
  return kernel;
}

}  // namespace

cudaError_t preload_quantise(tilepost_dtype_t type) {
  return preload_kernel(reinterpret_cast<const void*>(kernel_for(type)));
}

cudaError_t launch_quantise(const QuantiseArguments& arguments, tilepost_dtype_t type, int sms,
                            cudaStream_t stream) {
  const int64_t units = arguments.rows * scale_blocks(arguments.n);
  constexpr int64_t kOfBlock = kThreads / kLanes * kAtOnce;
  const int64_t blocks =
      std::min<int64_t>((units + kOfBlock - 1) / kOfBlock, int64_t{sms} * kBlocksPerSm);
  return launch_kernel(kernel_for(type), dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
                       stream, arguments);
}

}  // namespace tilepost::cuda
