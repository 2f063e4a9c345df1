#include "runtime/map/run_path.h"

namespace tilepost {
namespace {

bool has_consumer(const tilepost_plan_t& plan) {
  return plan.consumer != TILEPOST_CONSUMER_NONE;
}

// The memory that holds the rows which ranks exchange: `send`, or the rows of A of all ranks. With
// TILEPOST_ACCESS_READ copy engines of other ranks read what the kernel stores. Runs that do not
// overlap store into the same region, so it is shared for them too. Rows of A lie in shared memory
// wherever ranks read or write each other's memory.
Memory exchanged_in(const tilepost_plan_t& plan) {
  if (plan.transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC) return Memory::window;
  const bool shared = row_of(plan).moves_input() ? plan.access != TILEPOST_ACCESS_MESSAGES
                                                 : plan.access == TILEPOST_ACCESS_READ;
  return shared ? Memory::shared : Memory::own;
}

// Where the kernel stores tiles. It does not store them into `out` if they leave this rank, if they
// are summed elsewhere, or if NCCL or a consumer reads them.
Buffer stores_into(const tilepost_plan_t& plan, const RunPath& path) {
  // The kernel itself finds the places of tiles in slots.
  if (path.exchanges_parts) return Buffer::out;
  if (path.stores_by_owner && path.overlaps) return Buffer::owners;
  const PatternRow& row = row_of(plan);
  const bool window = path.overlaps && path.exchanged == Memory::window;
  const bool elsewhere = row.product_spreads() && (path.shares_memory() || window);
  return row.product_leaves() || elsewhere || path.consumes ? Buffer::send : Buffer::out;
}

// The memory in which `received` lies. In patterns whose rows leave, a window has room for a whole
// share on every rank.
Memory receives_in(const tilepost_plan_t& plan, bool overlaps) {
  const bool windows = overlaps && plan.transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
  return windows && row_of(plan).product_leaves() ? Memory::window : Memory::own;
}

Buffer results_of(const tilepost_plan_t& plan, const RunPath& path) {
  const PatternRow& row = row_of(plan);
  const bool in_place = row.product_spreads() && !path.shares_memory();
  if (!row.moves_product() || in_place) return path.stores;
  if (path.receives_in == Memory::window) return Buffer::received;
  if (!path.consumes) return Buffer::out;
  return path.pushes == Pushes::results ? Buffer::landed : Buffer::received;
}

Pushes pushes_of(const tilepost_plan_t& plan, bool overlaps) {
  const PatternRow& row = row_of(plan);
  if (!overlaps || plan.pushes == 0) return Pushes::nothing;
  if (row.moves_input()) return Pushes::rows;
  return row.product_spreads() || plan.fused != 0 ? Pushes::results : Pushes::nothing;
}

// Which of the kernel and the steps waits for the other. Where collectives of other communicators
// may run beside the GEMM (tilepost_plan_t::neighbours), no kernel may wait for rows of other
// ranks.
Waits waits_of(const tilepost_plan_t& plan, bool overlaps) {
  if (!row_of(plan).moves_input()) return Waits::steps;
  if (!overlaps) return Waits::kernel;
  return plan.neighbours != 0 ? Waits::launches : Waits::tiles;
}

}  // namespace

bool fuses_as_it_may(const tilepost_plan_t& plan) {
  const tilepost_map_t& map = plan.map;
  if (plan.fused == 0) return map.turn == 0 && map.lag == 0;
  const bool order = map.num_groups == 1 && map.stagger > 0 && map.turn > 0 && map.lag >= 0 &&
                     map.turn % map.cluster == 0;
  const PatternRow& row = row_of(plan);
  const bool moves = row.moves_product() && plan.pushes == (pushes_when_fused(row) ? 1 : 0) &&
                     plan.access == TILEPOST_ACCESS_WRITE && plan.sum == TILEPOST_SUM_STAGED;
  const bool gaps = row.sums || plan.row_gap == 0;  // only slots may have gaps between rows, not an
                                                    // output
  return plan.fused == 1 && order && moves && gaps && plan.task_parts == 0 && plan.whole_run == 1 &&
         plan.kernel.launch == TILEPOST_LAUNCH_TMA;
}

RunPath path_of(const tilepost_plan_t& plan, bool overlaps) {
  const PatternRow& row = row_of(plan);
  RunPath path{};
  path.overlaps = overlaps;
  path.access = overlaps ? plan.access : TILEPOST_ACCESS_MESSAGES;
  path.exchanges_parts = overlaps && plan.access == TILEPOST_ACCESS_TILES;
  path.whole_run = path.exchanges_parts || (overlaps && plan.whole_run != 0);
  path.lists_tiles = row.dispatches();
  path.pushes_tokens = path.lists_tiles && overlaps && plan.access == TILEPOST_ACCESS_WRITE;
  path.combines = row.combines();
  path.sums_at_home = path.combines && overlaps && plan.access == TILEPOST_ACCESS_WRITE;
  path.normalises = path.exchanges_parts && kernels_normalise(plan);
  path.consumes = has_consumer(plan) && !path.normalises;
  path.exchanged = exchanged_in(plan);
  path.receives_in = receives_in(plan, overlaps);
  path.has_tasks = overlaps && plan.task_parts > 0;
  path.is_fused = overlaps && plan.fused != 0;
  path.kernel_does_all = path.exchanges_parts || path.is_fused || path.sums_at_home ||
                         path.pushes_tokens ||
                         (path.has_tasks && plan.access == TILEPOST_ACCESS_WRITE);
  path.pushes = pushes_of(plan, overlaps);
  path.waits = waits_of(plan, overlaps);
  path.stores_by_owner = plan.access == TILEPOST_ACCESS_WRITE && !row.moves_input();
  path.stores = stores_into(plan, path);
  path.results = results_of(plan, path);
  const bool split = path.exchanges_parts || (overlaps && plan.reads_own != 0);
  if (row.moves_input()) path.reads = split ? InputFrom::split : InputFrom::gathered;
  path.sorts_a = row.input_is_routed() && plan.routing == TILEPOST_ROUTING_ROWS;
  path.gathers_for_caller = !overlaps || path.exchanged == Memory::own;
  path.lends_out = path.pushes == Pushes::results && !has_consumer(plan);
  return path;
}

RunPaths paths_of(const tilepost_plan_t& plan) {
  const bool overlaps = plan.transport != TILEPOST_TRANSPORT_NONE;
  RunPaths paths{path_of(plan, overlaps), {}, path_of(plan, true)};
  if (overlaps && rows_vary(plan) && plan.model.sequence_ctas > 0)
    paths.sequence = path_of(plan, false);
  return paths;
}

}  // namespace tilepost
