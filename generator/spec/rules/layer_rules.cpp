// What a layer of experts has no place for. What each half rules out by itself is checked of the
// half.
#include <fmt/format.h>

#include <algorithm>

#include "generator/spec/names.h"
#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

using Operation = Located<tilepost_epilogue_op_t>;

bool is_scale(const Operation& operation) {
  constexpr int kScales = TILEPOST_SCALE | TILEPOST_SCALE_ROWS | TILEPOST_SCALE_COLUMNS;
  return (operation.value & kScales) != 0;
}

// The rows between the halves are the output of one and A of the other.
void check_types(const GemmSpec& gemm, Diagnostics& diagnostics) {
  const DtypeRow& a = row_of(gemm.a.value);
  if (gemm.a.given() && !a.may_be_output())
    diagnostics.error(
        gemm.a.where,
        fmt::format("gemm.a {} is not available with pattern {}: the rows between its "
                    "halves would have to be quantised; use {}",
                    quote(a.name), quote(kLayerPattern.text),
                    dtypes_with<&DtypeRow::is_bundled_output>("or")));
  if (gemm.out.given() && gemm.out.value != gemm.a.value)
    diagnostics.error(
        gemm.out.where,
        fmt::format("gemm.out must be gemm.a with pattern {}, {}; got {}; remove it",
                    quote(kLayerPattern.text), a.name, quote(name_of(gemm.out.value))));
}

}  // namespace

void check_layer(Spec& spec, Diagnostics& diagnostics) {
  const int errors = diagnostics.errors();
  check_epilogue(spec, diagnostics);
  check_types(spec.gemm, diagnostics);
  std::vector<Operation>& epilogue = spec.gemm.epilogue;
  if (const auto scale = std::ranges::find_if(epilogue, is_scale); scale != epilogue.end())
    diagnostics.error(scale->where,
                      fmt::format("gemm.epilogue: {} is not available with pattern {}, whose "
                                  "matrices have no scales; remove it",
                                  quote(name_of(scale->value)), quote(kLayerPattern.text)));
  if (diagnostics.errors() != errors) return;
  const auto residual = std::ranges::find(epilogue, TILEPOST_RESIDUAL, &Operation::value);
  if (residual == epilogue.end()) return;
  spec.layer->residual = *residual;
  epilogue.erase(residual);
}

}  // namespace tilepost
