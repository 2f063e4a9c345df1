// What a kernel does to a sum before it rounds it: the plan's epilogue operations, a set kOps of
// TILEPOST_SCALE … (plan.h).
#ifndef TILEPOST_DEVICE_EPILOGUE_CUH
#define TILEPOST_DEVICE_EPILOGUE_CUH

#include <cstdint>

#include "tilepost/device/element.cuh"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::epilogue {

// x * P(X <= x) for a standard normal X: the exact form, by the error function.
__device__ __forceinline__ float gelu(float x) {
  constexpr float kRootHalf = 0.70710678118654752f;
  return 0.5f * x * (1.0f + erff(x * kRootHalf));
}

// The fast division gives 0 where the exponential is beyond 2^126, which is the right result.
__device__ __forceinline__ float silu(float x) {
  return __fdividef(x, 1.0f + __expf(-x));
}

// What the operations read for one output element. A member that no operation reads may be
// anything.
struct Inputs {
  float row_scale, column_scale, bias, residual;
};

// Applies the operations to one sum.
template <int kOps>
__device__ __forceinline__ float finish(float sum, const Inputs& inputs) {
  float x = sum;
  if constexpr ((kOps & (TILEPOST_SCALE | TILEPOST_SCALE_ROWS)) != 0) x *= inputs.row_scale;
  if constexpr ((kOps & (TILEPOST_SCALE | TILEPOST_SCALE_COLUMNS)) != 0) x *= inputs.column_scale;
  if constexpr ((kOps & TILEPOST_BIAS) != 0) x += inputs.bias;
  if constexpr ((kOps & TILEPOST_GELU) != 0) x = gelu(x);
  if constexpr ((kOps & TILEPOST_SILU) != 0) x = silu(x);
  if constexpr ((kOps & TILEPOST_RESIDUAL) != 0) x += inputs.residual;
  return x;
}

template <int kOps>
__device__ __forceinline__ float row_scale(const tilepost_epilogue_t& operands, int row) {
  if constexpr ((kOps & TILEPOST_SCALE_ROWS) != 0)
    return operands.scale_a[row];
  else if constexpr ((kOps & TILEPOST_SCALE) != 0)
    return operands.scale_a[0];
  else
    return 1;
}

template <int kOps>
__device__ __forceinline__ float column_scale(const tilepost_epilogue_t& operands, int col) {
  if constexpr ((kOps & TILEPOST_SCALE_COLUMNS) != 0)
    return operands.scale_b[col];
  else if constexpr ((kOps & TILEPOST_SCALE) != 0)
    return operands.scale_b[0];
  else
    return 1;
}

// Applies the operations to the sum of output element (row, col), which lies inside the m x n
// output. `ld` is the row length of the residual.
template <int kOps, DType kOutput>
__device__ __forceinline__ float finish(const tilepost_epilogue_t& operands, float sum, int row,
                                        int col, int ld) {
  using Output = DeviceElement<kOutput>;
  Inputs inputs{row_scale<kOps>(operands, row), column_scale<kOps>(operands, col), 0, 0};
  if constexpr ((kOps & TILEPOST_BIAS) != 0) {
    if (operands.bias != nullptr)
      inputs.bias = static_cast<float>(static_cast<const Output*>(operands.bias)[col]);
  }
  if constexpr ((kOps & TILEPOST_RESIDUAL) != 0)
    inputs.residual = static_cast<float>(
        static_cast<const Output*>(operands.residual)[static_cast<long long>(row) * ld + col]);
  return finish<kOps>(sum, inputs);
}

// ---- Two neighbours of a row at a time, loaded ahead of their use. Columns are even, and so is
// the row length, so that both or neither lie inside the output.

// What the operations read for two neighbours, in the form in which it is loaded.
struct PairInputs {
  float row_scale, low_scale, high_scale;
  uint32_t bias, residual;  // two elements of the output's type
};

template <int kOps>
__device__ __forceinline__ PairInputs load_pair(const tilepost_epilogue_t& operands, int row,
                                                int col, int ld) {
  PairInputs inputs{row_scale<kOps>(operands, row), column_scale<kOps>(operands, col),
                    column_scale<kOps>(operands, col + 1), 0, 0};
  if constexpr ((kOps & TILEPOST_BIAS) != 0) {
    if (operands.bias != nullptr)
      inputs.bias = static_cast<const uint32_t*>(operands.bias)[col / 2];
  }
  if constexpr ((kOps & TILEPOST_RESIDUAL) != 0)
    inputs.residual = static_cast<const uint32_t*>(
        operands.residual)[(static_cast<long long>(row) * ld + col) / 2];
  return inputs;
}

// Applies the operations to two neighbours.
template <int kOps, DType kOutput>
__device__ __forceinline__ float2 finish_pair(float low, float high, const PairInputs& inputs) {
  const float2 bias = unpack<kOutput>(inputs.bias), residual = unpack<kOutput>(inputs.residual);
  return {finish<kOps>(low, Inputs{inputs.row_scale, inputs.low_scale, bias.x, residual.x}),
          finish<kOps>(high, Inputs{inputs.row_scale, inputs.high_scale, bias.y, residual.y})};
}

}  // namespace tilepost::epilogue

#endif  // TILEPOST_DEVICE_EPILOGUE_CUH
