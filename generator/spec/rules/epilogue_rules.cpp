#include <fmt/format.h>

#include <algorithm>

#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost {
namespace {

using Operation = Located<tilepost_epilogue_op_t>;

std::string quoted(tilepost_epilogue_op_t operation) {
  return quote(name_of(operation));
}

// The operation's place in the order of an epilogue. Alternatives, such as gelu and silu, share a
// place.
int place_of(tilepost_epilogue_op_t operation) {
  switch (operation) {
    case TILEPOST_SCALE:
    case TILEPOST_SCALE_ROWS:
      return 0;
    case TILEPOST_SCALE_COLUMNS:
      return 1;
    case TILEPOST_BIAS:
      return 2;
    case TILEPOST_GELU:
    case TILEPOST_SILU:
    case TILEPOST_SWIGLU:
    case TILEPOST_GEGLU:
    case TILEPOST_SWIGLU_CLAMPED:
    case TILEPOST_BILINEAR:
      return 3;
    case TILEPOST_RESIDUAL:
      break;
  }
  return 4;
}

bool excludes(tilepost_epilogue_op_t x, tilepost_epilogue_op_t y) {
  if (x > y) return excludes(y, x);
  constexpr int kActivations = TILEPOST_GELU | TILEPOST_SILU | kGateOps;
  return (x == TILEPOST_SCALE && (y == TILEPOST_SCALE_ROWS || y == TILEPOST_SCALE_COLUMNS)) ||
         (x != y && (x & kActivations) != 0 && (y & kActivations) != 0);
}

// "[scale, bias, gelu]"
std::string in_order(std::vector<Operation> operations) {
  std::stable_sort(
      operations.begin(), operations.end(),
      [](const Operation& x, const Operation& y) { return place_of(x.value) < place_of(y.value); });
  std::vector<std::string_view> names;
  for (const Operation& operation : operations) names.push_back(name_of(operation.value));
  return fmt::format("[{}]", join(names));
}

// Reports only the first fault of each kind, because further ones usually have the same cause.
void check_order(const std::vector<Operation>& operations, Diagnostics& diagnostics) {
  for (size_t i = 0; i < operations.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (excludes(operations[j].value, operations[i].value)) {
        diagnostics.error(operations[i].where,
                          fmt::format("gemm.epilogue has both {} and {}, of which there can be one",
                                      quoted(operations[j].value), quoted(operations[i].value)));
        return;
      }
  for (size_t i = 1; i < operations.size(); ++i) {
    if (place_of(operations[i].value) >= place_of(operations[i - 1].value)) continue;
    diagnostics.error(operations[i].where,
                      fmt::format("gemm.epilogue: {} comes before {} in the kernels; write {}",
                                  quoted(operations[i].value), quoted(operations[i - 1].value),
                                  in_order(operations)));
    return;
  }
}

void check_before_sum(const Operation& operation, int64_t ranks, Diagnostics& diagnostics) {
  switch (operation.value) {
    case TILEPOST_GELU:
    case TILEPOST_SILU:
      diagnostics.error(
          operation.where,
          fmt::format("gemm.epilogue: '{0}' before a sum over ranks gives a wrong "
                      "result, because {0}(x) + {0}(y) != {0}(x + y); apply it to the "
                      "output of the collective",
                      name_of(operation.value)));
      return;
    case TILEPOST_RESIDUAL:
      diagnostics.error(
          operation.where,
          fmt::format(
              "gemm.epilogue: 'residual' before a sum over ranks is added on every rank, {} "
              "times in all; add it to the output of the collective",
              ranks));
      return;
    default:
      return;
  }
}

}  // namespace

void check_epilogue(const Spec& spec, Diagnostics& diagnostics) {
  check_order(spec.gemm.epilogue, diagnostics);
  // The operations of experts apply to each of a token's rows, before they are summed. A residual
  // is added to the token's sum.
  if (spec.pattern.given() && row_of(spec.pattern.value).sums &&
      !row_of(spec.pattern.value).combines())
    for (const Operation& operation : spec.gemm.epilogue)
      check_before_sum(operation, spec.ranks.value, diagnostics);
}

}  // namespace tilepost
