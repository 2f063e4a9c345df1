#include "runtime/core/operands.h"

#include <cinttypes>
#include <cmath>
#include <cstring>

#include "runtime/core/error.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/quantised.h"
#include "runtime/map/run_path.h"
#include "runtime/map/tile_map.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/block_scales.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost {
namespace {

constexpr char kEpilogue[] = "epilogue", kConsumer[] = "consumer", kKernel[] = "kernel",
               kPattern[] = "pattern", kScales[] = "scales", kOutput[] = "output type";

// The number of rows of a rank's share, where the run's `m` rows are divided over all ranks.
int64_t share_of(const tilepost_plan_t& plan, int rank, int64_t m) {
  tilepost_map_t map{};
  map.m = m;
  map.ranks = plan.ranks;
  return rows_of_rank(map, rank);
}

// Whether two operands share a byte. An operand of unknown size counts with its first byte alone.
bool lie_over(const RunOperand& one, const RunOperand& other) {
  const auto begin = reinterpret_cast<uintptr_t>(one.pointer);
  const auto begin_of_other = reinterpret_cast<uintptr_t>(other.pointer);
  const auto size = [](const RunOperand& operand) {
    return operand.bytes == RunOperand::kUnknownBytes ? 1 : static_cast<uintptr_t>(operand.bytes);
  };
  return begin < begin_of_other + size(other) && begin_of_other < begin + size(one);
}

// The columns of all products that B gives, of all experts together. Scales of columns and bias
// have as many elements.
int64_t columns_of_b(const tilepost_plan_t& plan) {
  if (!row_of(plan).has_experts()) return plan.map.n;
  return plan.experts * rows_of_expert(plan.epilogue, plan.map.n);
}

// A kernel of the user's may read B in a form of its own, whose size is not in the plan.
int64_t bytes_of_b(const tilepost_plan_t& plan) {
  const bool ours =
      plan.kernel.launch == TILEPOST_LAUNCH_TMA || plan.kernel.launch == TILEPOST_LAUNCH_POINTERS;
  return ours ? columns_of_b(plan) * plan.k * element_bytes(plan.input) : RunOperand::kUnknownBytes;
}

}  // namespace

RowsOfRank rows_of_rank_in(const tilepost_plan_t& plan, int rank, int64_t m) {
  const PatternRow& row = row_of(plan);
  const int64_t share = row.communicates() ? share_of(plan, rank, m) : m;
  if (row.input_is_routed()) return {m, plan.ranks * share, plan.ranks * share};
  if (row.moves_input()) return {share, m, most_rows_in(plan, m), share};
  if (row.combines()) return {most_rows_in(plan, m), most_rows_in(plan, m), share, share};
  if (row.product_is_routed()) return {m, m, plan.ranks * share};
  return {m, m, row.out_is_share() ? share : m};
}

RowsOfRank rows_of_rank_in(const tilepost_plan_t& plan, int rank, const RunMap& routed) {
  const bool input = row_of(plan).input_is_routed();
  return {routed.m, routed.rows, input ? routed.rows : routed.counts.arriving(rank)};
}

tilepost_result_t check_alignment(const char* name, const void* pointer, size_t alignment) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (address % alignment == 0) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "%s must be a multiple of %zu bytes, got 0x%" PRIxPTR ", which is %" PRIuPTR
              " bytes past one",
              name, alignment, address, address % alignment);
}

RunOperands::RunOperands(const tilepost_plan_t& plan, int rank, const RowsOfRank& rows,
                         const tilepost_run_operands_t& operands)
    : given_(operands),
      product_stays_(!row_of(plan).product_leaves() && !keeps_tiles(plan) && plan.quantised == 0) {
  add_matrices(plan, rows);
  add_scales(plan, rows);
  add_scales_of_out(plan, rows);
  add_epilogue(plan, rank, rows);
  add_consumer(plan, rows);
  add_user_data(plan, rows);
  const int64_t row_of_a = plan.k * element_bytes(plan.input);
  if (row_of(plan).moves_input() && operands.gathered != nullptr)
    add({"gathered", operands.gathered, kVectorAlignment, rows.product * row_of_a, "", true});
  const MovedScales moved = moved_scales(plan);
  if (moved.exist() && operands.gathered_scales != nullptr)
    add({"gathered_scales", operands.gathered_scales, alignof(float),
         moved.bytes_of(rows.product * plan.k), "", true});
}

void RunOperands::add(const RunOperand& operand) {
  if (operand.is_used()) list_[count_++] = operand;
}

// In the tile layout `out` may have padding, even where the rank has no rows.
void RunOperands::add_matrices(const tilepost_plan_t& plan, const RowsOfRank& rows) {
  const int64_t width = plan.map.n * element_bytes(type_of_out(plan));
  int64_t out = rows.out * width;
  if (out == 0 && keeps_tiles(plan) && rows.product > 0) out = RunOperand::kUnknownBytes;
  add({"a", given_.a, kVectorAlignment, rows.a * plan.k * element_bytes(plan.input), ""});
  add({"b", given_.b, kVectorAlignment, rows.product > 0 ? bytes_of_b(plan) : 0, ""});
  add({"out", given_.out, kVectorAlignment, out, "", true});
  if (plan.pattern == TILEPOST_GROUPED_GEMM && rows.product > 0)
    add({"expert_ends", given_.expert_ends, alignof(int32_t),
         int64_t{plan.experts} * static_cast<int64_t>(sizeof(int32_t)), kPattern});
}

// A plan with scales of blocks has no others. Where rows of A move, a rank brings the scales of the
// rows that it brings.
void RunOperands::add_scales(const tilepost_plan_t& plan, const RowsOfRank& rows) {
  if (plan.scales == TILEPOST_SCALES_NONE) return;
  for_kernel_.scale_a = given_.scale_a;
  for_kernel_.scale_b = given_.scale_b;
  const int64_t m = moved_scales(plan).exist() ? rows.a : rows.product;
  const int64_t along_k = scale_blocks(plan.k);
  const ScaleSteps a = scale_steps_of_a(plan.scales_a == TILEPOST_SCALES_COLUMNS, m, plan.k);
  const int64_t of_a = reach_of_scales(a, m, plan.k);
  const int64_t of_b = rows.product > 0 ? scale_blocks(plan.map.n) * along_k : 0;
  constexpr auto kBytes = static_cast<int64_t>(sizeof(float));
  add({"scale_a", given_.scale_a, alignof(float), of_a * kBytes, kScales});
  add({"scale_b", given_.scale_b, alignof(float), of_b * kBytes, kScales});
}

// The kernel's operand is set where a consumer quantises, too, and then not read.
void RunOperands::add_scales_of_out(const tilepost_plan_t& plan, const RowsOfRank& rows) {
  if (plan.quantised == 0) return;
  const ScaleSteps steps = scale_steps_of_out(plan, rows.out);
  for_kernel_.out_scales = given_.out_scales;
  for_kernel_.out_scale_row = steps.row;
  for_kernel_.out_scale_block = steps.block;
  const int64_t count = reach_of_scales(steps, rows.out, plan.map.n);
  add({"out_scales", given_.out_scales, alignof(float), count * static_cast<int64_t>(sizeof(float)),
       kOutput, true});
}

// Where ranks sum their products, only rank 0 adds the bias. Experts have biases of their own.
void RunOperands::add_epilogue(const tilepost_plan_t& plan, int rank, const RowsOfRank& rows) {
  const int ops = plan.epilogue;
  const int64_t product = rows.product, columns = product > 0 ? columns_of_b(plan) : 0;
  const int64_t output = element_bytes(plan.output);
  constexpr auto kScale = static_cast<int64_t>(sizeof(float));
  const auto scale = [&](int flag, const char* name, const float* pointer, int64_t count,
                         const float*& kernel_pointer) {
    if ((ops & (TILEPOST_SCALE | flag)) == 0) return;
    kernel_pointer = pointer;
    if ((ops & flag) == 0) count = product > 0 ? 1 : 0;
    add({name, pointer, alignof(float), count * kScale, kEpilogue});
  };
  const auto more = [&](int flag, const char* name, const void* pointer, int64_t elements,
                        const void*& kernel_pointer) {
    if ((ops & flag) == 0) return;
    kernel_pointer = pointer;
    add({name, pointer, kVectorAlignment, elements * output, kEpilogue});
  };
  scale(TILEPOST_SCALE_ROWS, "scale_a", given_.scale_a, product, for_kernel_.scale_a);
  scale(TILEPOST_SCALE_COLUMNS, "scale_b", given_.scale_b, columns, for_kernel_.scale_b);
  if (!row_of(plan).sums || row_of(plan).combines() || rank == 0)
    more(TILEPOST_BIAS, "bias", given_.bias, columns, for_kernel_.bias);
  const int64_t residual = row_of(plan).combines() ? rows.out : product;
  more(TILEPOST_RESIDUAL, "residual", given_.residual, residual * plan.map.n, for_kernel_.residual);
}

void RunOperands::add_consumer(const tilepost_plan_t& plan, const RowsOfRank& rows) {
  if (!normalises(plan)) return;
  const int64_t width = plan.map.n * element_bytes(plan.output);
  add({"norm_weight", given_.norm_weight, kVectorAlignment, rows.out > 0 ? width : 0, kConsumer});
  epsilon_ = given_.norm_epsilon;
  if (plan.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM)
    add({"norm_residual", given_.norm_residual, kVectorAlignment, rows.out * width, kConsumer,
         true});
}

void RunOperands::add_user_data(const tilepost_plan_t& plan, const RowsOfRank& rows) {
  if (rows.product == 0) return;
  const auto* const user = static_cast<const void* const*>(given_.user);
  for (int i = 0; i < plan.kernel.num_user; ++i)
    add({plan.kernel.user[i], user == nullptr ? nullptr : user[i], kVectorAlignment,
         RunOperand::kUnknownBytes, kKernel});
}

tilepost_result_t RunOperands::check() const {
  for (const RunOperand& operand : list()) {
    if (operand.pointer != nullptr) continue;
    if (operand.reader[0] == '\0')
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "%s is null, but this rank has rows of it in the run; it may be null only where "
                  "no row of it is read or written",
                  operand.name);
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s is null, but the plan's %s reads it; pass it to tilepost_op_run_with",
                operand.name, operand.reader);
  }
  if (!std::isfinite(epsilon_) || epsilon_ < 0)
    return fail(TILEPOST_INVALID_ARGUMENT, "norm_epsilon must be finite and at least 0, got %g",
                static_cast<double>(epsilon_));
  for (const RunOperand& operand : list())
    TILEPOST_TRY(check_alignment(operand.name, operand.pointer, operand.alignment));
  return check_apart();
}

// Other operands are read while the run writes.
tilepost_result_t RunOperands::check_apart() const {
  for (const RunOperand& written : list()) {
    if (!written.written) continue;
    for (const RunOperand& other : list()) {
      if (&other == &written || !lie_over(written, other) || may_overlap(written, other)) continue;
      const bool residual = product_stays_ && std::strcmp(other.name, "residual") == 0;
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "%s at %p overlaps %s at %p, which the run %s while it writes %s; pass %s",
                  written.name, written.pointer, other.name, other.pointer,
                  other.written ? "writes too" : "reads", written.name,
                  residual ? "the residual itself, or memory of its own" : "memory of its own");
    }
  }
  return TILEPOST_OK;
}

tilepost_result_t RunOperands::check_apart_from(const RunOperands& other,
                                                const void* between) const {
  for (const RunOperand& written : list())
    for (const RunOperand& theirs : other.list())
      if (written.written && written.pointer != between && lie_over(written, theirs))
        return fail(TILEPOST_INVALID_ARGUMENT,
                    "%s at %p overlaps %s at %p, which another part of the run %s; pass memory of "
                    "its own",
                    written.name, written.pointer, theirs.name, theirs.pointer,
                    theirs.written ? "writes too" : "reads");
  return TILEPOST_OK;
}

void RunOperands::rename(const char* name, const char* as) {
  for (size_t i = 0; i < count_; ++i)
    if (std::strcmp(list_[i].name, name) == 0) list_[i].name = as;
}

// A thread that computes an element of the output reads the residual's element, and nobody else
// does. So they may be one matrix where the element is stored in the same place. Consumers write
// rows of finished tiles alone.
bool RunOperands::may_overlap(const RunOperand& written, const RunOperand& other) const {
  if (std::strcmp(written.name, "gathered") == 0 && std::strcmp(other.name, "a") == 0) return true;
  return product_stays_ && written.pointer == other.pointer &&
         std::strcmp(other.name, "residual") == 0 && std::strcmp(written.name, "gathered") != 0;
}

bool RunOperands::uses(const char* name) const {
  for (const RunOperand& operand : list())
    if (std::strcmp(operand.name, name) == 0) return true;
  return false;
}

tilepost_run_operands_t RunOperands::with_place(void* place) const {
  tilepost_run_operands_t operands = given_;
  if (!uses("a")) operands.a = place;
  if (!uses("b")) operands.b = place;
  if (!uses("out")) operands.out = place;
  return operands;
}

tilepost_result_t check_gathered(const tilepost_plan_t& plan,
                                 const tilepost_run_operands_t& operands, const RunMap& run) {
  if (operands.gathered == nullptr || !row_of(plan).moves_input()) return TILEPOST_OK;
  const bool routed = row_of(plan).input_is_routed();
  const auto row = static_cast<uintptr_t>(plan.k * element_bytes(plan.input));
  const auto brought = static_cast<uintptr_t>(routed ? run.m : run.own.count);
  const int64_t first = run.own.first;
  const auto a = reinterpret_cast<uintptr_t>(operands.a);
  const auto all = reinterpret_cast<uintptr_t>(operands.gathered);
  const bool in_place = !routed && a == all + static_cast<uintptr_t>(first) * row;
  if (in_place || a >= all + static_cast<uintptr_t>(run.rows) * row || a + brought * row <= all)
    return TILEPOST_OK;
  if (routed)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "a overlaps gathered, where other ranks' rows arrive while a is read; pass memory "
                "of its own");
  return fail(TILEPOST_INVALID_ARGUMENT,
              "a overlaps gathered, but is not this rank's rows in it, which begin at row %" PRId64,
              first);
}

// In plans for one number of rows, 0 has always been this number: callers need not set m. Routed
// runs have the rows of their route.
tilepost_result_t rows_of_run(const tilepost_plan_t& plan, int64_t asked, int64_t routed,
                              int64_t& rows) {
  const int64_t most = rows_of_runs(plan);
  const bool varies = plan.any_m != 0 && !is_routed(plan);
  const bool planned = asked == TILEPOST_PLANNED_M || (asked == 0 && !varies);
  rows = planned ? most : asked;
  if (is_routed(plan)) {
    if (routed < 0)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "the plan's rows are routed at run time; call tilepost_op_route before the first "
                  "run");
    rows = routed;
    if (planned || asked == routed) return TILEPOST_OK;
    return fail(TILEPOST_INVALID_ARGUMENT,
                "m is %" PRId64 ", the route has %" PRId64
                " rows; pass TILEPOST_PLANNED_M (-1), or set another route",
                asked, routed);
  }
  if (rows == most || (varies && rows >= 0 && rows <= most)) return TILEPOST_OK;
  if (varies)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "m must be from 0 to %" PRId64 ", or TILEPOST_PLANNED_M (-1) for %" PRId64
                ", got %" PRId64,
                most, most, asked);
  return fail(TILEPOST_INVALID_ARGUMENT,
              "m is %" PRId64 ", the plan is for %" PRId64
              " rows only; generate it with 'm: {max: …}' for any number of them",
              asked, most);
}

tilepost_result_t find_overlap(const tilepost_plan_t& plan, int64_t asked, const RunMap* routed,
                               bool& overlaps) {
  int64_t rows = 0;
  TILEPOST_TRY(rows_of_run(plan, asked, routed != nullptr ? routed->m : -1, rows));
  overlaps = is_routed(plan) ? routed->overlaps : run_overlaps(plan, rows);
  return TILEPOST_OK;
}

}  // namespace tilepost
