#include "generator/spec/layer.h"

#include <utility>

#include "generator/spec/names.h"

namespace tilepost {
namespace {

// Multiplies the rows of the first half, whose columns are the inner size of an expert, by a matrix
// that gives rows as wide as tokens are.
Spec second_half(const Spec& spec) {
  Spec second = spec;
  second.layer.reset();
  second.half = Half::second;
  second.pattern.value = TILEPOST_GROUPED_GEMM_COMBINE;
  std::swap(second.gemm.n, second.gemm.k);
  second.gemm.gate = {};
  second.gemm.epilogue.clear();
  for (const Located<tilepost_epilogue_op_t>& operation : spec.gemm.epilogue)
    if (operation.value == TILEPOST_BIAS) second.gemm.epilogue.push_back(operation);
  if (spec.layer->residual) second.gemm.epilogue.push_back(*spec.layer->residual);
  return second;
}

Spec first_half(const Spec& spec) {
  Spec first = spec;
  first.layer.reset();
  first.half = Half::first;
  return first;
}

}  // namespace

const char* name_of(Half half) {
  switch (half) {
    case Half::first:
      return "first";
    case Half::second:
      return "second";
    case Half::none:
      break;
  }
  return "";
}

std::string_view pattern_name(const Spec& spec) {
  const bool layer = spec.layer || spec.half != Half::none;
  return layer ? kLayerPattern.text : std::string_view(name_of(spec.pattern.value));
}

void note_second_half(const Spec& spec, Diagnostics& diagnostics) {
  diagnostics.note(spec.pattern.where,
                   "in the second half of the layer, whose gemm.n is the spec's gemm.k, and whose "
                   "gemm.k is its gemm.n");
}

std::vector<Spec> operations_of(const Spec& spec) {
  if (!spec.layer) return {spec};
  return {first_half(spec), second_half(spec)};
}

}  // namespace tilepost
