// The patterns: a table with a row for each. Other code reads whatever follows from a pattern in
// its row. So a new pattern needs a row here, its enumerator (tilepost/plan.h), a file of steps
// (steps/, listed in steps.cpp) and a file with the rules for its plans (generator/plan/verify/,
// listed in plan.cpp there).
//
// Three facts describe a pattern: what moves between ranks, whether ranks sum it, and where a row
// that moves ends.
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
  const char* name;        // the name in a spec
  const char* c_name;      // the enumerator in C
  const char* collective;  // the collective of a run that does not overlap; "" if there is none
  const char* gives;       // what every rank ends with
  Moves moves;
  bool sums;  // whether ranks add up what they have computed
  RowsEnd rows_end;

  constexpr bool communicates() const { return moves != Moves::nothing; }
  constexpr bool moves_product() const { return moves == Moves::product; }

  // Whether rows of A arrive in groups, so that tiles wait for them. In other patterns groups of
  // tiles are sent.
  constexpr bool moves_input() const { return moves == Moves::input; }

  // Whether a routing decides how many rows go where. Plans of other patterns have no routing.
  constexpr bool routes() const { return rows_end == RowsEnd::routed; }

  // Whether a rank computes rows that it does not end with. Its kernel then never stores into
  // `out`.
  constexpr bool product_leaves() const { return moves_product() && rows_end != RowsEnd::all; }

  // Whether every rank ends with all rows that all ranks have computed. With messages a collective
  // sums the rows in place. Ranks that share memory sum one share each and give the sums to the
  // other ranks.
  constexpr bool product_spreads() const { return moves_product() && rows_end == RowsEnd::all; }

  // Whether rows of A are sorted by expert, and each expert has a B of its own. Which rows an
  // expert has is known on the device alone, when the run executes.
  constexpr bool has_experts() const { return pattern == TILEPOST_GROUPED_GEMM || has_tokens(); }

  // Whether the rows of experts are those of tokens, which a routing (tilepost/routing.h) has sent
  // to them. Operations of such a pattern are bound to a routing.
  constexpr bool has_tokens() const { return dispatches() || combines(); }

  // Whether rows of A are tokens. The rows of all ranks' tokens come together, and the kernel reads
  // them in the order of the experts' rows.
  constexpr bool dispatches() const { return pattern == TILEPOST_DISPATCH_GROUPED_GEMM; }

  // Whether the products of a token's rows are summed with their weights. The rows of the tile map
  // are then those of tokens, and the product that moves is these sums.
  constexpr bool combines() const { return pattern == TILEPOST_GROUPED_GEMM_COMBINE; }

  // Whether a consumer may normalise rows of the output. This needs whole rows of one product or
  // sum on each rank, and a number of rows that follows from the m of the run.
  constexpr bool may_normalise() const { return !has_experts() && (sums || !communicates()); }

  // Whether the product may be stored in slots, tile by tile. Rows of A that arrive rule this out,
  // since they arrive row by row, and so do experts, whose tiles have any number of rows.
  constexpr bool may_tile() const { return !moves_input() && !has_experts(); }

  // Whether the output may stay in slots as the kernel stores them. The caller then asks which tile
  // lies in which slot.
  constexpr bool may_keep_slots() const { return may_tile() && !product_leaves(); }

  // Whether each rank has a share of the rows (tilepost_division_t). There are no shares where
  // messages, or kernels that exchange tiles, give all rows to all ranks at once.
  constexpr bool has_shares(tilepost_access_t access) const {
    const bool apart = access == TILEPOST_ACCESS_READ || access == TILEPOST_ACCESS_WRITE;
    return communicates() && (!product_spreads() || apart);
  }

  // Whether `out` has the rows of this rank's share, and not all rows of the run. In a pattern that
  // routes, `out` has the rows that arrive, and this is false.
  constexpr bool out_is_share() const { return moves_product() && rows_end == RowsEnd::share; }

  // Whether rows of the product go to chosen ranks. A rank's output is then rows of all ranks'
  // products.
  constexpr bool product_is_routed() const { return moves_product() && routes(); }

  // Whether rows of A go to chosen ranks. A rank then multiplies the rows that it receives.
  constexpr bool input_is_routed() const { return moves_input() && routes(); }
};

// In the order of the enumerators of tilepost_pattern_t.
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
    {TILEPOST_GROUPED_GEMM, "grouped_gemm", "TILEPOST_GROUPED_GEMM", "",
     "out = each row of A times the B of its expert, every rank its own", Moves::nothing, false,
     RowsEnd::own},
    {TILEPOST_DISPATCH_GROUPED_GEMM, "dispatch_grouped_gemm", "TILEPOST_DISPATCH_GROUPED_GEMM",
     "AllGather", "out = the tokens of each of this rank's experts, times the expert's B",
     Moves::input, false, RowsEnd::all},
    {TILEPOST_GROUPED_GEMM_COMBINE, "grouped_gemm_combine", "TILEPOST_GROUPED_GEMM_COMBINE",
     "ReduceScatter",
     "out = this rank's tokens: the rows of their experts on all ranks, summed with their weights",
     Moves::product, true, RowsEnd::share},
};
inline constexpr int kNumPatterns = static_cast<int>(std::size(kPatterns));

// Whether `value` is an enumerator of tilepost_pattern_t.
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
TILEPOST_CHECK_TABLE(tilepost_pattern_t, kPatterns, pattern, 9)
#pragma GCC diagnostic pop
static_assert(is_in_order(kPatterns, &PatternRow::pattern));

// The name in a spec.
constexpr const char* name_of(tilepost_pattern_t pattern) {
  return row_of(pattern).name;
}

// Whether runs need a route from tilepost_op_route. With routing even, the plan alone says where
// rows go.
constexpr bool is_routed(const tilepost_plan_t& plan) {
  return row_of(plan).routes() && plan.routing != TILEPOST_ROUTING_EVEN;
}

// Whether all that ranks send and receive lies in memory of the operation, so that NCCL can
// register it as windows. Routed rows of A are sent from the caller's memory. Rows of the product
// land in the caller's memory if `routed`.
constexpr bool fits_windows(const PatternRow& pattern, bool routed) {
  return !pattern.input_is_routed() && !routed;
}

// Whether kernels of few rows may exchange tiles, or rows of A (TILEPOST_ACCESS_TILES). The plan
// alone must say which ranks get a row. A row of the product goes where its pattern or an even
// routing sends it. A row of A goes to all ranks.
constexpr bool may_exchange_tiles(const PatternRow& pattern, tilepost_routing_t routing) {
  if (pattern.has_tokens()) return false;
  if (pattern.moves_input()) return !pattern.routes();
  return pattern.moves_product() && (!pattern.routes() || routing == TILEPOST_ROUTING_EVEN);
}

// Whether the kernel stores each row of a tile at the place that the run's route names for that
// row.
constexpr bool scatters_rows(const tilepost_plan_t& plan) {
  return row_of(plan).moves_product() && plan.routing == TILEPOST_ROUTING_ROWS;
}

// Whether the transport brings tokens to experts, and their sums home.
constexpr bool brings_tokens(tilepost_transport_t transport) {
  return transport == TILEPOST_TRANSPORT_NONE || transport == TILEPOST_TRANSPORT_NCCL ||
         transport == TILEPOST_TRANSPORT_COPY_ENGINE || transport == TILEPOST_TRANSPORT_PEER ||
         transport == TILEPOST_TRANSPORT_HOST;
}

// The m of the plan's runs. With any_m it is the greatest m. It counts rows of the product, or
// where rows of A are routed, each rank's rows of A.
constexpr int64_t rows_of_runs(const tilepost_plan_t& plan) {
  return row_of(plan).input_is_routed() ? plan.rows_sent : plan.map.m;
}

// Whether a run may multiply a number of rows other than map.m.
constexpr bool rows_vary(const tilepost_plan_t& plan) {
  return plan.any_m != 0 || (row_of(plan).input_is_routed() && is_routed(plan));
}

}  // namespace tilepost

#endif  // TILEPOST_PATTERNS_H
