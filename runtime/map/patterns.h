// The patterns: one row of a table each. Other code asks the row for whatever follows from a
// pattern. So a new pattern is a row here, with its enumerator (tilepost/plan.h), a file of steps
// (steps/, listed in steps.cpp) and a file that says what must hold of its plans
// (generator/plan/verify/, listed in plan.cpp there).
//
// Three facts describe a pattern: what moves between ranks, whether they sum it, and where a row of
// it ends.
#ifndef TILEPOST_PATTERNS_H
#define TILEPOST_PATTERNS_H

#include <cstddef>
#include <iterator>

#include "tilepost/internal/enumerators.h"
#include "tilepost/plan.h"

namespace tilepost {

enum class Moves {
  nothing,
  product,  // tiles are computed, then go to other ranks
  input,    // rows of A come from other ranks, then tiles are computed
};

// Where a row that moves ends.
enum class RowsEnd {
  own,     // where it was: nothing moves
  share,   // with the rank in whose share the row lies
  all,     // with every rank
  routed,  // with the rank that its route names (tilepost_routing_t)
};

struct PatternRow {
  tilepost_pattern_t pattern;
  const char* name;        // in a spec
  const char* c_name;      // of the enumerator
  const char* collective;  // what a run that does not overlap does besides the GEMM; "" for nothing
  const char* gives;       // what every rank ends with
  Moves moves;
  bool sums;  // ranks add up what they have computed
  RowsEnd rows_end;

  constexpr bool communicates() const { return moves != Moves::nothing; }
  constexpr bool moves_product() const { return moves == Moves::product; }

  // Rows of A arrive in groups, and tiles wait for them. In other patterns groups of tiles are
  // sent.
  constexpr bool moves_input() const { return moves == Moves::input; }

  // Ranks say how many rows go where. A plan of such a pattern has a routing.
  constexpr bool routes() const { return rows_end == RowsEnd::routed; }

  // A rank computes rows that it does not end with. So what its kernel stores is never its output.
  constexpr bool product_leaves() const { return moves_product() && rows_end != RowsEnd::all; }

  // Every rank ends with all rows of what all ranks have computed. With messages a collective sums
  // them in place. Ranks that share memory sum a share each, and then tell the others.
  constexpr bool product_spreads() const { return moves_product() && rows_end == RowsEnd::all; }

  // A consumer may normalise rows of the output: each rank has whole rows of one product or sum,
  // and their number follows from the m of the run.
  constexpr bool may_normalise() const { return sums || !communicates(); }

  // The product may be stored in slots, tile by tile. It may not where rows of A arrive, since
  // these arrive row by row.
  constexpr bool may_tile() const { return !moves_input(); }

  // Slots may be the output, for a caller that asks which tile lies where. They then stay as the
  // kernel has stored them.
  constexpr bool may_keep_slots() const { return may_tile() && !product_leaves(); }

  // Every rank has its own share of the rows (tilepost_division_t). There are no shares where
  // messages, or kernels that exchange tiles, give all rows to all ranks at once.
  constexpr bool has_shares(tilepost_access_t access) const {
    const bool apart = access == TILEPOST_ACCESS_READ || access == TILEPOST_ACCESS_WRITE;
    return communicates() && (!product_spreads() || apart);
  }

  // `out` has the rows of this rank's share, and not all rows of the run. In a pattern that routes
  // it has neither of these, but the rows that arrive.
  constexpr bool out_is_share() const { return moves_product() && rows_end == RowsEnd::share; }

  // Rows of the product go to chosen ranks: a rank's output is rows of other ranks' products.
  constexpr bool product_is_routed() const { return moves_product() && routes(); }

  // Rows of A go to chosen ranks: a rank multiplies the rows that it receives.
  constexpr bool input_is_routed() const { return moves_input() && routes(); }
};

// In the order of the enumerators.
inline constexpr PatternRow kPatterns[] = {
    {TILEPOST_GEMM_ALL_REDUCE, "gemm_all_reduce", "TILEPOST_GEMM_ALL_REDUCE", "AllReduce",
     "out = sum over ranks of A * B, on every rank", Moves::product, true, RowsEnd::all},
    {TILEPOST_GEMM, "gemm", "TILEPOST_GEMM", "", "out = A * B, every rank its own", Moves::nothing,
     false, RowsEnd::own},
    {TILEPOST_GEMM_REDUCE_SCATTER, "gemm_reduce_scatter", "TILEPOST_GEMM_REDUCE_SCATTER",
     "ReduceScatter", "out = this rank's rows of the sum over ranks of A * B", Moves::product, true,
     RowsEnd::share},
    {TILEPOST_GEMM_ALL_TO_ALL, "gemm_all_to_all", "TILEPOST_GEMM_ALL_TO_ALL", "All-to-All",
     "out = the rows of all ranks' A * B that are for this rank", Moves::product, false,
     RowsEnd::routed},
    {TILEPOST_ALL_GATHER_GEMM, "all_gather_gemm", "TILEPOST_ALL_GATHER_GEMM", "AllGather",
     "out = all ranks' rows of A, times B", Moves::input, false, RowsEnd::all},
    {TILEPOST_ALL_TO_ALL_GEMM, "all_to_all_gemm", "TILEPOST_ALL_TO_ALL_GEMM", "All-to-All",
     "out = the rows of all ranks' A that are for this rank, times B", Moves::input, false,
     RowsEnd::routed},
};
inline constexpr int kNumPatterns = static_cast<int>(std::size(kPatterns));

// Whether a plan's pattern is one of these.
constexpr bool is_pattern(int value) {
  return value >= 0 && value < kNumPatterns;
}

constexpr const PatternRow& row_of(tilepost_pattern_t pattern) {
  return kPatterns[pattern];
}
constexpr const PatternRow& row_of(const tilepost_plan_t& plan) {
  return row_of(plan.pattern);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
TILEPOST_CHECK_TABLE(tilepost_pattern_t, kPatterns, pattern, 6)
#pragma GCC diagnostic pop
static_assert(is_in_order(kPatterns, &PatternRow::pattern));

// The spelling in a spec.
constexpr const char* name_of(tilepost_pattern_t pattern) {
  return row_of(pattern).name;
}

// Whether runs need a route from tilepost_op_route. With routing even, ranks know where rows go.
constexpr bool is_routed(const tilepost_plan_t& plan) {
  return row_of(plan).routes() && plan.routing != TILEPOST_ROUTING_EVEN;
}

// Whether all that ranks send and receive lies in memory of the operation, which NCCL can know as
// windows. Routed rows of A are sent from the caller's memory, and `routed` rows of the product
// land in the caller's memory.
constexpr bool fits_windows(const PatternRow& pattern, bool routed) {
  return !pattern.input_is_routed() && !routed;
}

// Whether kernels of few rows may exchange tiles, or rows of A (TILEPOST_ACCESS_TILES). They may if
// the plan alone says which ranks get a row: a row of the product goes where its pattern or an even
// routing sends it, and a row of A goes to all ranks.
constexpr bool may_exchange_tiles(const PatternRow& pattern, tilepost_routing_t routing) {
  if (pattern.moves_input()) return !pattern.routes();
  return pattern.moves_product() && (!pattern.routes() || routing == TILEPOST_ROUTING_EVEN);
}

// Whether the kernel stores each row of a tile at the place that the run's route names for that
// row.
constexpr bool scatters_rows(const tilepost_plan_t& plan) {
  return row_of(plan).moves_product() && plan.routing == TILEPOST_ROUTING_ROWS;
}

// The m of the plan's runs, or its bound with any_m. It counts rows of the product, or where rows
// of A are routed, rows of A on each rank.
constexpr int64_t rows_of_runs(const tilepost_plan_t& plan) {
  return row_of(plan).input_is_routed() ? plan.rows_sent : plan.map.m;
}

// Whether a run may multiply a number of rows other than map.m.
constexpr bool rows_vary(const tilepost_plan_t& plan) {
  return plan.any_m != 0 || (row_of(plan).input_is_routed() && is_routed(plan));
}

}  // namespace tilepost

#endif  // TILEPOST_PATTERNS_H
