#include <fmt/format.h>

#include "generator/spec/names.h"
#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"
#include "runtime/map/quantised.h"
#include "runtime/map/run_path.h"

namespace tilepost {
namespace {

// Reports what does not go with an output of 8 bits, at `where`.
void refuse(const Spec& spec, Place where, const std::string& text, Diagnostics& diagnostics) {
  diagnostics.error(where, text);
  if (where.begin != spec.gemm.out.where.begin)
    diagnostics.note(spec.gemm.out.where, "gemm.out is given here");
}

std::string asked(const Spec& spec) {
  return "gemm.out " + quote(name_of(spec.gemm.out.value));
}

void check_pattern_of_quantised(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.pattern.given()) return;
  const PatternRow& row = row_of(spec.pattern.value);
  if (row.has_experts())
    refuse(
        spec, spec.gemm.out.where,
        fmt::format("{} is not available with pattern {}, whose kernel quantises no rows; use {} "
                    "and quantise behind the run",
                    asked(spec), quote(row.name), dtypes_with<&DtypeRow::is_half>("or")),
        diagnostics);
  const bool norms = spec.consumer.value == TILEPOST_CONSUMER_RMS_NORM ||
                     spec.consumer.value == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  if (!row.sums && !norms && spec.schedule.layout.value == TILEPOST_TILE)
    refuse(
        spec, spec.schedule.layout.where,
        fmt::format("schedule.layout 'tile' is not possible with {} and pattern {}: only sums over "
                    "ranks, and norms, are quantised out of tiles; use 'panel' or 'auto'",
                    asked(spec), quote(row.name)),
        diagnostics);
  if (const auto transport = spec.transport.value;
      transport && !may_quantise(row, access_of(*transport)))
    refuse(spec, spec.transport.where,
           fmt::format("transport {} is not possible with {} and pattern {}: kernels of few rows "
                       "round what they store to 16 bits; use 'auto' or another transport",
                       quote(name_of(*transport)), asked(spec), quote(row.name)),
           diagnostics);
}

void check_kernels(const Spec& spec, Diagnostics& diagnostics) {
  const Place where = spec.gemm.out.where;
  if (spec.kernel)
    refuse(spec, where,
           fmt::format("{} is for the bundled kernels, which store the scales of its blocks too; "
                       "use {}",
                       asked(spec), dtypes_with<&DtypeRow::may_be_output>("or")),
           diagnostics);
  for (const Arch arch : spec.archs.value)
    if (arch != Arch::sm_90a && arch != Arch::host)
      refuse(
          spec, where,
          fmt::format("{} is not available on {}; use sm_90a or host", asked(spec), name_of(arch)),
          diagnostics);
}

// The columns of a tile that the kernel quantises are whole blocks.
void check_tile(const Spec& spec, Diagnostics& diagnostics) {
  const auto& tile = spec.schedule.tile;
  if (!tile || !spec.pattern.given() || row_of(spec.pattern.value).moves_product() ||
      spec.consumer.value != TILEPOST_CONSUMER_NONE)
    return;
  if (tile->value[1] % TILEPOST_SCALE_BLOCK != 0)
    refuse(spec, tile->where,
           fmt::format("tile '{}x{}' is not possible with {}, of which every {} columns of a row "
                       "have a scale: use a multiple of {} columns",
                       tile->value[0], tile->value[1], asked(spec), TILEPOST_SCALE_BLOCK,
                       TILEPOST_SCALE_BLOCK),
           diagnostics);
}

}  // namespace

void check_quantised(const Spec& spec, Diagnostics& diagnostics) {
  const GemmSpec& gemm = spec.gemm;
  if (row_of(gemm.out.value).is_narrow()) {
    check_pattern_of_quantised(spec, diagnostics);
    check_kernels(spec, diagnostics);
    check_tile(spec, diagnostics);
  } else if (gemm.scales_out.given()) {
    diagnostics.error(
        gemm.scales_out.where,
        fmt::format("gemm.scales_out {} says how scales of an output of 8 bits lie, and gemm.out "
                    "is {}; set gemm.out to 'e4m3', or remove gemm.scales_out",
                    quote(name_of(gemm.scales_out.value)), quote(name_of(gemm.out.value))));
  }
}

}  // namespace tilepost
