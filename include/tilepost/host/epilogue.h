// What a host kernel does to a sum before it rounds the sum: the counterpart of
// device/epilogue.cuh.
#ifndef TILEPOST_HOST_EPILOGUE_H
#define TILEPOST_HOST_EPILOGUE_H

#include <cmath>

#include "tilepost/mark.cuh"
#include "tilepost/numeric.h"
#include "tilepost/plan.h"

namespace tilepost::epilogue {

// x * P(X <= x) for a standard normal X: the exact form, by the error function.
inline float gelu(float x) {
  constexpr float kRootHalf = 0.70710678118654752f;
  return 0.5f * x * (1.0f + std::erf(x * kRootHalf));
}

inline float silu(float x) {
  return x / (1.0f + std::exp(-x));
}

// Applies the operations kOps (a set of TILEPOST_SCALE …) to the sum of output element (row, col).
// `ld` is the row length of the residual, in elements.
template <int kOps, DType kOutput>
inline float finish(const tilepost_epilogue_t& operands, float sum, int row, int col, int ld) {
  using Output = HostElement<kOutput>;
  float x = sum;
  if constexpr ((kOps & TILEPOST_SCALE) != 0) x *= operands.scale_a[0] * operands.scale_b[0];
  if constexpr ((kOps & TILEPOST_SCALE_ROWS) != 0) x *= operands.scale_a[row];
  if constexpr ((kOps & TILEPOST_SCALE_COLUMNS) != 0) x *= operands.scale_b[col];
  if constexpr ((kOps & TILEPOST_BIAS) != 0) {
    if (operands.bias != nullptr) x += to_float(static_cast<const Output*>(operands.bias)[col]);
  }
  if constexpr ((kOps & TILEPOST_GELU) != 0) x = gelu(x);
  if constexpr ((kOps & TILEPOST_SILU) != 0) x = silu(x);
  if constexpr ((kOps & TILEPOST_RESIDUAL) != 0)
    x += to_float(
        static_cast<const Output*>(operands.residual)[static_cast<long long>(row) * ld + col]);
  return x;
}

}  // namespace tilepost::epilogue

#endif  // TILEPOST_HOST_EPILOGUE_H
