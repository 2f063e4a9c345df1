// GPU kernels of what experts are measured against. They use no code of the kernels that are
// measured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tilepost/plan.h"

namespace tilepost::bench {

// The products of gate and of up, as they lie side by side in memory.
struct GateProducts {
  const void* both;  // [rows, 2 n]
  int64_t rows;
  int n;                  // columns of the result, a multiple of 8
  int operation;          // one of kGateOps
  bool alternating;       // whether gate and up alternate, otherwise each has a half of a row
  tilepost_dtype_t type;  // of both and of the result: two bytes
};

// Combines gate and up into `out`, [rows, n], in fp32, rounded once.
void combine_gate(const GateProducts& products, void* out, cudaStream_t stream);

// Adds to *wrong the number of elements of `out` that differ from `expected`. All bits count,
// unless `operation`, one of kGateOps or 0, is not exact on whole numbers: then a number may be off
// by two units in the last place. Elements of `expected` whose every byte is 0xff were not
// computed, and are wrong.
void count_apart(const void* out, const void* expected, int64_t count, tilepost_dtype_t type,
                 int operation, unsigned long long* wrong, cudaStream_t stream);

}  // namespace tilepost::bench
