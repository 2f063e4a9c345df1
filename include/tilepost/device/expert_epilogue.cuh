// The epilogue of a grouped GEMM (templates/gemm_sm90_experts.cu): scales and bias of the expert,
// and operations that combine gate and up. Tiles arise transposed (transposed_epilogue.cuh).
#ifndef TILEPOST_DEVICE_EXPERT_EPILOGUE_CUH
#define TILEPOST_DEVICE_EXPERT_EPILOGUE_CUH

#include <cstdint>

#include "tilepost/device/element.cuh"
#include "tilepost/device/epilogue.cuh"
#include "tilepost/device/panel.cuh"
#include "tilepost/internal/expert_ops.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::epilogue {

// Combines gate and up by the one operation of kOps that does so.
template <int kOps>
__device__ __forceinline__ float combine(float gate, float up) {
  if constexpr ((kOps & TILEPOST_SWIGLU) != 0) return silu(gate) * up;
  if constexpr ((kOps & TILEPOST_GEGLU) != 0) return gelu(gate) * up;
  if constexpr ((kOps & TILEPOST_SWIGLU_CLAMPED) != 0) {
    const float g = fminf(gate, kGateLimit), u = fminf(fmaxf(up, -kUpLimit), kUpLimit);
    return __fdividef(g, 1.0f + __expf(-kSigmoidSlope * g)) * (u + 1.0f);
  }
  return gate * up;
}

// What the operations kOps read for the columns of a thread: kColumns of them, loaded once for each
// tile.
template <int kOps, DType kOutput, int kColumns>
struct ColumnInputs {
  float scale[kColumns], bias[kColumns];

  // Loads what belongs to column number `i`, which is row `row` among all rows of B.
  __device__ __forceinline__ void load(const tilepost_epilogue_t& operands, int i, int row) {
    using Element = DeviceElement<kOutput>;
    scale[i] = column_scale<kOps>(operands, row);
    bias[i] = 0;
    if constexpr ((kOps & TILEPOST_BIAS) != 0) {
      if (operands.bias != nullptr)
        bias[i] = static_cast<float>(static_cast<const Element*>(operands.bias)[row]);
    }
  }
};

// Applies the operations to the sums of a panel of kRows rows and 64 columns, rounds them, and
// writes them into the panel at `target`. All threads of the warpgroup call. Of every eight rows
// the thread has two rows, from `row` on, in two columns: their sums are four of `gate` and, where
// kOps combines them, four of `up`. The inputs of their columns are numbers `first_input` and the
// next or, of up, the two behind these.
template <int kRows, int kOps, DType kOutput, int kColumns>
__device__ __forceinline__ void write_expert_panel(uint32_t target, const float* gate,
                                                   const float* up, int row, int m,
                                                   const tilepost_epilogue_t& operands,
                                                   const ColumnInputs<kOps, kOutput, kColumns>& in,
                                                   int first_input, int thread) {
  constexpr int kUnit = 8, kUnits = kRows / kUnit;
  static_assert(kUnits % 2 == 0);
  const auto finish = [&](int unit, int c) {
    float x[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float rows = row_scale<kOps>(operands, min(row + unit * kUnit + i, m - 1));
      const int sum = unit * 4 + 2 * c + i;
      x[i] = epilogue::finish<kOps>(gate[sum],
                                    {rows, in.scale[first_input + c], in.bias[first_input + c], 0});
      if constexpr (combines_gate(kOps))
        x[i] = combine<kOps>(x[i],
                             epilogue::finish<kOps>(up[sum], {rows, in.scale[first_input + 2 + c],
                                                              in.bias[first_input + 2 + c], 0}));
    }
    return pack<kOutput>(x[0], x[1]);
  };
  const int lane = thread % 32;
  const int chunk = thread / 32 * 2 + lane / 8 % 2;
  const uint32_t first =
      target + (lane / 16 * kUnit + lane % 8) * panel::kRowBytes + ((chunk ^ lane % 8) << 4);
#pragma unroll
  for (int unit = 0; unit < kUnits; unit += 2)
    ptx::store_matrices_transposed(first + unit * kUnit * panel::kRowBytes, finish(unit, 0),
                                   finish(unit, 1), finish(unit + 1, 0), finish(unit + 1, 1));
}

}  // namespace tilepost::epilogue

#endif  // TILEPOST_DEVICE_EXPERT_EPILOGUE_CUH
