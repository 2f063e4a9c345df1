// Adds up what all ranks have computed of this rank's rows.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/cuda/shared/flags.h"
#include "tilepost/plan.h"

namespace tilepost::cuda {

// out[i] = parts[0][i] + parts[1][i] + …, in fp32 in this order, rounded once. A single part is
// copied.
struct SumArguments {
  const void* parts[kMostPeers];
  int num_parts;
  void* out;
  void* sums;     // a second place for the sums, or null
  void* clear;    // TILEPOST_SUM_ADDED: the only part, which is set to zero afterwards; otherwise
                  // null
  int64_t count;  // elements
};

cudaError_t preload_sum(tilepost_dtype_t type);

// Launches many small blocks. They run on the SMs that a GEMM leaves free, and on all SMs when the
// GEMM has ended.
cudaError_t launch_sum(const SumArguments& arguments, tilepost_dtype_t type, cudaStream_t stream);

}  // namespace tilepost::cuda
