// A tile scheduler for CUTLASS 3 kernels of Hopper that takes tiles in the planned order.
//
// CUTLASS picks a scheduler by a tag, which is the last template argument of GemmUniversal, through
// TileSchedulerSelector. This file specialises that for one more tag.
#ifndef TILEPOST_CUTLASS_TILE_SCHEDULER_HPP
#define TILEPOST_CUTLASS_TILE_SCHEDULER_HPP

#include <cutlass/cutlass.h>
#include <cutlass/detail/dependent_false.hpp>
#include <cutlass/gemm/kernel/tile_scheduler.hpp>

#include "tilepost/cutlass/schedule.h"
#include "tilepost/device/ptx.cuh"

namespace tilepost::cutlass {

// The tag of the tile scheduler for a GemmUniversal that tilepost launches.
struct Scheduler {};

// The entry of the schedule at `position`.
CUTLASS_DEVICE tilepost_tile_t tile_at(const Schedule& schedule, int position) {
  const ptx::Quad entry = ptx::load_readonly(schedule.tiles + position);
  return {entry.x, entry.y, entry.z, entry.w};
}

// Walks the positions blockIdx.x, blockIdx.x + gridDim.x, …, as all persistent kernels of tilepost
// do. Everything else is as in CUTLASS's own scheduler, without splitting or reducing: work is
// whole tiles.
template <class TileShape>
class TileScheduler : public ::cutlass::gemm::kernel::detail::PersistentTileSchedulerSm90 {
  using Base = ::cutlass::gemm::kernel::detail::PersistentTileSchedulerSm90;
  static constexpr int kTileM = cute::size<0>(TileShape{}), kTileN = cute::size<1>(TileShape{});

 public:
  using WorkTileInfo = typename Base::WorkTileInfo;
  struct Arguments {
    Schedule schedule;
    // CUTLASS sets these, and nothing reads them: the plan says the order.
    int max_swizzle_size = 1;
    typename Base::RasterOrderOptions raster_order = Base::RasterOrderOptions::Heuristic;
  };
  struct Params : Base::Params {
    Schedule schedule;
  };

  template <class... Rest>
  static Params to_underlying_arguments(Rest&&... rest) {
    return {{}, arguments_among(rest...).schedule};
  }

  CUTLASS_HOST_DEVICE static bool can_implement(const Arguments& arguments) {
    return arguments.schedule.tiles != nullptr;
  }

  // Refuses to compute a grid, because the plan says it.
  template <class Any, class... Rest>
  static dim3 get_grid_shape(const Any&, Rest&&...) {
    static_assert(::cutlass::detail::dependent_false<Any>,
                  "a kernel with tilepost::cutlass::Scheduler is launched by "
                  "tilepost::cutlass::launch alone, and not by GemmUniversalAdapter: give this the "
                  "kernel with CUTLASS's own scheduler and epilogue");
    return {};
  }

  template <class ProblemShape, class ElementAccumulator, class... Rest>
  static size_t get_workspace_size(const Arguments&, Rest&&...) {
    return 0;
  }
  template <class ProblemShape, class ElementAccumulator, class... Rest>
  static ::cutlass::Status initialize_workspace(const Arguments&, Rest&&...) {
    return ::cutlass::Status::kSuccess;
  }

  CUTLASS_DEVICE explicit TileScheduler(const Params& params)
      : schedule_(params.schedule), position_(static_cast<int>(blockIdx.x)) {}

  template <class ClusterShape>
  CUTLASS_DEVICE WorkTileInfo initial_work_tile_info(ClusterShape) {
    return get_current_work();
  }

  CUTLASS_DEVICE WorkTileInfo get_current_work() const {
    if (position_ >= schedule_.num_tiles) return WorkTileInfo::invalid_work_tile();
    const Work work = work_of(tile_at(schedule_, position_), kTileM, kTileN, schedule_.tile_rows);
    return {work.row, work.column, 0, true};
  }

  // Moves on by `count` positions of the block, of which `count` roles of the block take turns.
  CUTLASS_DEVICE void advance_to_next_work(uint32_t count = 1) {
    position_ += static_cast<int>(count * gridDim.x);
  }

  CUTLASS_DEVICE auto fetch_next_work(WorkTileInfo) {
    advance_to_next_work();
    return cute::make_tuple(get_current_work(), true);
  }
  template <class Pipeline, class State>
  CUTLASS_DEVICE auto fetch_next_work(WorkTileInfo work, Pipeline&, State) {
    return fetch_next_work(work);
  }

  CUTLASS_DEVICE bool is_last_tile(WorkTileInfo&, uint32_t count = 1) const {
    return position_ + static_cast<int>(count * gridDim.x) >= schedule_.num_tiles;
  }

 private:
  // Finds the scheduler's arguments among those of to_underlying_arguments. CUTLASS's versions
  // differ in the other arguments.
  template <class First, class... Rest>
  static const Arguments& arguments_among(const First& first, const Rest&... rest) {
    if constexpr (cute::is_same_v<First, Arguments>)
      return first;
    else
      return arguments_among(rest...);
  }

  const Schedule& schedule_;  // in the kernel's parameters
  int position_;
};

}  // namespace tilepost::cutlass

namespace cutlass::gemm::kernel::detail {

template <class TileShape, class ClusterShape, uint32_t kStages>
struct TileSchedulerSelector<::tilepost::cutlass::Scheduler, ::cutlass::arch::Sm90, TileShape,
                             ClusterShape, kStages> {
  using Scheduler = ::tilepost::cutlass::TileScheduler<TileShape>;
};

}  // namespace cutlass::gemm::kernel::detail

#endif  // TILEPOST_CUTLASS_TILE_SCHEDULER_HPP
