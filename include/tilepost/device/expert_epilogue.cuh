// The epilogue of a grouped GEMM (templates/gemm_sm90_experts.cu): scales and bias of the expert,
// and operations that combine gate and up. Tiles arise transposed (transposed_epilogue.cuh).
#ifndef TILEPOST_DEVICE_EXPERT_EPILOGUE_CUH
#define TILEPOST_DEVICE_EXPERT_EPILOGUE_CUH

#include <cstdint>

#include "tilepost/device/element.cuh"
#include "tilepost/device/epilogue.cuh"
#include "tilepost/device/panel.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/internal/expert_ops.h"
#include "tilepost/internal/expert_tiles.h"
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

// The scales of a consumer's tile in shared memory: one for each of up to kRows rows, and one for
// each of its rows of B. The threads of a warpgroup copy them while they multiply, because a load
// from memory takes longer than the rest of a panel. `base`: the address. `barrier`: of
// ptx::sync_threads, the warpgroup's own.
template <int kOps, int kRows>
struct TileScales {
  static constexpr bool kOfRows = (kOps & TILEPOST_SCALE_ROWS) != 0;
  static constexpr bool kOfColumns = (kOps & TILEPOST_SCALE_COLUMNS) != 0;
  static constexpr bool kAny = kOfRows || kOfColumns;
  static constexpr int kThreads = 128;
  static constexpr int kBytes = kAny ? expert_scale_bytes(kRows) : 0;
  uint32_t base;
  int barrier;

  // Starts the copies of the scales of rows [row, row + kRows), of which those behind m - 1 are not
  // read, and of row `row_of_b` of B for this thread.
  __device__ __forceinline__ void start(const tilepost_epilogue_t& operands, int row, int m,
                                        int row_of_b, int thread) const {
    if constexpr (!kAny) return;
    ptx::sync_threads(barrier, kThreads);  // all threads have read the scales of the tile before
    if constexpr (kOfRows) {
#pragma unroll
      for (int i = thread; i < kRows; i += kThreads)
        ptx::copy_async<4>(base + 4 * i, operands.scale_a + min(row + i, m - 1), true);
    }
    if constexpr (kOfColumns)
      ptx::copy_async<4>(columns() + 4 * thread, operands.scale_b + row_of_b, true);
    ptx::commit_copies();
  }

  // Waits for the copies of all threads: each waits for its own, and the barrier puts them before
  // what all do next (PTX ISA, barrier).
  __device__ __forceinline__ void wait() const {
    if constexpr (!kAny) return;
    ptx::wait_copies<0>();
    ptx::sync_threads(barrier, kThreads);
  }

  // The scales of rows `i` and i + 1 of the tile. `i` is even.
  __device__ __forceinline__ float2 rows(const tilepost_epilogue_t& operands, int i) const {
    if constexpr (kOfRows) return ptx::load_shared_floats(base + 4 * i);
    const float scale = row_scale<kOps>(operands, 0);
    return {scale, scale};
  }

  // The scale of row `i` of the consumer's rows of B.
  __device__ __forceinline__ float column(const tilepost_epilogue_t& operands, int i) const {
    if constexpr (kOfColumns) return __uint_as_float(ptx::load_shared_word(columns() + 4 * i));
    return column_scale<kOps>(operands, 0);
  }

 private:
  __device__ __forceinline__ uint32_t columns() const {
    return base + 4 * kRows;
  }
};

// What the operations kOps read for the columns of a thread: kColumns of them, loaded once for each
// tile.
template <int kOps, DType kOutput, int kColumns>
struct ColumnInputs {
  float scale[kColumns], bias[kColumns];

  // Loads what belongs to column number `i`, which is row `row` among all rows of B, and row `own`
  // among the consumer's.
  template <class Scales>
  __device__ __forceinline__ void load(const tilepost_epilogue_t& operands, const Scales& scales,
                                       int i, int row, int own) {
    using Element = DeviceElement<kOutput>;
    scale[i] = scales.column(operands, own);
    bias[i] = 0;
    if constexpr ((kOps & TILEPOST_BIAS) != 0) {
      if (operands.bias != nullptr)
        bias[i] = static_cast<float>(static_cast<const Element*>(operands.bias)[row]);
    }
  }
};

// Applies the operations to the sums of a panel of kRows rows and 64 columns, rounds them, and
// writes them into the panel at `target`. All threads of the warpgroup call. Of every eight rows
// the thread has two rows, from row `row` of the tile on, in two columns: their sums are four of
// `gate` and, where kOps combines them, four of `up`. The inputs of their columns are numbers
// `first_input` and the next or, of up, the two behind these.
template <int kRows, int kOps, DType kOutput, int kColumns, class Scales>
__device__ __forceinline__ void write_expert_panel(uint32_t target, const float* gate,
                                                   const float* up, int row, const Scales& scales,
                                                   const tilepost_epilogue_t& operands,
                                                   const ColumnInputs<kOps, kOutput, kColumns>& in,
                                                   int first_input, int thread) {
  constexpr int kUnit = 8, kUnits = kRows / kUnit;
  static_assert(kUnits % 2 == 0);
  const auto finish = [&](int unit, float2 of_rows, int c) {
    float x[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float of_row = i == 0 ? of_rows.x : of_rows.y;
      const int sum = unit * 4 + 2 * c + i;
      x[i] = epilogue::finish<kOps>(
          gate[sum], {of_row, in.scale[first_input + c], in.bias[first_input + c], 0});
      if constexpr (combines_gate(kOps))
        x[i] = combine<kOps>(x[i],
                             epilogue::finish<kOps>(up[sum], {of_row, in.scale[first_input + 2 + c],
                                                              in.bias[first_input + 2 + c], 0}));
    }
    return pack<kOutput>(x[0], x[1]);
  };
  const int lane = thread % 32;
  const int chunk = thread / 32 * 2 + lane / 8 % 2;
  const uint32_t first =
      target + (lane / 16 * kUnit + lane % 8) * panel::kRowBytes + ((chunk ^ lane % 8) << 4);
#pragma unroll
  for (int unit = 0; unit < kUnits; unit += 2) {
    const float2 upper = scales.rows(operands, row + unit * kUnit);
    const float2 lower = scales.rows(operands, row + (unit + 1) * kUnit);
    ptx::store_matrices_transposed(first + unit * kUnit * panel::kRowBytes, finish(unit, upper, 0),
                                   finish(unit, upper, 1), finish(unit + 1, lower, 0),
                                   finish(unit + 1, lower, 1));
  }
}

}  // namespace tilepost::epilogue

#endif  // TILEPOST_DEVICE_EXPERT_EPILOGUE_CUH
