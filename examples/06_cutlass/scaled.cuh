// A product of e4m3 by CUTLASS, scaled by rows of A and by columns of B, with an epilogue that is a
// tree of visitors: D = scale_a[row] * (scale_b[column] * sum). Where a run gives no scales they
// are one.
#pragma once

#include <cutlass/cutlass.h>
#include <cute/tensor.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/sm90_callbacks_tma_warpspecialized.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <tilepost/cutlass.hpp>

namespace example {

// What a run of the operation is given as `user`: pointers on the device.
struct Scales {
  const float* rows;     // [m]
  const float* columns;  // [n]
};

struct ScaledProduct {
  using Element = cutlass::float_e4m3_t;
  using Output = cutlass::bfloat16_t;
  using Tile = cute::Shape<cute::_64, cute::_128, cute::_128>;
  using Cluster = cute::Shape<cute::_1, cute::_1, cute::_1>;
  static constexpr int kAlignment = 16 / sizeof(Element), kAlignmentD = 16 / sizeof(Output);
  static constexpr auto kRound = cutlass::FloatRoundStyle::round_to_nearest;

  using ByColumns = cutlass::epilogue::fusion::Sm90EVT<
      cutlass::epilogue::fusion::Sm90Compute<cutlass::multiplies, float, float, kRound>,
      cutlass::epilogue::fusion::Sm90RowBroadcast<0, Tile, float>,
      cutlass::epilogue::fusion::Sm90AccFetch>;
  using ByRowsToo = cutlass::epilogue::fusion::Sm90EVT<
      cutlass::epilogue::fusion::Sm90Compute<cutlass::multiplies, Output, float, kRound>,
      cutlass::epilogue::fusion::Sm90ColBroadcast<0, Tile, float>, ByColumns>;

  using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, void,
      cutlass::layout::RowMajor, kAlignmentD, Output, cutlass::layout::RowMajor, kAlignmentD,
      cutlass::epilogue::TmaWarpSpecialized, ByRowsToo>::CollectiveOp;

  using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, cutlass::layout::RowMajor,
      kAlignment, Element, cutlass::layout::ColumnMajor, kAlignment, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Epilogue::SharedStorage))>,
      cutlass::gemm::KernelTmaWarpSpecializedPingpong>::CollectiveOp;

  using Gemm = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int>, Mainloop,
                                                    tilepost::cutlass::Epilogue<Epilogue>,
                                                    tilepost::cutlass::Scheduler>;
};

using ScaledGemm = ScaledProduct::Gemm;

// The launcher: what A, B, D and the shape do not say. Inline, for more than one source may include
// this file.
inline cudaError_t launch_scaled(const tilepost_launch_call_t* call, void* user) {
  auto arguments = tilepost::cutlass::arguments<ScaledGemm>(call);
  const Scales none = {nullptr, nullptr};
  const Scales& scales = user == nullptr ? none : *static_cast<const Scales*>(user);
  arguments.epilogue.thread = {
      {scales.rows, 1.0f},               // a column of scales; what stands for none
      {{scales.columns, 1.0f}, {}, {}},  // a row of scales; the sum; multiplies
      {}};                               // multiplies
  return tilepost::cutlass::launch<ScaledGemm>(call, arguments);
}

}  // namespace example
