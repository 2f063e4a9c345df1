// What one run executes: the tile map, the groups and the steps, which follow from the number of
// rows and the route. It is the same for every target. A target keeps a RunMap for each m and adds
// its own tables.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/map/run_path.h"
#include "runtime/map/steps.h"

namespace tilepost {

// How many elements of memory a run needs on one rank. A size is 0 where the run's path
// (run_path.h) has no such place.
struct RunSizes {
  int64_t send = 0;     // elements that the kernel stores on this rank, into Buffer::send or out
  int64_t receive = 0;  // Buffer::received
  int64_t scratch = 0;  // where a reduce_scatter receives elements that must not all be written to
                        // out
  int64_t out = 0;      // the caller's out
  // Memory that ranks share (steps.h); 0 in a run that does not overlap.
  int64_t slots = 0;   // all blocks of slots together
  int64_t sums = 0;    // only in an AllReduce that does not push
  int64_t landed = 0;  // only in an All-to-All with WRITE, and in an AllReduce that pushes
};

// A RunMap cannot be copied, because exchange.map points into cuts.
struct RunMap {
  RunMap() = default;
  RunMap(const RunMap&) = delete;
  RunMap& operator=(const RunMap&) = delete;

  int64_t m = 0;     // the number of rows that the caller passes (tilepost_run_operands_t::m,
                     // tilepost_route_t::m)
  int64_t rows = 0;  // rows of this rank's product. They may be 0 where rows of A are routed, or
                     // where a route gives this rank no rows
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
  std::vector<std::vector<Step>> steps;  // [groups] this rank's steps
  std::vector<uint32_t> targets;         // [groups] counter_targets
  RunSizes sizes;

  // Where rows of A move: the rows that stay on this rank. `first` is their place among all rows
  // that the rank multiplies, and `in_a` is their place in the rank's `a`.
  struct OwnRows {
    int64_t first = 0, count = 0, in_a = 0;
  } own;

  // How ranks reach each other in this run.
  tilepost_access_t access() const { return path.access; }
  const tilepost_map_t& map() const { return exchange.map; }
  int num_groups() const { return exchange.map.num_groups; }

  // Whether no rank has rows in this run. A run that was made has groups, even if its route gives
  // this rank no rows.
  bool does_nothing() const { return num_groups() == 0; }
};

// Whether runs of m rows overlap: RunMap::overlaps of make_run_map, and false for m = 0.
bool run_overlaps(const tilepost_plan_t& plan, int64_t m);

// How many bytes of host memory the run holds.
int64_t bytes_of(const RunMap& run);

// The most rows of the product of a rank in a run of m rows, where tokens go to experts: as many as
// all of them may have. Elsewhere m.
int64_t most_rows_in(const tilepost_plan_t& plan, int64_t m);

// The number of rows of out on `rank` in a run with m rows. It is not for patterns that route rows
// of the product or of A.
int64_t rows_of_out(const tilepost_plan_t& plan, int64_t m, int rank);

// Makes the run with m rows, 1 <= m <= rows_of_runs(plan). Any m but rows_of_runs(plan) requires
// plan.any_m. It is not for routed plans.
std::unique_ptr<RunMap> make_run_map(const tilepost_plan_t& plan, int rank, int64_t m);

// What the caller passed to a rank for its route. It must have been checked against the plan.
struct RouteInputs {
  int64_t rows;                           // the rows of this rank
  int64_t most;                           // the most rows of any rank; ranks exchange their numbers
                                          // of rows first
  std::span<const int64_t> splits;        // [ranks] for routing splits
  std::span<const int32_t> destinations;  // [rows] for routing rows
};

// Makes the first half of a routed run, up to `own_counts`. Ranks then exchange these counts:
// [groups][ranks], of the same length on all ranks.
std::unique_ptr<RunMap> begin_route(const tilepost_plan_t& plan, int rank,
                                    const RouteInputs& inputs);

// Makes the second half of a routed run. `all_counts`: the own_counts of all ranks, one after the
// other.
void finish_route(const tilepost_plan_t& plan, int rank, std::span<const int64_t> all_counts,
                  RunMap& run);

// Makes a whole routed run, for callers that know the inputs of all ranks: `ranks` is [ranks].
// RouteInputs::most is not read.
std::unique_ptr<RunMap> routed_run(const tilepost_plan_t& plan, int rank,
                                   std::span<const RouteInputs> ranks);

// tilepost_arrivals_t::landed of a finished route.
std::vector<int64_t> landed_rows(const RunMap& run, int rank, const RouteInputs& inputs);

// Sizes that no run of a plan exceeds. `out` is not set. `receive` is not set for routed plans,
// where it depends on the other ranks.
RunSizes most_sizes(const tilepost_plan_t& plan);

}  // namespace tilepost
