// What one run executes: the tile map, the groups and the steps that follow from its number of rows
// and its route. It is the same for every target. A target keeps one for each m and adds its own
// tables.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/map/run_path.h"
#include "runtime/map/steps.h"

namespace tilepost {

// Elements of a run's memory on one rank; 0 where the run's path (run_path.h) has no such place.
struct RunSizes {
  int64_t send = 0;     // what the kernel stores on this rank, into Buffer::send or out
  int64_t receive = 0;  // Buffer::received
  int64_t scratch = 0;  // what a reduce_scatter receives, if not all of it may be written to out
  int64_t out = 0;      // the caller's out
  // Memory that ranks share (steps.h); 0 in a run that does not overlap.
  int64_t slots = 0;   // all blocks of slots, one after the other
  int64_t sums = 0;    // in an AllReduce that does not push
  int64_t landed = 0;  // in an All-to-All with WRITE, and in an AllReduce that pushes
};

// Not copied: exchange.map points into cuts.
struct RunMap {
  RunMap() = default;
  RunMap(const RunMap&) = delete;
  RunMap& operator=(const RunMap&) = delete;

  int64_t m = 0;     // as the caller says it (tilepost_run_operands_t::m, tilepost_route_t::m)
  int64_t rows = 0;  // rows of this rank's product; may be 0 where a route says so, or where rows
                     // of A are routed
  int64_t most = 0;  // the most rows of any rank's product; equal on all ranks
  // A hash of what ranks must have in common to exchange anything: `most`, the groups and, where
  // rows are routed, `counts`.
  uint64_t schedule_hash = 0;
  bool overlaps = false;
  RunPath path{};
  int32_t gemm_ctas = 0;
  std::vector<int32_t> cuts;
  Exchange exchange{};
  TileMap tiles;
  tilepost_shape_t shape{};              // what the kernel gets; tile layout: ldc is tile_n
  RowCounts counts;                      // only where rows are routed
  std::vector<int64_t> own_counts;       // only where rows are routed: this rank's part of `counts`
  std::vector<int32_t> row_map;          // routing rows: tilepost_view_t::row_map
  std::vector<int32_t> order;            // RunPath::sorts_a: InputRoute::order
  std::vector<std::vector<Step>> steps;  // this rank's steps by group
  std::vector<uint32_t> targets;         // counter_targets, by group
  RunSizes sizes;

  // Where rows of A move: the rows that stay on this rank. `first` is their place among all rows
  // that the rank multiplies, and `in_a` their place in its `a`.
  struct OwnRows {
    int64_t first = 0, count = 0, in_a = 0;
  } own;

  // How ranks reach each other in this run.
  tilepost_access_t access() const { return path.access; }
  const tilepost_map_t& map() const { return exchange.map; }
  int num_groups() const { return exchange.map.num_groups; }

  // Whether it is a run without rows, which no rank has. A run that was made has groups, also where
  // its route gives this rank no rows.
  bool does_nothing() const { return num_groups() == 0; }
};

// The bytes of host memory that the run holds.
int64_t bytes_of(const RunMap& run);

// Rows of out on `rank` in a run with m rows. Not for patterns that route rows of the product or of
// A.
int64_t rows_of_out(const tilepost_plan_t& plan, int64_t m, int rank);

// The run with m rows, 1 <= m <= rows_of_runs(plan). An m other than that bound requires
// plan.any_m. Not for routed plans.
std::unique_ptr<RunMap> make_run_map(const tilepost_plan_t& plan, int rank, int64_t m);

// What a rank was told of its route. It must have been checked against the plan.
struct RouteInputs {
  int64_t rows;                           // rows of this rank
  int64_t most;                           // the most rows of any rank; ranks tell each other their
                                          // rows first
  std::span<const int64_t> splits;        // [ranks] for routing splits
  std::span<const int32_t> destinations;  // [rows] for routing rows
};

// The first half of a routed run, up to `own_counts`. Ranks then tell each other these counts:
// [groups][ranks], of the same length on all of them.
std::unique_ptr<RunMap> begin_route(const tilepost_plan_t& plan, int rank,
                                    const RouteInputs& inputs);

// The second half of a routed run. `all_counts`: the own_counts of all ranks, one after the other.
void finish_route(const tilepost_plan_t& plan, int rank, std::span<const int64_t> all_counts,
                  RunMap& run);

// A whole routed run, for callers that know what all ranks were told: [ranks]. `most` of these is
// not read.
std::unique_ptr<RunMap> routed_run(const tilepost_plan_t& plan, int rank,
                                   std::span<const RouteInputs> ranks);

// tilepost_arrivals_t::landed of a finished route.
std::vector<int64_t> landed_rows(const RunMap& run, int rank, const RouteInputs& inputs);

// Sizes that no run of a plan exceeds. They do not have `out`, nor `receive` of routed plans, which
// depends on the other ranks.
RunSizes most_sizes(const tilepost_plan_t& plan);

}  // namespace tilepost
