// The rows with which cuBLASLt computes a product that our kernels compute with any number of rows.
#pragma once

#include <cstdint>
#include <string>

#include "tilepost/plan.h"

namespace tilepost::bench {

// The number of rows that cuBLASLt multiplies for the m of `plan`, or for other `m` of it. cuBLASLt
// has scales of blocks only for multiples of four rows. So its users pad A and the output, and
// cuBLASLt is measured with rows up to the next multiple, whose results nobody reads. Whatever it
// reads or writes has room for these rows.
constexpr int64_t rows_for_cublas(const tilepost_plan_t& plan, int64_t m) {
  constexpr int64_t kMultiple = TILEPOST_SCALES_PITCH;
  return plan.scales == TILEPOST_SCALES_NONE ? m : (m + kMultiple - 1) / kMultiple * kMultiple;
}
constexpr int64_t rows_for_cublas(const tilepost_plan_t& plan) {
  return rows_for_cublas(plan, plan.map.m);
}

// Says with how many rows cuBLASLt computes the plan's product, or "" if it does with m.
inline std::string cublas_rows_in_words(const tilepost_plan_t& plan) {
  const int64_t m = plan.map.m, rows = rows_for_cublas(plan);
  if (rows == m) return "";
  return "cuBLASLt has scales of blocks only where m is a multiple of " +
         std::to_string(TILEPOST_SCALES_PITCH) + ": it computes " + std::to_string(rows) +
         " rows, ours " + std::to_string(m);
}

}  // namespace tilepost::bench
