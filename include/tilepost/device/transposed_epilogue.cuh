// The epilogue for tiles that the matrix instruction has made transposed, so that a thread's
// neighbouring sums lie in one column of the output. epilogue.cuh says what the operations are.
#ifndef TILEPOST_DEVICE_TRANSPOSED_EPILOGUE_CUH
#define TILEPOST_DEVICE_TRANSPOSED_EPILOGUE_CUH

#include <cstdint>

#include "tilepost/device/element.cuh"
#include "tilepost/device/epilogue.cuh"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::epilogue {

// What the operations kOps read for a thread's part of kUnits units, loaded before it is used. A
// unit is kUnitRows rows of the output. Of every unit a thread has two columns, 8 apart, and two
// neighbouring rows. Nothing outside the output is read.
template <int kOps, DType kOutput, int kUnits, int kUnitRows>
struct UnitInputs {
  using Element = DeviceElement<kOutput>;

  float column_scale[2], bias[2];
  float row_scale[kUnits][2];
  Element residual[kUnits][4];  // in the order of a unit's sums

  // (row, col) is the thread's first element of the output.
  __device__ __forceinline__ void load(const tilepost_shape_t& shape,
                                       const tilepost_epilogue_t& operands, int row, int col) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int column = min(col + 8 * c, shape.n - 1);
      column_scale[c] = epilogue::column_scale<kOps>(operands, column);
      bias[c] = 0;
      if constexpr ((kOps & TILEPOST_BIAS) != 0) {
        if (operands.bias != nullptr)
          bias[c] = static_cast<float>(static_cast<const Element*>(operands.bias)[column]);
      }
#pragma unroll
      for (int i = 0; i < kUnits * 2; ++i) {
        const int line = min(row + i / 2 * kUnitRows + i % 2, shape.m - 1);
        if (c == 0) row_scale[i / 2][i % 2] = epilogue::row_scale<kOps>(operands, line);
        if constexpr ((kOps & TILEPOST_RESIDUAL) != 0)
          residual[i / 2][2 * c + i % 2] = static_cast<const Element*>(
              operands.residual)[static_cast<long long>(line) * shape.n + column];
      }
    }
  }

  // Applies the operations to the sums of two rows in column `c` of a unit, and rounds them.
  __device__ __forceinline__ uint32_t finish(const float* sums, int unit, int c) const {
    float x[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      Inputs inputs{row_scale[unit][row], column_scale[c], bias[c], 0};
      if constexpr ((kOps & TILEPOST_RESIDUAL) != 0)
        inputs.residual = static_cast<float>(residual[unit][2 * c + row]);
      x[row] = epilogue::finish<kOps>(sums[2 * c + row], inputs);
    }
    return pack<kOutput>(x[0], x[1]);
  }
};

}  // namespace tilepost::epilogue

#endif  // TILEPOST_DEVICE_TRANSPOSED_EPILOGUE_CUH
