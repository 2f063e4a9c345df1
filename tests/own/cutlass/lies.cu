// Kernels of CUTLASS's that differ from what a spec says, or that are only half adapted. None of
// them may compile. Behind "says:" is the text that the compiler must print.
#include "gemm.cuh"
#include "scaled.cuh"

namespace lies {

using cutlass::gemm::kernel::GemmUniversal;
using example::Product;
using Shape = cute::Shape<int, int, int>;

#ifdef LAUNCHED_BY_CUTLASS
// says: is launched by tilepost::cutlass::launch alone
dim3 by_cutlass(const Product::Gemm::Params& params) {
  return Product::Gemm::get_grid_shape(params);
}
#else

// says: stores its tiles without tilepost: give GemmUniversal tilepost::cutlass::Epilogue
using NoEpilogue =
    GemmUniversal<Shape, Product::Mainloop, Product::Epilogue, tilepost::cutlass::Scheduler>;
bool no_epilogue = tilepost::cutlass::detail::is_adapted<NoEpilogue>();

// says: takes its tiles in CUTLASS's order: give GemmUniversal tilepost::cutlass::Scheduler
using NoScheduler =
    GemmUniversal<Shape, Product::Mainloop, tilepost::cutlass::Epilogue<Product::Epilogue>, void>;
bool no_scheduler = tilepost::cutlass::detail::is_adapted<NoScheduler>();

// says: wraps the collective epilogue of a Hopper kernel that stores with TMA
tilepost::cutlass::Epilogue<Product> no_epilogue_at_all;

// says: D is row-major
using Columns = cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Product::Tile, Product::Cluster,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, void,
    cutlass::layout::ColumnMajor, 8, Product::Element, cutlass::layout::ColumnMajor, 8,
    cutlass::epilogue::TmaWarpSpecializedCooperative>::CollectiveOp;
using ColumnsOfTilepost = tilepost::cutlass::Epilogue<Columns>::Arguments;

#endif

}  // namespace lies

#ifndef LAUNCHED_BY_CUTLASS
namespace tilepost::cutlass {

// says: kernel.tile of the spec is another tile than the kernel's
template struct Kernel<example::Product::Gemm, 128, 128, 2, TILEPOST_BF16, TILEPOST_BF16,
                       TILEPOST_TN>;

// says: kernel.cluster of the spec is another number than ClusterShape's first
template struct Kernel<example::Product::Gemm, 128, 256, 1, TILEPOST_BF16, TILEPOST_BF16,
                       TILEPOST_TN>;

// says: gemm.a of the spec is another type than the kernel's A
template struct Kernel<example::Product::Gemm, 128, 256, 2, TILEPOST_F16, TILEPOST_BF16,
                       TILEPOST_TN>;

// says: gemm.out of the spec is another type than the kernel's D
template struct Kernel<example::ScaledProduct::Gemm, 64, 128, 1, TILEPOST_E4M3, TILEPOST_F16,
                       TILEPOST_TN>;

// says: gemm.layout of the spec is 'tn' where B has
template struct Kernel<example::Product::Gemm, 128, 256, 2, TILEPOST_BF16, TILEPOST_BF16,
                       TILEPOST_NN>;

}  // namespace tilepost::cutlass
#endif
