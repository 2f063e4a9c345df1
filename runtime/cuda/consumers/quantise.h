// The consumer quantise: rounds rows of a product, in the layout in which they lie, to e4m3 with
// scales of blocks (tilepost/internal/quantised.h), and writes both.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tilepost/internal/block_scales.h"
#include "tilepost/plan.h"

namespace tilepost::cuda {

struct QuantiseArguments {
  const void* x;             // 16-bit elements
  const int32_t* slot_rows;  // tile layout in slots: [tiles] destination row; null otherwise
  int64_t height;            // tile layout in slabs: rows of a slab; not read otherwise
  int32_t tile_m, tile_n;    // row-major: tile_n is n
  int32_t first_row, rows;   // the rows to quantise
  int32_t n;                 // a multiple of 8, as is tile_n
  void* out;                 // row-major, from row 0 on
  float* scales;             // of all rows, from row 0 on
  ScaleSteps steps;          // how far apart they lie
};

// Loads the kernel for a type.
cudaError_t preload_quantise(tilepost_dtype_t type);

// Quantises the rows. Requires rows >= 1. x is aligned to 16 bytes and out to 8. `sms`: the number
// of SMs of the device.
cudaError_t launch_quantise(const QuantiseArguments& arguments, tilepost_dtype_t type, int sms,
                            cudaStream_t stream);

}  // namespace tilepost::cuda
