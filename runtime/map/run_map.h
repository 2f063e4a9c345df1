// What one run executes: the tile map, the groups and the steps that follow from its number of rows
// and its route. The same for every target; targets keep one per m and add their own tables.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/map/steps.h"

namespace tilepost {

// Elements of a run's memory on one rank.
struct RunSizes {
  int64_t send = 0;  // where the kernel stores on this rank; what steps send; 0 if it stores into
                     // the owners' memory
  int64_t receive = 0;  // what steps receive, where that is neither out (receives_apart) nor
                        // landed memory (consumes_landed); else 0
  int64_t scratch = 0;  // what a reduce_scatter receives that must not all be written
  int64_t out = 0;      // of the caller's out
  // Memory that ranks share (steps.h). Of a run 0 where it does not overlap.
  int64_t slots = 0;   // all blocks, one after the other
  int64_t sums = 0;    // AllReduce that does not push
  int64_t landed = 0;  // WRITE: All-to-All, AllReduce that pushes
};

// Whether the kernel stores tiles into the memory of the ranks that own them, in runs that overlap.
bool stores_tiles(const tilepost_plan_t& plan);

// Whether ranks push what they sum, each into every other rank's landed memory: AllReduce, in runs
// that overlap.
bool pushes_sums(const tilepost_plan_t& plan);

// Whether a run's whole output may be made in landed memory, then given as its out.
bool lends_landed(const tilepost_plan_t& plan);

// Whether a run's consumer reads landed memory, where then the own sums go too.
bool consumes_landed(const tilepost_plan_t& plan, bool overlaps);

// Not copied: exchange.map points into cuts.
struct RunMap {
  RunMap() = default;
  RunMap(const RunMap&) = delete;
  RunMap& operator=(const RunMap&) = delete;

  int64_t rows = 0;  // of this rank's product; may be 0 where a route says so
  int64_t most = 0;  // of any rank's product; equal on all ranks
  bool overlaps = false;
  int32_t gemm_ctas = 0;
  std::vector<int32_t> cuts;
  Exchange exchange{};
  TileMap tiles;
  tilepost_shape_t shape{};              // what the kernel gets; of the tile layout ldc is tile_n
  RowCounts counts;                      // gemm_all_to_all
  std::vector<int64_t> own_counts;       // routed: this rank's part of `counts`
  std::vector<int32_t> row_map;          // routing rows: tilepost_view_t::row_map
  std::vector<std::vector<Step>> steps;  // by group, this rank's
  std::vector<uint32_t> targets;         // by group: counter_targets
  RunSizes sizes;

  // How ranks reach each other in this run.
  tilepost_access_t access() const { return overlaps ? exchange.access : TILEPOST_ACCESS_MESSAGES; }
  const tilepost_map_t& map() const { return exchange.map; }
  int num_groups() const { return exchange.map.num_groups; }
};

// Whether runs wait for tilepost_op_route.
bool is_routed(const tilepost_plan_t& plan);

// Whether the kernel stores into memory of the operations, this rank's or an owner's, and not into
// out: in runs that overlap, or in the others.
bool stores_apart(const tilepost_plan_t& plan, bool overlaps);

// Whether some runs of the plan overlap, or do not.
bool has_runs(const tilepost_plan_t& plan, bool overlaps);

// Rows of out on `rank` in a run with m rows; not for gemm_all_to_all.
int64_t rows_of_out(const tilepost_plan_t& plan, int64_t m, int rank);

// Whether steps receive into memory of the operation and not into out, for a consumer to read or to
// be copied.
bool receives_apart(const tilepost_plan_t& plan, bool overlaps);

// Transport nccl_symmetric, in runs that overlap: whether steps receive into a window, which has
// room for whole tiles on every rank; routed rows do not, of which each rank gets as many as the
// others send it. And whether what they have received there, or summed in place, is copied to out.
bool receives_in_windows(const tilepost_plan_t& plan, bool overlaps);
bool copies_out(const tilepost_plan_t& plan, bool overlaps);

// The same of any run of the plan.
bool stores_apart(const tilepost_plan_t& plan);
bool receives_apart(const tilepost_plan_t& plan);
bool receives_in_windows(const tilepost_plan_t& plan);

// The run with m rows, 1 <= m <= plan.map.m; another than plan.map.m requires plan.any_m. Not for
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

// tilepost_arrivals_t::landed and rows_from of a finished route.
std::vector<int64_t> landed_rows(const RunMap& run, int rank, const RouteInputs& inputs);
std::vector<int64_t> rows_from(const RunMap& run, int rank);

// At least the sizes of every run of a plan, but for `out`, and for `receive` of routed plans,
// which depends on the other ranks.
RunSizes most_sizes(const tilepost_plan_t& plan);

}  // namespace tilepost
