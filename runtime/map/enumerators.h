// The enumerations of a plan: a table for each, with a row for each enumerator. Code that reads,
// checks, prints or lists enumerators uses these tables. Patterns (patterns.h) and dtypes
// (tilepost/dtype.h) need more columns and have tables of their own.
#ifndef TILEPOST_ENUMERATORS_H
#define TILEPOST_ENUMERATORS_H

#include <cstdlib>
#include <span>

#include "tilepost/internal/enumerators.h"
#include "tilepost/plan.h"

namespace tilepost {

template <class Enum>
struct Enumerator {
  Enum value;
  const char* c_name;       // how C spells the enumerator
  const char* name;         // the name in a spec, in a plan's JSON and in messages
  const char* description;  // one line for lists that users read
};

namespace enumerators {

inline constexpr Enumerator<tilepost_routing_t> kRoutings[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_ROUTING_EVEN), "even", "equal parts of consecutive rows"},
    {TILEPOST_ENUMERATOR(TILEPOST_ROUTING_SPLITS), "splits",
     "consecutive rows, whose number is set at run time"},
    {TILEPOST_ENUMERATOR(TILEPOST_ROUTING_ROWS), "rows", "a rank for every row, set at run time"},
};
inline constexpr Enumerator<tilepost_division_t> kDivisions[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_DIVISION_ROWS), "rows", "a band of rows, or a run of slots"},
    {TILEPOST_ENUMERATOR(TILEPOST_DIVISION_SHARES), "shares", "the same part of every share"},
    {TILEPOST_ENUMERATOR(TILEPOST_DIVISION_COLUMNS), "columns", "tile columns, slabs of slots"},
    {TILEPOST_ENUMERATOR(TILEPOST_DIVISION_ARRIVALS), "arrivals", "rows that arrive together"},
};
inline constexpr Enumerator<tilepost_operands_t> kOperands[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_TN), "tn", "B is [n, k]"},
    {TILEPOST_ENUMERATOR(TILEPOST_NN), "nn", "B is [k, n]"},
};
inline constexpr Enumerator<tilepost_accumulate_t> kAccumulates[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_PRECISE), "precise", "in fp32 at least every 128 products"},
    {TILEPOST_ENUMERATOR(TILEPOST_FAST), "fast", "in the tensor cores' accumulator"},
};
inline constexpr Enumerator<tilepost_scales_t> kScales[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_SCALES_NONE), "none", "elements stand for themselves"},
    {TILEPOST_ENUMERATOR(TILEPOST_SCALES_BLOCKS), "blocks",
     "a scale for 128 elements of a row of A, and for 128 x 128 of B"},
};
inline constexpr Enumerator<tilepost_scales_order_t> kScalesOrders[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_SCALES_ROWS), "rows", "the scales of a row follow each other"},
    {TILEPOST_ENUMERATOR(TILEPOST_SCALES_COLUMNS), "columns",
     "the scales of a block of all rows follow each other"},
};
inline constexpr Enumerator<tilepost_epilogue_op_t> kEpilogueOps[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_SCALE), "scale", "by one number for A and one for B"},
    {TILEPOST_ENUMERATOR(TILEPOST_SCALE_ROWS), "scale_rows", "by a number for each row"},
    {TILEPOST_ENUMERATOR(TILEPOST_SCALE_COLUMNS), "scale_columns", "by a number for each column"},
    {TILEPOST_ENUMERATOR(TILEPOST_BIAS), "bias", "plus a number for each column"},
    {TILEPOST_ENUMERATOR(TILEPOST_GELU), "gelu", "GELU, by the error function"},
    {TILEPOST_ENUMERATOR(TILEPOST_SILU), "silu", "SiLU"},
    {TILEPOST_ENUMERATOR(TILEPOST_RESIDUAL), "residual", "plus a number for each element"},
    {TILEPOST_ENUMERATOR(TILEPOST_SWIGLU), "swiglu", "silu(gate) * up"},
    {TILEPOST_ENUMERATOR(TILEPOST_GEGLU), "geglu", "gelu(gate) * up, by the error function"},
    {TILEPOST_ENUMERATOR(TILEPOST_SWIGLU_CLAMPED), "swiglu_clamped",
     "g * sigmoid(1.702 g) * (u + 1) of clamped gate and up"},
    {TILEPOST_ENUMERATOR(TILEPOST_BILINEAR), "bilinear", "gate * up"},
};
inline constexpr Enumerator<tilepost_gate_t> kGates[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_GATE_HALVES), "halves", "all rows of gate, then all of up"},
    {TILEPOST_ENUMERATOR(TILEPOST_GATE_INTERLEAVED), "interleaved",
     "a row of gate, then one of up"},
};
inline constexpr Enumerator<tilepost_layout_t> kLayouts[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_PANEL), "panel", "row-major; groups are bands of whole rows"},
    {TILEPOST_ENUMERATOR(TILEPOST_TILE), "tile", "one column of tiles in slot order"},
};
inline constexpr Enumerator<tilepost_transport_t> kTransports[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_TRANSPORT_NONE), "none", "the whole GEMM, then one collective"},
    {TILEPOST_ENUMERATOR(TILEPOST_TRANSPORT_NCCL), "nccl",
     "a stock NCCL collective per group; in process on the host target"},
    {TILEPOST_ENUMERATOR(TILEPOST_TRANSPORT_HOST), "host", "threads of one process"},
    {TILEPOST_ENUMERATOR(TILEPOST_TRANSPORT_NCCL_SYMMETRIC), "nccl_symmetric",
     "the same out of symmetric windows, with fewer SMs"},
    {TILEPOST_ENUMERATOR(TILEPOST_TRANSPORT_COPY_ENGINE), "copy_engine",
     "copy engines read the other ranks' memory, with hardly any SM"},
    {TILEPOST_ENUMERATOR(TILEPOST_TRANSPORT_PEER), "peer",
     "the kernel stores into the memory of the rank that owns the rows"},
    {TILEPOST_ENUMERATOR(TILEPOST_TRANSPORT_PEER_TILES), "peer_tiles",
     "of few rows: kernels exchange tiles with those of the other ranks"},
    {TILEPOST_ENUMERATOR(TILEPOST_TRANSPORT_HOST_COPIES), "host_copies",
     "copy engines carry messages through pinned host memory, for GPUs without peer access"},
};
inline constexpr Enumerator<tilepost_access_t> kAccesses[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_ACCESS_MESSAGES), "messages", "both sides take part"},
    {TILEPOST_ENUMERATOR(TILEPOST_ACCESS_READ), "read", "the rank that needs something copies it"},
    {TILEPOST_ENUMERATOR(TILEPOST_ACCESS_WRITE), "write", "the kernel stores where rows belong"},
    {TILEPOST_ENUMERATOR(TILEPOST_ACCESS_TILES), "tiles", "kernels exchange tiles one by one"},
};
inline constexpr Enumerator<tilepost_shots_t> kShots[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_SHOTS_NONE), "none", "no kernels exchange tiles"},
    {TILEPOST_ENUMERATOR(TILEPOST_ONE_SHOT), "one", "tiles go to all ranks that get them"},
    {TILEPOST_ENUMERATOR(TILEPOST_TWO_SHOT), "two", "tiles go to one rank, and sums to all"},
    {TILEPOST_ENUMERATOR(TILEPOST_ONE_SHOT_LINES), "lines", "one shot, with flags in the data"},
};
inline constexpr Enumerator<tilepost_sum_t> kSums[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_SUM_STAGED), "staged", "side by side, then in the ranks' order"},
    {TILEPOST_ENUMERATOR(TILEPOST_SUM_ADDED), "added", "to one another as they arrive"},
};
inline constexpr Enumerator<tilepost_wait_t> kWaits[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_WAIT_POLL), "poll", "a one-warp kernel polls"},
    {TILEPOST_ENUMERATOR(TILEPOST_WAIT_STREAM), "stream", "cuStreamWaitValue32"},
};
inline constexpr Enumerator<tilepost_consumer_t> kConsumers[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_CONSUMER_NONE), "none", "the output stays as it arrives"},
    {TILEPOST_ENUMERATOR(TILEPOST_CONSUMER_UNPERMUTE), "unpermute", "tiles are made row-major"},
    {TILEPOST_ENUMERATOR(TILEPOST_CONSUMER_RMS_NORM), "rms_norm", "rows are normalised"},
    {TILEPOST_ENUMERATOR(TILEPOST_CONSUMER_RESIDUAL_RMS_NORM), "residual_rms_norm",
     "the residual is added, then rows are normalised"},
    {TILEPOST_ENUMERATOR(TILEPOST_CONSUMER_QUANTISE), "quantise", "rows are rounded to 8 bits"},
};
inline constexpr Enumerator<tilepost_launch_t> kLaunches[] = {
    {TILEPOST_ENUMERATOR(TILEPOST_LAUNCH_TMA), "tma", "tensor maps"},
    {TILEPOST_ENUMERATOR(TILEPOST_LAUNCH_POINTERS), "pointers", "pointers"},
    {TILEPOST_ENUMERATOR(TILEPOST_LAUNCH_HOST), "host", "tilepost_host_kernel_t"},
    {TILEPOST_ENUMERATOR(TILEPOST_LAUNCH_CUSTOM), "custom", "what its launcher gives it"},
};

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
TILEPOST_CHECK_TABLE(tilepost_routing_t, kRoutings, value, 3)
TILEPOST_CHECK_TABLE(tilepost_division_t, kDivisions, value, 4)
TILEPOST_CHECK_TABLE(tilepost_operands_t, kOperands, value, 2)
TILEPOST_CHECK_TABLE(tilepost_accumulate_t, kAccumulates, value, 2)
TILEPOST_CHECK_TABLE(tilepost_scales_t, kScales, value, 2)
TILEPOST_CHECK_TABLE(tilepost_scales_order_t, kScalesOrders, value, 2)
TILEPOST_CHECK_TABLE(tilepost_epilogue_op_t, kEpilogueOps, value, 11)
TILEPOST_CHECK_TABLE(tilepost_gate_t, kGates, value, 2)
TILEPOST_CHECK_TABLE(tilepost_layout_t, kLayouts, value, 2)
TILEPOST_CHECK_TABLE(tilepost_transport_t, kTransports, value, 8)
TILEPOST_CHECK_TABLE(tilepost_access_t, kAccesses, value, 4)
TILEPOST_CHECK_TABLE(tilepost_shots_t, kShots, value, 4)
TILEPOST_CHECK_TABLE(tilepost_sum_t, kSums, value, 2)
TILEPOST_CHECK_TABLE(tilepost_wait_t, kWaits, value, 2)
TILEPOST_CHECK_TABLE(tilepost_consumer_t, kConsumers, value, 5)
TILEPOST_CHECK_TABLE(tilepost_launch_t, kLaunches, value, 4)
#pragma GCC diagnostic pop

}  // namespace enumerators

// The table of an enumeration, as overloads, so that templates find the table by type.
// clang-format off
constexpr auto table_of(tilepost_routing_t) { return std::span(enumerators::kRoutings); }
constexpr auto table_of(tilepost_division_t) { return std::span(enumerators::kDivisions); }
constexpr auto table_of(tilepost_operands_t) { return std::span(enumerators::kOperands); }
constexpr auto table_of(tilepost_accumulate_t) { return std::span(enumerators::kAccumulates); }
constexpr auto table_of(tilepost_scales_t) { return std::span(enumerators::kScales); }
constexpr auto table_of(tilepost_scales_order_t) { return std::span(enumerators::kScalesOrders); }
constexpr auto table_of(tilepost_epilogue_op_t) { return std::span(enumerators::kEpilogueOps); }
constexpr auto table_of(tilepost_gate_t) { return std::span(enumerators::kGates); }
constexpr auto table_of(tilepost_layout_t) { return std::span(enumerators::kLayouts); }
constexpr auto table_of(tilepost_transport_t) { return std::span(enumerators::kTransports); }
constexpr auto table_of(tilepost_access_t) { return std::span(enumerators::kAccesses); }
constexpr auto table_of(tilepost_shots_t) { return std::span(enumerators::kShots); }
constexpr auto table_of(tilepost_sum_t) { return std::span(enumerators::kSums); }
constexpr auto table_of(tilepost_wait_t) { return std::span(enumerators::kWaits); }
constexpr auto table_of(tilepost_consumer_t) { return std::span(enumerators::kConsumers); }
constexpr auto table_of(tilepost_launch_t) { return std::span(enumerators::kLaunches); }
// clang-format on

template <class Enum>
concept HasTable = requires(Enum value) {
  table_of(value);
};

// Whether the table is in the order of its enumerators. All tables above are, except that of the
// epilogue's operations, whose values are bits.
template <HasTable Enum>
constexpr bool kIsInOrder = [] {
  const auto table = table_of(Enum{});
  for (size_t i = 0; i < table.size(); ++i)
    if (static_cast<size_t>(table[i].value) != i) return false;
  return true;
}();
static_assert(kIsInOrder<tilepost_routing_t> && kIsInOrder<tilepost_division_t> &&
              kIsInOrder<tilepost_operands_t> && kIsInOrder<tilepost_accumulate_t> &&
              kIsInOrder<tilepost_gate_t> && kIsInOrder<tilepost_scales_t> &&
              kIsInOrder<tilepost_scales_order_t> && kIsInOrder<tilepost_layout_t> &&
              kIsInOrder<tilepost_transport_t> && kIsInOrder<tilepost_access_t> &&
              kIsInOrder<tilepost_shots_t> && kIsInOrder<tilepost_sum_t> &&
              kIsInOrder<tilepost_wait_t> && kIsInOrder<tilepost_consumer_t> &&
              kIsInOrder<tilepost_launch_t>);

template <HasTable Enum>
constexpr int count_enumerators() {
  return static_cast<int>(table_of(Enum{}).size());
}

template <HasTable Enum>
constexpr const Enumerator<Enum>& row_of(Enum value) {
  for (const Enumerator<Enum>& row : table_of(value))
    if (row.value == value) return row;
  std::abort();  // the plan has been checked, and each enumerator has a row
}

// The name in specs and messages, such as "rows".
template <HasTable Enum>
constexpr const char* name_of(Enum value) {
  return row_of(value).name;
}

// The name of the enumerator in C, such as "TILEPOST_ROUTING_ROWS".
template <HasTable Enum>
constexpr const char* c_name(Enum value) {
  return row_of(value).c_name;
}

}  // namespace tilepost

#endif  // TILEPOST_ENUMERATORS_H
