// What the helper warps of a CTA work with where kernels exchange tiles (exchange.cuh): which
// threads they are, which elements a part has, and which ranks get them.
#ifndef TILEPOST_DEVICE_EXCHANGE_PARTS_CUH
#define TILEPOST_DEVICE_EXCHANGE_PARTS_CUH

#include <cstdint>

#include "tilepost/device/element.cuh"
#include "tilepost/device/meeting.cuh"
#include "tilepost/internal/exchange_places.h"
#include "tilepost/mark.cuh"

namespace tilepost::woven {

// ---- Helper warps

// What a helper thread knows: its number among `threads`, the number of the run, and the barrier at
// which these threads meet. Threads that join the helper warps are helper threads from then on.
struct Helper {
  int thread, threads;
  uint32_t run;
  int barrier = kHelperBarrier;
};

// All helper threads meet. What one of them has acquired or stored before comes before what the
// others do afterwards (PTX ISA, barrier).
__device__ __forceinline__ void sync_helpers(const Helper& helper) {
  ptx::sync_threads(helper.barrier, helper.threads);
}

// As sync_helpers(). Returns whether `says` is true in any of the threads.
__device__ __forceinline__ bool sync_helpers_any(const Helper& helper, bool says) {
  return ptx::sync_threads_any(helper.barrier, helper.threads, says);
}

// ---- Threads that join them

// All helper threads, and those that join them, meet. What a thread has stored before comes before
// what the others read afterwards. One barrier is enough for that (PTX ISA, barrier), but racecheck
// of compute-sanitizer does not take the first barrier at which these warps meet into account.
__device__ __forceinline__ void meet_joiners(const Helper& helper) {
  __syncwarp();
  sync_helpers(helper);
  sync_helpers(helper);
}

// All helper threads, which `joining` threads join. Hands the number of the run to the joining
// threads in shared memory. They may not read the number from tilepost_exchange_t, where every
// reader is counted (count_reader). Returns the calling thread as one of all these helper threads.
__device__ __forceinline__ Helper with_joiners(const Helper& helper, const TilePanels& panels,
                                               int joining) {
  if (helper.thread == 0)
    *static_cast<uint32_t*>(ptx::shared_pointer(panels.own.address)) = helper.run;
  const Helper all{helper.thread, helper.threads + joining, helper.run, kTeamBarrier};
  meet_joiners(all);
  return all;
}

// All threads that join. The calling one is number `thread` of all `threads` helper threads.
__device__ __forceinline__ Helper join_helpers(const TilePanels& panels, int thread, int threads) {
  Helper helper{thread, threads, 0, kTeamBarrier};
  meet_joiners(helper);
  helper.run = *static_cast<const uint32_t*>(ptx::shared_pointer(panels.own.address));
  return helper;
}

// All helper threads, when the first CTA has nothing more to wait for. The last thread, which has
// begun the replay, ends it. The barrier is for a CTA that has no part: nothing else has made its
// threads wait for those that meet the other ranks.
__device__ __forceinline__ void end_replay(const tilepost_exchange_t& exchange, uint32_t replay,
                                           const Helper& helper) {
  if (blockIdx.x != 0 || exchange.replays == nullptr) return;
  sync_helpers(helper);
  if (helper.thread == helper.threads - 1) end_replay(exchange, replay);
}

// ---- Parts

// The tile at a position of the schedule, and the number of the CTA's part of it.
template <class View>
__device__ __forceinline__ Tile tile_at(const View& view, int position) {
  const ptx::Quad entry = ptx::load_readonly(view.tiles + position);
  return {entry.x, entry.y, entry.z, entry.w};
}
__device__ __forceinline__ int part_at(const TileParts& parts, int position) {
  return position * parts.per_tile + parts.part.number;
}

// The CTA's last position. Requires that the CTA has a position.
__device__ __forceinline__ int last_position(const TileParts& parts) {
  return parts.first + (parts.tiles - 1 - parts.first) / parts.stride * parts.stride;
}

constexpr int kUnitElements = 8;  // elements of a unit of sixteen bytes

// The units of a part: rows [first, end) of the product and kColumns columns from `column` on. Only
// the first `columns` of these columns are in the output.
template <int kColumns>
struct PartUnits {
  static constexpr int kPerRow = kColumns / kUnitElements;

  int first, end, column, columns;
  __device__ int count() const { return (end - first) * kPerRow; }
  __device__ int row(int unit) const { return first + unit / kPerRow; }
  __device__ int col(int unit) const { return column + unit % kPerRow * kUnitElements; }
  __device__ bool has(int unit) const {
    return unit < count() && unit % kPerRow * kUnitElements < columns;
  }
};

// The units of a part, without the rows that lie behind the product's last one.
template <class View>
__device__ __forceinline__ PartUnits<View::kTileN> units_of(const TilePart& part, const Tile& tile,
                                                            const tilepost_shape_t& shape) {
  const int first = tile.m + part.first_row, end = tile.m + part.end_row;
  return {first, end < shape.m ? end : shape.m, tile.n, shape.n - tile.n};
}

// The units in rows that this rank gets. There may be none.
template <class View>
__device__ __forceinline__ PartUnits<View::kTileN> own_units(const View& view,
                                                             const PartUnits<View::kTileN>& units) {
  if constexpr (!View::kScatters) return units;
  const ExchangeRange own = own_rows(view).within({units.first, units.end});
  return {own.first, own.end, units.column, units.columns};
}

// The rows of a column of tiles that this CTA adds up or moves, and the parts that have these rows
// (slice_rows).
template <class View>
struct Slice {
  PartUnits<View::kTileN> units;
  int first_part, parts;
};
template <class View>
__device__ __forceinline__ Slice<View> slice_of(const View& view, const TileParts& parts,
                                                const Tile& tile, int columns) {
  const ExchangeRange rows = slice_rows(view, tile.m, parts.part.number, parts.per_tile);
  if (rows.count() == 0) return {{0, 0, 0, 0}, 0, 0};
  const int first = exchange_part(rows.first, View::kTileM, parts.per_tile);
  const int last = exchange_part(rows.end - 1, View::kTileM, parts.per_tile);
  return {{rows.first, rows.end, tile.n, columns - tile.n}, first, last + 1 - first};
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_EXCHANGE_PARTS_CUH
