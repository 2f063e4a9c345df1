// What one run executes: the tile map, the groups and the steps that follow from its number of rows
// and its route. The same for every target; targets keep one per m and add their own tables.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/map/run_path.h"
#include "runtime/map/steps.h"

namespace tilepost {

// Elements of a run's memory on one rank; where a run's path (run_path.h) has no such place, 0.
struct RunSizes {
  int64_t send = 0;     // what the kernel stores on this rank, into Buffer::send or out
  int64_t receive = 0;  // Buffer::received
  int64_t scratch = 0;  // what a reduce_scatter receives that must not all be written
  int64_t out = 0;      // of the caller's out
  // Memory that ranks share (steps.h). Of a run 0 where it does not overlap.
  int64_t slots = 0;   // all blocks, one after the other
  int64_t sums = 0;    // AllReduce that does not push
  int64_t landed = 0;  // WRITE: All-to-All, AllReduce that pushes
};

// Not copied: exchange.map points into cuts.
struct RunMap {
  RunMap() = default;
  RunMap(const RunMap&) = delete;
  RunMap& operator=(const RunMap&) = delete;

  int64_t m = 0;     // as the caller says (tilepost_run_operands_t::m, tilepost_route_t::m)
  int64_t rows = 0;  // of this rank's product; may be 0 where a route says so, or where rows of A
                     // are routed
  int64_t most = 0;  // of any rank's product; equal on all ranks
  // What ranks must have in common to exchange anything: over `most`, the groups and, where rows
  // are routed, `counts`.
  uint64_t schedule_hash = 0;
  bool overlaps = false;
  RunPath path{};
  int32_t gemm_ctas = 0;
  std::vector<int32_t> cuts;
  Exchange exchange{};
  TileMap tiles;
  tilepost_shape_t shape{};              // what the kernel gets; of the tile layout ldc is tile_n
  RowCounts counts;                      // where rows are routed
  std::vector<int64_t> own_counts;       // routed: this rank's part of `counts`
  std::vector<int32_t> row_map;          // routing rows: tilepost_view_t::row_map
  std::vector<int32_t> order;            // RunPath::packs: InputRoute::order
  std::vector<std::vector<Step>> steps;  // by group, this rank's
  std::vector<uint32_t> targets;         // by group: counter_targets
  RunSizes sizes;

  // Where A moves, this rank's rows that stay: among all that it multiplies, and in its a.
  struct OwnRows {
    int64_t first = 0, count = 0, in_a = 0;
  } own;

  // How ranks reach each other in this run.
  tilepost_access_t access() const { return path.access; }
  const tilepost_map_t& map() const { return exchange.map; }
  int num_groups() const { return exchange.map.num_groups; }
};

// Host memory that it holds.
int64_t bytes_of(const RunMap& run);

// Rows of out on `rank` in a run with m rows; not where other ranks' rows are routed to it.
int64_t rows_of_out(const tilepost_plan_t& plan, int64_t m, int rank);

// The run with m rows, 1 <= m <= rows_of_runs(plan); another than that requires plan.any_m. Not for
// routed plans.
std::unique_ptr<RunMap> make_run_map(const tilepost_plan_t& plan, int rank, int64_t m);

// What a rank was told of its route; valid against the plan.
struct RouteInputs {
  int64_t rows;                           // of this rank
  int64_t most;                           // of any rank: ranks tell each other first
  std::span<const int64_t> splits;        // [ranks] routing splits
  std::span<const int32_t> destinations;  // [rows] routing rows
};

// A routed run up to `own_counts`, which ranks tell each other next: [groups][ranks], equally long
// on all of them.
std::unique_ptr<RunMap> begin_route(const tilepost_plan_t& plan, int rank,
                                    const RouteInputs& inputs);

// The rest of it. `all_counts`: own_counts of all ranks, one after the other.
void finish_route(const tilepost_plan_t& plan, int rank, std::span<const int64_t> all_counts,
                  RunMap& run);

// The whole of it, for who knows what all ranks were told: [ranks]. Their `most` is not looked at.
std::unique_ptr<RunMap> routed_run(const tilepost_plan_t& plan, int rank,
                                   std::span<const RouteInputs> ranks);

// tilepost_arrivals_t::landed of a finished route.
std::vector<int64_t> landed_rows(const RunMap& run, int rank, const RouteInputs& inputs);

// At least the sizes of every run of a plan, but for `out`, and for `receive` of routed plans,
// which depends on the other ranks.
RunSizes most_sizes(const tilepost_plan_t& plan);

}  // namespace tilepost
