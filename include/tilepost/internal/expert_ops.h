// The operations of the epilogue that combine gate and up (tilepost_epilogue_op_t).
#ifndef TILEPOST_EXPERT_OPS_H
#define TILEPOST_EXPERT_OPS_H

#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost {

// Of these an epilogue has one or none.
constexpr int kGateOps =
    TILEPOST_SWIGLU | TILEPOST_GEGLU | TILEPOST_SWIGLU_CLAMPED | TILEPOST_BILINEAR;

// Whether B has two rows for each column of the output.
TILEPOST_INLINE constexpr bool combines_gate(int epilogue) {
  return (epilogue & kGateOps) != 0;
}

// The rows of an expert's B for n columns of the output.
TILEPOST_INLINE constexpr long long rows_of_expert(int epilogue, long long n) {
  return combines_gate(epilogue) ? 2 * n : n;
}

// SWIGLU_CLAMPED: the greatest gate, the greatest |up|, and the slope of the sigmoid.
constexpr float kGateLimit = 7.0f, kUpLimit = 7.0f, kSigmoidSlope = 1.702f;

// The row of an expert's B that gives gate (part 0) or up (part 1) of column `column`.
TILEPOST_INLINE constexpr int row_of_part(bool interleaved, int n, int column, int part) {
  return interleaved ? 2 * column + part : part * n + column;
}

}  // namespace tilepost

#endif  // TILEPOST_EXPERT_OPS_H
