// A collective epilogue of CUTLASS 3 for Hopper that stores tiles where the plan puts them, and
// raises the counters of their groups when they are there.
#ifndef TILEPOST_CUTLASS_EPILOGUE_HPP
#define TILEPOST_CUTLASS_EPILOGUE_HPP

#include <cutlass/cutlass.h>
#include <cutlass/detail/dependent_false.hpp>
#include <cutlass/epilogue/collective/collective_epilogue.hpp>
#include <cutlass/epilogue/dispatch_policy.hpp>

#include "tilepost/cutlass/moved_store.hpp"
#include "tilepost/cutlass/schedule.h"
#include "tilepost/cutlass/tile_scheduler.hpp"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"

namespace tilepost::cutlass {

// Wraps a collective epilogue. `Collective` is what CollectiveBuilder makes for TmaWarpSpecialized
// or TmaWarpSpecializedCooperative, with any linear combination or visitor tree.
template <class Collective>
class Epilogue {
  static_assert(::cutlass::detail::dependent_false<Collective>,
                "tilepost::cutlass::Epilogue wraps the collective epilogue of a Hopper kernel that "
                "stores with TMA: build it with cutlass::epilogue::TmaWarpSpecialized or "
                "TmaWarpSpecializedCooperative, and hand its CollectiveOp over as it is");
};

namespace detail {

// Replaces a template argument of a collective epilogue: the store of D by one that can be moved,
// and the fused operations by ones that keep their place.
template <class T, class Callbacks>
struct Exchanged {
  using Type = T;
};
template <class Callbacks>
struct Exchanged<cute::SM90_TMA_STORE, Callbacks> {
  using Type = MovedStore;
};
template <class Callbacks>
struct Exchanged<Callbacks, Callbacks> {
  using Type = InOwnPlace<Callbacks>;
};

template <class Collective>
struct Moved;
template <class Policy, class... Arguments>
struct Moved<::cutlass::epilogue::collective::CollectiveEpilogue<Policy, Arguments...>> {
  using Callbacks =
      typename ::cutlass::epilogue::collective::CollectiveEpilogue<Policy,
                                                                   Arguments...>::FusionCallbacks;
  using Type = ::cutlass::epilogue::collective::CollectiveEpilogue<
      Policy, typename Exchanged<Arguments, Callbacks>::Type...>;
};

}  // namespace detail

template <int kStagesC, int kStagesD, int kFragment, bool kReuses, bool kDelays, class... Rest>
class Epilogue<::cutlass::epilogue::collective::CollectiveEpilogue<
    ::cutlass::epilogue::Sm90TmaWarpSpecialized<kStagesC, kStagesD, kFragment, kReuses, kDelays>,
    Rest...>>
    : public detail::Moved<::cutlass::epilogue::collective::CollectiveEpilogue<
          ::cutlass::epilogue::Sm90TmaWarpSpecialized<kStagesC, kStagesD, kFragment, kReuses,
                                                      kDelays>,
          Rest...>>::Type {
 public:
  // The collective epilogue that is wrapped.
  using Original = ::cutlass::epilogue::collective::CollectiveEpilogue<
      ::cutlass::epilogue::Sm90TmaWarpSpecialized<kStagesC, kStagesD, kFragment, kReuses, kDelays>,
      Rest...>;

 private:
  using Inner = typename detail::Moved<Original>::Type;
  using Given = typename Original::Arguments;
  static_assert(!cute::is_void_v<typename Original::ElementD>, "there is a D that is stored");
  static_assert(cute::is_same_v<cute::tuple_element_t<1, typename Original::StrideD>, cute::Int<1>>,
                "D is row-major: give its layout as cutlass::layout::RowMajor");
  static_assert(stores_column_row_batch<typename Inner::Params::TMA_D>(),
                "D has strides of rows, 1 and batches, the first and the last int64_t, as "
                "CollectiveBuilder makes them of cutlass::layout::RowMajor");

 public:
  // The original's arguments in their order, and the schedule, which launch() sets.
  struct Arguments {
    decltype(Given::thread) thread{};
    decltype(Given::ptr_C) ptr_C{};
    decltype(Given::dC) dC{};
    decltype(Given::ptr_D) ptr_D{};
    decltype(Given::dD) dD{};
    Schedule schedule{};

    Given given() const { return {thread, ptr_C, dC, ptr_D, dD}; }
  };
  struct Params : Inner::Params {
    Schedule schedule;
  };

  // D's tensor map has as many rows as the memory that tiles are stored to. C and the fused
  // operations have the product's rows.
  template <class ProblemShape>
  static Params to_underlying_arguments(const ProblemShape& problem, const Arguments& arguments,
                                        void* workspace) {
    const auto inner = of_inner(arguments);
    Params params{Inner::to_underlying_arguments(problem, inner, workspace), arguments.schedule};
    const auto stored = cute::replace<0>(problem, arguments.schedule.out_rows);
    params.tma_store_d = Inner::to_underlying_arguments(stored, inner, workspace).tma_store_d;
    return params;
  }

  template <class ProblemShape>
  static bool can_implement(const ProblemShape& problem, const Arguments& arguments) {
    return arguments.schedule.tiles != nullptr && arguments.schedule.out_rows > 0 &&
           Inner::can_implement(problem, of_inner(arguments));
  }
  template <class ProblemShape>
  static size_t get_workspace_size(const ProblemShape& problem, const Arguments& arguments) {
    return Inner::get_workspace_size(problem, of_inner(arguments));
  }
  template <class ProblemShape, class... More>
  static ::cutlass::Status initialize_workspace(const ProblemShape& problem,
                                                const Arguments& arguments, More&&... more) {
    return Inner::initialize_workspace(problem, of_inner(arguments), more...);
  }

  CUTLASS_DEVICE Epilogue(const Params& params, typename Inner::TensorStorage& memory)
      : Inner(params, memory), schedule_(params.schedule) {}

  // Stores a tile, which is the caller's next one in the order of TileScheduler. `coord` is the
  // tile's place as the caller got it there. `thread` is the caller's number among those of
  // TiledMma.
  template <class ProblemShape, class TileShape, class TileCoord, class Engine, class Layout,
            class TiledMma>
  CUTLASS_DEVICE auto store(typename Inner::LoadPipeline load_pipeline,
                            typename Inner::LoadPipelineState load_state,
                            typename Inner::StorePipeline store_pipeline,
                            typename Inner::StorePipelineState store_state, ProblemShape problem,
                            TileShape tile_shape, TileCoord coord,
                            cute::Tensor<Engine, Layout> accumulators, TiledMma mma, int thread,
                            typename Inner::TensorStorage& memory, int subtile = -1) {
    const int position = next_position<cute::size(TiledMma{})>();
    const bool is_planned = position < schedule_.num_tiles;
    const tilepost_tile_t tile = is_planned ? tile_at(schedule_, position) : tilepost_tile_t{};
    const Work work =
        work_of(tile, cute::size<0>(TileShape{}), cute::size<1>(TileShape{}), schedule_.tile_rows);
    // A kernel that walks its tiles in another order stores nothing and raises no counter. So a
    // wait for the tile does not end with wrong data.
    const bool is_it = is_planned && work.row == int(cute::get<0>(coord)) &&
                       work.column == int(cute::get<1>(coord));
    const auto moved = cute::make_coord(cute::get<0>(coord), cute::get<1>(coord),
                                        cute::get<2>(coord), is_it ? shift_of(tile) : kNowhere);
    ++stored_;
    const auto states =
        Inner::store(load_pipeline, load_state, store_pipeline, store_state, problem, tile_shape,
                     moved, accumulators, mma, thread, memory, subtile);
    if (is_it && thread < ::cutlass::NumThreadsPerWarp) tell<cute::size(TiledMma{})>(tile.group);
    return states;
  }

 private:
  static typename Inner::Arguments of_inner(const Arguments& arguments) {
    return {arguments.thread, arguments.ptr_C, arguments.dC, arguments.ptr_D, arguments.dD};
  }

  // The position of the caller's next tile. Two warpgroups multiply. Either each has tiles of its
  // own and they take turns (pingpong), or both have parts of the same tile (cooperative).
  template <int kMmaThreads>
  CUTLASS_DEVICE int next_position() const {
    constexpr int kMultipliers = 256, kLoaders = 128;
    static_assert(kMultipliers % kMmaThreads == 0);
    const int turn = (static_cast<int>(threadIdx.x) - kLoaders) / kMmaThreads;
    return position_of(static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x),
                       kMultipliers / kMmaThreads, turn, stored_);
  }

  // Called by the warp that stores, when it has issued and committed all stores of a tile of
  // `group`. Each lane waits for its own stores. When cp.async.bulk.wait_group 0 has returned, the
  // writes are made, visible to the lane, and passed from the async to the generic proxy (PTX ISA,
  // Async proxy). bar.warp.sync orders that before what lane 0 does behind it (PTX ISA,
  // bar.warp.sync), and the release by lane 0 is cumulative (8.9.5, Causality Order). The .read
  // form, with which CUTLASS waits, would not do: it returns when shared memory may be reused,
  // before the writes are made.
  //
  // The wait keeps the warp from multiplying the next tile. So the warp waits only for the last of
  // its consecutive tiles of a group (told_behind).
  template <int kMmaThreads>
  CUTLASS_DEVICE void tell(int group) {
    const int next = next_position<kMmaThreads>();
    const bool more = next < schedule_.num_tiles;
    const int next_group = more ? tile_at(schedule_, next).group : 0;
    const int told = told_behind(group, more, next_group, untold_);
    if (told == 0) return;
    ptx::wait_bulk<0>();
    __syncwarp();
    if (threadIdx.x % ::cutlass::NumThreadsPerWarp == 0)
      ptx::red_release_sys(schedule_.counters + group * TILEPOST_COUNTER_STRIDE, told);
  }

  const Schedule& schedule_;  // in the kernel's parameters
  int stored_ = 0;            // tiles that the caller has stored
  int untold_ = 0;            // of these, the tiles not counted yet; used by the warp that stores
};

}  // namespace tilepost::cutlass

#endif  // TILEPOST_CUTLASS_EPILOGUE_HPP
