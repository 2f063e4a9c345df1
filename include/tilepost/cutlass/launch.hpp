// How a CUTLASS kernel with tilepost's scheduler and epilogue is launched.
#ifndef TILEPOST_CUTLASS_LAUNCH_HPP
#define TILEPOST_CUTLASS_LAUNCH_HPP

#include <cuda_runtime.h>
#include <cutlass/cutlass.h>
#include <cutlass/device_kernel.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/kernel_hardware_info.hpp>

#include "tilepost/cutlass/epilogue.hpp"
#include "tilepost/cutlass/tile_scheduler.hpp"
#include "tilepost/device/fast_wgmma.cuh"
#include "tilepost/plan.h"

namespace tilepost::cutlass {

namespace detail {

template <class T>
constexpr bool kIsEpilogue = false;
template <class Collective>
constexpr bool kIsEpilogue<Epilogue<Collective>> = true;

// Refuses a kernel that does not have tilepost's scheduler and epilogue, because it need not walk
// and store its tiles as planned.
template <class Gemm>
constexpr bool is_adapted() {
  constexpr bool kScheduler = cute::is_same_v<typename Gemm::TileSchedulerTag, Scheduler>;
  constexpr bool kEpilogue = kIsEpilogue<typename Gemm::CollectiveEpilogue>;
  static_assert(kScheduler,
                "this kernel takes its tiles in CUTLASS's order: give GemmUniversal "
                "tilepost::cutlass::Scheduler as its last argument, the tile scheduler");
  static_assert(kEpilogue,
                "this kernel stores its tiles without tilepost: give GemmUniversal "
                "tilepost::cutlass::Epilogue<your collective epilogue> as its third argument");
  return kScheduler && kEpilogue;
}

// The kernel without tilepost: with CUTLASS's own scheduler and the original epilogue.
template <class Gemm>
using Original =
    ::cutlass::gemm::kernel::GemmUniversal<typename Gemm::ProblemShape,
                                           typename Gemm::CollectiveMainloop,
                                           typename Gemm::CollectiveEpilogue::Original, void>;

// The stride of a packed matrix. `ld`, its leading dimension, fills in the part of the stride that
// is not known when the kernel is compiled.
template <class Stride>
Stride packed(int64_t ld) {
  Stride stride{};
  if constexpr (!cute::is_static_v<cute::tuple_element_t<0, Stride>>)
    cute::get<0>(stride) = ld;
  else if constexpr (!cute::is_static_v<cute::tuple_element_t<1, Stride>>)
    cute::get<1>(stride) = ld;
  return stride;
}

constexpr int ceil_of(int x, int y) {
  return (x + y - 1) / y;
}

}  // namespace detail

// The arguments of the kernel for a launch: the shape, the operands and where D goes. The fused
// operations have their defaults, which for a linear combination means D = A * B. Set
// `epilogue.thread` and `epilogue.ptr_C` for more.
template <class Gemm>
typename Gemm::Arguments arguments(const tilepost_launch_call_t* call) {
  static_assert(detail::is_adapted<Gemm>());
  const tilepost_shape_t& shape = call->shape;
  typename Gemm::Arguments arguments{};
  arguments.mode = ::cutlass::gemm::GemmUniversalMode::kGemm;
  cute::get<0>(arguments.problem_shape) = shape.m;
  cute::get<1>(arguments.problem_shape) = shape.n;
  cute::get<2>(arguments.problem_shape) = shape.k;
  if constexpr (cute::rank_v<typename Gemm::ProblemShape> == 4)
    cute::get<3>(arguments.problem_shape) = 1;
  arguments.mainloop.ptr_A = static_cast<decltype(arguments.mainloop.ptr_A)>(call->a);
  arguments.mainloop.dA = detail::packed<typename Gemm::StrideA>(shape.lda);
  arguments.mainloop.ptr_B = static_cast<decltype(arguments.mainloop.ptr_B)>(call->b);
  arguments.mainloop.dB = detail::packed<typename Gemm::StrideB>(shape.ldb);
  arguments.epilogue.ptr_D = static_cast<decltype(arguments.epilogue.ptr_D)>(call->out);
  arguments.epilogue.dD = detail::packed<typename Gemm::StrideD>(shape.ldc);
  arguments.epilogue.dC = detail::packed<typename Gemm::StrideC>(shape.ldc);
  return arguments;
}

// Launches the original kernel with CUTLASS's own grid, on the whole GPU. call->function is its
// device_kernel. Used by harnesses, whose call has no schedule. Returns cudaErrorInvalidValue as
// launch() does.
template <class Gemm>
cudaError_t launch_original(const tilepost_launch_call_t* call,
                            const typename Gemm::Arguments& given) {
  using Plain = detail::Original<Gemm>;
  typename Plain::Arguments arguments{};
  arguments.mode = given.mode;
  arguments.problem_shape = given.problem_shape;
  arguments.mainloop = given.mainloop;
  arguments.epilogue = given.epilogue.given();
  if (!Plain::can_implement(arguments) || Plain::get_workspace_size(arguments) != 0)
    return cudaErrorInvalidValue;
  typename Plain::Params params = Plain::to_underlying_arguments(arguments, nullptr);
  using Cluster = typename Plain::ClusterShape;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {cute::size<0>(Cluster{}), cute::size<1>(Cluster{}), 1};
  cudaLaunchConfig_t config = *call->config;
  config.gridDim = Plain::get_grid_shape(params);
  config.attrs = &cluster;
  config.numAttrs = 1;
  void* list[] = {&params};
  return cudaLaunchKernelExC(&config, call->function, list);
}

// Launches the kernel as the plan says. A launcher (plan.h, tilepost_launcher_t) ends with this
// call. The call sets the scheduler, where D goes and the number of SMs that CUTLASS sees. All
// other arguments stay as given. Returns cudaErrorInvalidValue where CUTLASS cannot do this
// (Gemm::can_implement), for example with rows that are not aligned for TMA, or where it needs a
// workspace, as sums over the output do.
template <class Gemm>
cudaError_t launch(const tilepost_launch_call_t* call, typename Gemm::Arguments arguments) {
  static_assert(detail::is_adapted<Gemm>());
  if (call->view.tiles == nullptr) return launch_original<Gemm>(call, arguments);
  Schedule schedule;
  schedule.tiles = call->view.tiles;
  schedule.counters = call->view.counters;
  schedule.num_tiles = call->view.num_tiles;
  schedule.tile_rows = detail::ceil_of(call->shape.m, cute::size<0>(typename Gemm::TileShape{}));
  schedule.out_rows = static_cast<int>(call->out_rows);
  arguments.scheduler.schedule = schedule;
  arguments.epilogue.schedule = schedule;
  arguments.epilogue.ptr_D = static_cast<decltype(arguments.epilogue.ptr_D)>(call->out);
  arguments.epilogue.dD = detail::packed<typename Gemm::StrideD>(call->shape.ldc);
  arguments.hw_info.sm_count = static_cast<int>(call->config->gridDim.x);
  arguments.hw_info.max_active_clusters = arguments.hw_info.sm_count;
  if (!Gemm::can_implement(arguments) || Gemm::get_workspace_size(arguments) != 0)
    return cudaErrorInvalidValue;
  typename Gemm::Params params = Gemm::to_underlying_arguments(arguments, nullptr);
  void* list[] = {&params};
  return cudaLaunchKernelExC(call->config, call->function, list);
}

namespace detail {

template <tilepost_dtype_t kType>
struct ElementOf;
template <>
struct ElementOf<TILEPOST_BF16> {
  using Type = ::cutlass::bfloat16_t;
};
template <>
struct ElementOf<TILEPOST_F16> {
  using Type = ::cutlass::half_t;
};
template <>
struct ElementOf<TILEPOST_E4M3> {
  using Type = ::cutlass::float_e4m3_t;
};
template <>
struct ElementOf<TILEPOST_F32> {
  using Type = float;
};

template <class T, tilepost_dtype_t kType>
constexpr bool kIsOf = cute::is_same_v<T, typename ElementOf<kType>::Type> ||
                       (kType == TILEPOST_F32 && cute::is_same_v<T, ::cutlass::tfloat32_t>);

}  // namespace detail

// The type by which generated code names a kernel, as the spec describes the kernel. Does not
// compile if `Gemm` is another kernel.
template <class Gemm_, int kTileM, int kTileN, int kCluster, tilepost_dtype_t kInput,
          tilepost_dtype_t kOutput, tilepost_operands_t kOperands>
struct Kernel {
  using Gemm = Gemm_;
  static_assert(detail::is_adapted<Gemm>());
  using TileShape = typename Gemm::TileShape;
  using Cluster = typename Gemm::ClusterShape;
  static_assert(cute::size<0>(TileShape{}) == kTileM && cute::size<1>(TileShape{}) == kTileN,
                "kernel.tile of the spec is another tile than the kernel's: it says rows and "
                "columns of TileShape");
  static_assert(cute::size<1>(Cluster{}) == 1 && cute::size<2>(Cluster{}) == 1,
                "a cluster's blocks compute tiles of one column: ClusterShape is "
                "Shape<…, _1, _1>");
  static_assert(cute::size<0>(Cluster{}) == kCluster,
                "kernel.cluster of the spec is another number than ClusterShape's first");
  static_assert(Gemm::MaxThreadsPerBlock == 384,
                "tilepost knows CUTLASS's kernels with a warpgroup that loads and two that "
                "multiply: KernelTmaWarpSpecializedPingpong and …Cooperative");
  static_assert(detail::kIsOf<typename Gemm::ElementA, kInput>,
                "gemm.a of the spec is another type than the kernel's A");
  static_assert(detail::kIsOf<typename Gemm::ElementD, kOutput>,
                "gemm.out of the spec is another type than the kernel's D");
  static_assert(cute::is_same_v<cute::tuple_element_t<1, typename Gemm::StrideA>, cute::Int<1>>,
                "A is row-major: give its layout as cutlass::layout::RowMajor");
  static_assert(cute::is_same_v<
                    cute::tuple_element_t<kOperands == TILEPOST_TN ? 1 : 0, typename Gemm::StrideB>,
                    cute::Int<1>>,
                "gemm.layout of the spec is 'tn' where B has cutlass::layout::ColumnMajor, and "
                "'nn' where it has RowMajor");

  static constexpr int kSharedBytes = Gemm::SharedStorageSize;

  static const void* function() {
    return reinterpret_cast<const void*>(&::cutlass::device_kernel<Gemm>);
  }

  // The launcher for a spec without kernel.launcher.
  static cudaError_t launch(const tilepost_launch_call_t* call, void*) {
    return cutlass::launch<Gemm>(call, cutlass::arguments<Gemm>(call));
  }

  // Launches the original kernel with the launcher of this one.
  template <class Launcher>
  static cudaError_t launch_plain(const void* a, const void* b, void* out,
                                  const tilepost_shape_t& shape, cudaStream_t stream,
                                  Launcher launcher) {
    using Plain = detail::Original<Gemm>;
    const auto* function = reinterpret_cast<const void*>(&::cutlass::device_kernel<Plain>);
    const cudaError_t error = cudaFuncSetAttribute(
        function, cudaFuncAttributeMaxDynamicSharedMemorySize, Plain::SharedStorageSize);
    if (error != cudaSuccess) return error;
    cudaLaunchConfig_t config{};
    config.blockDim = Plain::get_block_shape();
    config.dynamicSmemBytes = Plain::SharedStorageSize;
    config.stream = stream;
    const tilepost_launch_call_t call = {sizeof call, function, &config, a,  b,
                                         out,         shape.m,  shape,   {}, {}};
    return static_cast<cudaError_t>(launcher(&call, nullptr));
  }
};

}  // namespace tilepost::cutlass

#endif  // TILEPOST_CUTLASS_LAUNCH_HPP
