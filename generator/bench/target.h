// The GPUs and tools that measurements need.
#pragma once

#include <optional>
#include <string>

#include "generator/diagnostics.h"
#include "generator/harness/gpus.h"
#include "generator/harness/machine.h"

namespace tilepost {

struct BenchTarget {
  int sm = 0, gpus = 0;
  CudaTools tools;
  std::string cublas_lt;  // the file of the library cuBLASLt
};

// The tools for these GPUs. Reports what is missing, as "cannot <verb>: …", and returns nothing if
// something is.
std::optional<BenchTarget> find_bench_target(const Gpus& gpus, const char* verb,
                                             Diagnostics& diagnostics);

}  // namespace tilepost
