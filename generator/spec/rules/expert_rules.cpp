#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "generator/spec/layer.h"
#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost {
namespace {

using Operation = Located<tilepost_epilogue_op_t>;

// The operation of the epilogue that combines gate and up, or null.
const Operation* gate_operation(const Spec& spec) {
  const auto& epilogue = spec.gemm.epilogue;
  const auto found =
      std::ranges::find_if(epilogue, [](const Operation& op) { return combines_gate(op.value); });
  return found == epilogue.end() ? nullptr : &*found;
}

// Refuses what only experts have.
void check_without_experts(const Spec& spec, Diagnostics& diagnostics) {
  const auto refuse = [&](const Place& where, const std::string& what, const char* remedy) {
    diagnostics.error(where, fmt::format("{} is for patterns 'dispatch_grouped_gemm', "
                                         "'grouped_gemm', 'grouped_gemm_combine' and 'moe'; got "
                                         "pattern {}; {}",
                                         what, quote(pattern_name(spec)), remedy));
  };
  if (spec.gemm.experts.given())
    refuse(spec.gemm.experts.where, "gemm.experts", "remove gemm.experts or set the pattern");
  if (spec.gemm.gate.given())
    refuse(spec.gemm.gate.where, "gemm.gate", "remove gemm.gate or set the pattern");
  if (const Operation* operation = gate_operation(spec))
    refuse(operation->where,
           fmt::format("gemm.epilogue: {}, which combines two sums of each element,",
                       quote(name_of(operation->value))),
           "remove it, or use grouped_gemm with 'experts: 1'");
}

void check_gate(const Spec& spec, Diagnostics& diagnostics) {
  const GemmSpec& gemm = spec.gemm;
  const Operation* const operation = gate_operation(spec);
  if (operation == nullptr) {
    if (gemm.gate.given())
      diagnostics.error(
          gemm.gate.where,
          "gemm.gate says where B has its rows of gate and of up, but no operation of "
          "gemm.epilogue combines these; add swiglu, geglu, swiglu_clamped or "
          "bilinear, or remove gemm.gate");
    return;
  }
  if (gemm.layout.value == TILEPOST_NN && gemm.gate.value == TILEPOST_GATE_INTERLEAVED)
    diagnostics.error(gemm.gate.where,
                      "gemm.gate 'interleaved' is not possible with gemm.layout 'nn': TMA loads "
                      "neighbouring columns of B together; use 'halves', or store B as [n, k]");
}

// Refuses sizes beyond what tensor maps and offsets hold.
void check_size_of_b(const GemmSpec& gemm, int epilogue, Diagnostics& diagnostics) {
  const int64_t rows = rows_of_expert(epilogue, gemm.n.value);
  constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max();
  if (gemm.n.value <= 0 || gemm.experts.value <= 0) return;
  if (rows > kMostRows / gemm.experts.value) {
    diagnostics.error(gemm.experts.where,
                      fmt::format("B has {} experts of {} rows each; all experts together have at "
                                  "most {} rows",
                                  gemm.experts.value, rows, kMostRows));
    return;
  }
  check_product({rows * gemm.experts.value, gemm.experts.where}, gemm.k,
                "B, of all experts together, times gemm.k,", diagnostics);
}

void check_with_experts(const Spec& spec, Diagnostics& diagnostics) {
  const GemmSpec& gemm = spec.gemm;
  if (!gemm.experts.given())
    diagnostics.error(spec.pattern.where,
                      fmt::format("pattern {} needs gemm.experts, the number of B; add it",
                                  quote(pattern_name(spec))));
  for (const Operation& operation : gemm.epilogue)
    if (operation.value == TILEPOST_RESIDUAL && !row_of(spec.pattern.value).combines())
      diagnostics.error(operation.where,
                        fmt::format("gemm.epilogue: 'residual' is not available with pattern {}, "
                                    "whose rows are routes and not tokens; add it where the routes "
                                    "of a token are summed",
                                    quote(pattern_name(spec))));
  if (spec.kernel)
    diagnostics.error(spec.kernel->where,
                      "a kernel of your own cannot have experts yet; remove 'kernel', or use "
                      "pattern 'gemm' for each expert");
  int epilogue = 0;
  for (const Operation& operation : gemm.epilogue) epilogue |= operation.value;
  check_gate(spec, diagnostics);
  check_size_of_b(gemm, epilogue, diagnostics);
}

}  // namespace

void check_experts(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.pattern.given()) return;
  if (row_of(spec.pattern.value).has_experts())
    check_with_experts(spec, diagnostics);
  else
    check_without_experts(spec, diagnostics);
}

}  // namespace tilepost
