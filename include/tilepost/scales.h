// Scales of blocks (docs/spec.md) in the orders that other libraries have, and copies between them.
// For CUDA and host code, without a library to link.
//
// The scales of a matrix are a matrix themselves: `lines` lines of `blocks` scales each. Of A a
// line belongs to a row, of B [n, k] to 128 rows, and blocks follow each other along k. Of a
// quantised output they follow each other along n.
//
//   using namespace tilepost::scales;
//   const int64_t lines = blocks_of(n), blocks = blocks_of(k);
//   copy(ours, in_lines(blocks), theirs, in_lines(padded(blocks)), lines, blocks, stream);
//
// takes the scales of B out of cuBLASLt's padding.
#ifndef TILEPOST_SCALES_H
#define TILEPOST_SCALES_H

#include <stdint.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#define TILEPOST_SCALES_INLINE __host__ __device__ inline
#else
#define TILEPOST_SCALES_INLINE inline
#endif

namespace tilepost::scales {

// How many blocks of 128 elements `extent` elements have. The last one may have fewer.
TILEPOST_SCALES_INLINE constexpr int64_t blocks_of(int64_t extent) {
  return (extent + 127) / 128;
}

// `count` rounded up to a multiple of 4, as cuBLASLt, TransformerEngine and DeepGEMM pad: 16 bytes.
TILEPOST_SCALES_INLINE constexpr int64_t padded(int64_t count) {
  return (count + 3) / 4 * 4;
}

// An order: how far apart scales lie, in floats.
struct Order {
  int64_t line;   // from one line to the next
  int64_t block;  // from one block of a line to the next
};

// Line by line, each `pitch` floats long, which is the number of blocks where nothing is padded:
// checkpoints' weight_scale_inv, tilepost's scale_b, and scale_a and out_scales with `rows`. With
// padded(blocks) it is the order of B's scales of cuBLASLt (BLK128x128_32F) and TransformerEngine.
TILEPOST_SCALES_INLINE constexpr Order in_lines(int64_t pitch) {
  return {pitch, 1};
}

// Block by block, the scales of one block of all lines `pitch` floats long. With padded(lines) it
// is the order of tilepost's scale_a and out_scales with `columns`, of A's scales of cuBLASLt
// (VEC128_32F), TransformerEngine and DeepGEMM, and with padded(blocks) of a B that is transposed.
TILEPOST_SCALES_INLINE constexpr Order in_blocks(int64_t pitch) {
  return {1, pitch};
}

// Copies scales on the host. The memory does not overlap. Padding is neither read nor written.
inline void copy(float* to, Order of_to, const float* from, Order of_from, int64_t lines,
                 int64_t blocks) {
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t block = 0; block < blocks; ++block)
      to[line * of_to.line + block * of_to.block] =
          from[line * of_from.line + block * of_from.block];
}

#ifdef __CUDACC__

// A thread for each scale: neighbours are blocks of a line.
static __global__ void copy_kernel(float* to, Order of_to, const float* from, Order of_from,
                                   int64_t lines, int64_t blocks) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < lines * blocks; i += step) {
    const int64_t line = i / blocks, block = i % blocks;
    to[line * of_to.line + block * of_to.block] = from[line * of_from.line + block * of_from.block];
  }
}

// As copy() on the host, in device memory and in the order of `stream`.
inline cudaError_t copy(float* to, Order of_to, const float* from, Order of_from, int64_t lines,
                        int64_t blocks, cudaStream_t stream) {
  constexpr int kThreads = 256, kMostBlocks = 1024;
  const int64_t needed = (lines * blocks + kThreads - 1) / kThreads;
  if (needed == 0) return cudaSuccess;
  const auto grid = static_cast<unsigned>(needed < kMostBlocks ? needed : kMostBlocks);
  copy_kernel<<<grid, kThreads, 0, stream>>>(to, of_to, from, of_from, lines, blocks);
  return cudaGetLastError();
}

#endif  // __CUDACC__

}  // namespace tilepost::scales

#endif  // TILEPOST_SCALES_H
