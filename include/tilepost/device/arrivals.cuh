// Rows of A that arrive while the kernel runs: how a kernel waits for them, and where it reads
// them.
#ifndef TILEPOST_DEVICE_ARRIVALS_CUH
#define TILEPOST_DEVICE_ARRIVALS_CUH

#include <cuda.h>

#include <cstdint>

#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/tasks.cuh"
#include "tilepost/device/whole_run.cuh"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// Whether a thread that loads rows has to keep the run's number and half, in its BulkLoads.
template <class View>
constexpr bool kKeepsLoads = View::kWholeRun&& View::kReadsOwn;

// A group's counter, this rank's or another's.
__device__ __forceinline__ uint32_t* counter_at(uint32_t* counters, int group) {
  return counters + static_cast<long long>(group) * TILEPOST_COUNTER_STRIDE;
}

// Waits until the group's input has arrived. Group 0 is this rank's own rows, which are there
// before the kernel starts. With kPushes group 0 has only those own rows that tiles read together
// with other ranks' rows, and with tokens none.
//
// The counter was released at .sys scope after the copies of the rows were complete: by a kernel
// behind the copies in their stream, or by one that has acquired what was announced behind the
// copies. With kPushes the helper warps of other ranks' kernels copy the rows and release the
// counter, as tile_done does; or kernels in front of the other ranks' kernels do so. The acquire
// that reads the counter's value or a later one makes the rows visible to this thread (PTX
// ISA 8.9.4, 8.9.5). Polling with relaxed loads and acquiring once spares an invalidation of L1 per
// poll.
//
// The wait also ends when the runtime gives a run up. The runtime then raises all counters. It does
// not raise counters that other ranks raise, but sets the word tilepost_tasks_t::abort. This
// function then returns false.
template <class View>
__device__ __forceinline__ bool wait_for_input(const View& view, int group,
                                               const BulkLoads& loads) {
  constexpr unsigned kPollNanoseconds = 32;
  if constexpr (View::kWholeRun) {
    const RowsOfRun<View::kGroups> rows{view.exchange, loads.run, loads.half};
    if (is_whole_run(view)) return wait_for_parts(view.tasks, rows, rows.counter_of(group));
  }
  if constexpr (View::kPushes) {
    return wait_for_parts(view.tasks, ExpectedCounts{view.tasks.expected}, group);
  } else {
    const uint32_t* counter = counter_at(view.counters, group);
    while (static_cast<int32_t>(ptx::load_relaxed_sys(counter) - view.ready) < 0)
      ptx::sleep_ns(kPollNanoseconds);
    ptx::load_acquire_sys(counter);
    return true;
  }
}

// For loads by the threads of the block; all of them call. Thread 0 acquires, and the barrier
// orders what thread 0 has observed before the loads of the others (PTX ISA, barrier; 8.9.5:
// causality order is transitive).
template <class View>
__device__ __forceinline__ void input_ready(const View& view, const Tile& tile, BlockLoads) {
  static_assert(!View::kPushes, "a kernel whose helper warps push rows loads with TMA");
  if constexpr (View::kWaits) {
    const bool waits = !tile.is_padding() && tile.group > 0;
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0 && waits)
      wait_for_input(view, tile.group, {});
    __syncthreads();
  }
}

// For TMA loads by the calling thread, which alone calls. The loads go through the async proxy, in
// which an acquire of the generic proxy orders nothing: the proxy fence stands between them (PTX
// ISA, membar/fence: fence.proxy.async). A thread does not wait again for a group that it has
// acquired, because that would delay its loads.
//
// Copies that a stream makes arrive in the order of groups, so waiting for the tile's own group is
// enough. Pushes by many warps arrive in no order, and a tile may have rows of several groups, so
// the thread waits for every group up to the tile's. Group 0 is then this rank's own rows in the
// memory where other ranks' rows arrive. In a run that was given up the thread waits for nothing
// more, because each wait would take some 10 ms to notice that.
template <class View>
__device__ __forceinline__ void input_ready(const View& view, const Tile& tile, BulkLoads& loads) {
  if constexpr (View::kWaits) {
    constexpr int kAll = 0x7FFFFFFF;
    if (tile.is_padding() || tile.group <= loads.arrived) return;
    int group = tile.group;
    if constexpr (View::kPushes) group = loads.arrived == 0 ? 0 : loads.arrived + 1;
    bool arrives = true;
#pragma unroll 1
    for (; arrives && group <= tile.group; ++group) arrives = wait_for_input(view, group, loads);
    ptx::fence_global_to_async();
    if constexpr (View::kWholeRun)
      if (!arrives && is_whole_run(view)) give_up(view.exchange);
    loads.arrived = arrives ? tile.group : kAll;
  }
}

template <class View>
__device__ __forceinline__ void input_ready(const View& view, const Tile& tile, BulkLoads&& loads) {
  static_assert(!kKeepsLoads<View>, "a kernel that is a whole run keeps its BulkLoads");
  input_ready(view, tile, loads);
}

// The tensor map for loads of a tile's rows of A. It covers the memory in which all rows arrive.
// For tiles that have only this rank's own rows, it covers these rows where the caller has them. A
// padding tile's row may be any row. In a kernel that is a whole run the parity of the run says in
// which place rows arrive.
template <class View, class Map>
__device__ __forceinline__ const Map* in_map(const View& view, const Map* map, const Tile& tile,
                                             const BulkLoads& loads) {
  if constexpr (View::kReadsOwn) {
    if (view.in_map == nullptr || (tile.group == 0 && !tile.is_padding())) return map;
    return static_cast<const Map*>(view.in_map) + (View::kWholeRun ? loads.run & 1 : 0);
  } else {
    return map;
  }
}
template <class View, class Map>
__device__ __forceinline__ const Map* in_map(const View& view, const Map* map, const Tile& tile) {
  static_assert(!kKeepsLoads<View>, "a kernel that is a whole run calls in_map with its BulkLoads");
  return in_map(view, map, tile, BulkLoads{});
}

// The scales of a tile's rows of A, where in_map has the rows. The caller has acquired what the
// thread that loads the rows has acquired: it has waited for a barrier at which that thread
// arrived. In a kernel that is a whole run they arrive behind the rows, in the same of two places.
template <class View>
__device__ __forceinline__ const float* in_scales(const View& view, const float* scales,
                                                  const Tile& tile, unsigned run) {
  if constexpr (View::kReadsOwn) {
    if (view.in_scales == nullptr || (tile.group == 0 && !tile.is_padding())) return scales;
    const auto apart = static_cast<long long>(view.exchange.slot_bytes / sizeof(float));
    return view.in_scales + (View::kWholeRun ? (run & 1) * apart : 0);
  } else {
    return scales;
  }
}

// Acquires the maps, once for all of a thread's loads: no thread changes the maps while the kernel
// runs.
template <class View>
__device__ __forceinline__ void open_in_map(const View& view, BulkLoads& loads) {
  if constexpr (View::kReadsOwn) {
    if (view.in_map == nullptr) return;
    const auto* const maps = static_cast<const CUtensorMap*>(view.in_map);
    ptx::acquire_tensor_map(maps);
    if constexpr (View::kWholeRun) {
      ptx::acquire_tensor_map(maps + 1);
      if (is_whole_run(view)) open_rows(view.exchange, loads);
    }
  }
}
template <class View>
__device__ __forceinline__ void open_in_map(const View& view) {
  static_assert(!kKeepsLoads<View>,
                "a kernel that is a whole run calls open_in_map with its BulkLoads");
  BulkLoads loads;
  open_in_map(view, loads);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_ARRIVALS_CUH
