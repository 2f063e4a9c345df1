// Patterns whose rows are those of tokens: the experts of all ranks, the experts of a token, and
// what is not there yet.
#include <fmt/format.h>

#include "generator/spec/layer.h"
#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

// Refuses what only such patterns have.
void check_without_tokens(const Spec& spec, Diagnostics& diagnostics) {
  const auto refuse = [&](const Place& where, const char* field) {
    diagnostics.error(where,
                      fmt::format("{0} is for patterns 'dispatch_grouped_gemm', "
                                  "'grouped_gemm_combine' and 'moe', whose tokens go to experts; "
                                  "got pattern {1}; remove {0}",
                                  field, quote(pattern_name(spec))));
  };
  if (spec.gemm.top.given()) refuse(spec.gemm.top.where, "gemm.top");
  if (spec.max_rows) refuse(spec.max_rows->where, "max_rows");
}

void check_numbers(const Spec& spec, Diagnostics& diagnostics) {
  const GemmSpec& gemm = spec.gemm;
  if (!gemm.top.given())
    diagnostics.error(spec.pattern.where,
                      fmt::format("pattern {} needs gemm.top, how many experts a token has; add it",
                                  quote(pattern_name(spec))));
  if (spec.ranks.value > 0 && gemm.experts.value % spec.ranks.value != 0)
    diagnostics.error(
        gemm.experts.where,
        fmt::format("gemm.experts is {0}, which {1} ranks do not divide; each rank has "
                    "as many experts as the others: use a multiple of {1}",
                    gemm.experts.value, spec.ranks.value));
  const Located<int64_t> rows = {gemm.m.value * gemm.top.value, gemm.m.where};
  if (spec.max_rows && rows.value > 0 && spec.max_rows->value > rows.value)
    diagnostics.error(
        spec.max_rows->where,
        fmt::format("max_rows must be at most gemm.m * gemm.top, {}, which is all that "
                    "there can be; got '{}'",
                    rows.value, spec.max_rows->value));
  const Located<int64_t> most = spec.max_rows ? *spec.max_rows : rows;
  constexpr int64_t kMost = INT32_MAX;
  if (most.value > kMost)
    return diagnostics.error(
        most.where, fmt::format("a rank may have {} rows, gemm.m * gemm.top, and a grouped "
                                "GEMM has at most {}; set max_rows",
                                most.value, kMost));
  const bool dispatches = row_of(spec.pattern.value).dispatches();
  check_product(most, gemm.n,
                dispatches ? "the output, max_rows * gemm.n," : "the product, max_rows * gemm.n,",
                diagnostics);
  if (!dispatches) check_product(most, gemm.k, "A, max_rows * gemm.k,", diagnostics);
}

void check_carrier(const Spec& spec, Diagnostics& diagnostics) {
  const std::optional<tilepost_transport_t> wish = spec.transport.value;
  const PatternRow& row = row_of(spec.pattern.value);
  if (!wish || brings_tokens(*wish)) return;
  diagnostics.error(spec.transport.where,
                    fmt::format("transport {} does not bring {} yet; use 'auto', 'peer', 'nccl', "
                                "'copy_engine' or 'none'",
                                quote(name_of(*wish)),
                                row.dispatches() ? "tokens to experts" : "sums of tokens home"));
}

// Refuses what the kernel that sums, or the runtime, cannot do yet.
void check_combine(const Spec& spec, Diagnostics& diagnostics) {
  const std::string pattern = quote(pattern_name(spec));
  if (spec.neighbours.value)
    diagnostics.error(spec.neighbours.where,
                      fmt::format("neighbours is not possible with pattern {}: ranks wait for each "
                                  "other's sums; remove neighbours",
                                  pattern));
  if (spec.schedule.sum.value == TILEPOST_SUM_ADDED)
    diagnostics.error(spec.schedule.sum.where,
                      fmt::format("schedule.sum 'added' is not available with pattern {}, whose "
                                  "sums have the same bits in every run; use 'staged'",
                                  pattern));
}

// Refuses what the kernel that gathers, or the runtime, cannot do yet.
void check_gather(const Spec& spec, Diagnostics& diagnostics) {
  const std::string pattern = quote(pattern_name(spec));
  if (spec.neighbours.value)
    diagnostics.error(
        spec.neighbours.where,
        fmt::format("neighbours is not possible with pattern {}: tiles are listed when "
                    "the run executes, and cannot be launched group by group; remove neighbours",
                    pattern));
  for (const Located<tilepost_epilogue_op_t>& operation : spec.gemm.epilogue)
    if (operation.value == TILEPOST_SCALE_ROWS)
      diagnostics.error(
          operation.where,
          fmt::format("gemm.epilogue: 'scale_rows' is not available with pattern {}: "
                      "the scales of tokens would have to move with them; use 'scale'",
                      pattern));
}

}  // namespace

void check_dispatch(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.pattern.given()) return;
  const PatternRow& row = row_of(spec.pattern.value);
  if (!row.has_tokens()) return check_without_tokens(spec, diagnostics);
  check_numbers(spec, diagnostics);
  check_carrier(spec, diagnostics);
  if (row.dispatches())
    check_gather(spec, diagnostics);
  else
    check_combine(spec, diagnostics);
}

}  // namespace tilepost
