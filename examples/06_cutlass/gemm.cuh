// A product of bf16 by CUTLASS: D = alpha * A * B, rows of A and columns of B of k elements each.
// The two types of tilepost's stand at the end.
#pragma once

#include <cutlass/cutlass.h>
#include <cute/tensor.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <tilepost/cutlass.hpp>

namespace example {

struct Product {
  using Element = cutlass::bfloat16_t;
  using Tile = cute::Shape<cute::_128, cute::_256, cute::_64>;
  using Cluster = cute::Shape<cute::_2, cute::_1, cute::_1>;
  static constexpr int kAlignment = 16 / sizeof(Element);

  using Epilogue = cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float,  // accumulates, computes
      void, cutlass::layout::RowMajor, kAlignment,                    // no C
      Element, cutlass::layout::RowMajor, kAlignment,                 // D
      cutlass::epilogue::TmaWarpSpecializedCooperative>::CollectiveOp;

  using Mainloop = cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, cutlass::layout::RowMajor,
      kAlignment,                                         // A
      Element, cutlass::layout::ColumnMajor, kAlignment,  // B
      float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Epilogue::SharedStorage))>,
      cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;

  using Gemm = cutlass::gemm::kernel::GemmUniversal<
      cute::Shape<int, int, int>, Mainloop,
      tilepost::cutlass::Epilogue<Epilogue>,  // was: Epilogue
      tilepost::cutlass::Scheduler>;          // was: void, or cutlass::gemm::PersistentScheduler
};

using Gemm = Product::Gemm;

}  // namespace example
