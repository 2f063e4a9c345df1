// The consumers rms_norm and residual_rms_norm. They read rows of a product in the layout in which
// the rows lie, normalise them, and write them row-major.
//
//   y = x, or x + residual rounded to the type and kept in its place
//   out = y * rsqrt(mean(y * y) + epsilon) * weight
//
// in fp32, over rows of n elements. The results are rounded to the type, or to e4m3 with scales of
// blocks (tilepost/internal/quantised.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tilepost/internal/block_scales.h"
#include "tilepost/plan.h"

namespace tilepost::cuda {

struct NormArguments {
  const void* x;             // 16-bit elements; may be `out` where x is row-major
  const int32_t* slot_rows;  // tile layout in slots: [tiles] destination row; null otherwise
  int64_t height;            // tile layout in slabs: rows of a slab; not read otherwise
  int32_t tile_m, tile_n;    // row-major: tile_n is n
  int32_t rows, n;
  const void* weight;  // [n]
  void* residual;      // [rows, n] row-major; null if nothing is added
  void* out;           // [rows, n] row-major
  float epsilon;
  float* scales;     // those of out's blocks; null: out is not quantised
  ScaleSteps steps;  // how far apart they lie
};

// Loads every variant of the kernels of a type.
cudaError_t preload_norm(tilepost_dtype_t type);

// Normalises all rows. Requires rows >= 1. All pointers but slot_rows must be aligned to 16 bytes.
// Accesses are as wide as n and tile_n allow. Both are multiples of 8 where out is quantised.
// `sms`: the number of SMs of the device.
cudaError_t launch_norm(const NormArguments& arguments, tilepost_dtype_t type, int sms,
                        cudaStream_t stream);

}  // namespace tilepost::cuda
