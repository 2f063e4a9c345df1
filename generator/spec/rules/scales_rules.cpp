#include <fmt/format.h>

#include "generator/spec/names.h"
#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"
#include "runtime/map/moved_scales.h"

namespace tilepost {
namespace {

bool is_scale(tilepost_epilogue_op_t operation) {
  constexpr int kScales = TILEPOST_SCALE | TILEPOST_SCALE_ROWS | TILEPOST_SCALE_COLUMNS;
  return (operation & kScales) != 0;
}

// Reports what is given at `where` and does not go with scales of blocks.
void refuse(const Spec& spec, Place where, const std::string& text, Diagnostics& diagnostics) {
  diagnostics.error(where, text);
  if (where.begin != spec.gemm.scales.where.begin)
    diagnostics.note(spec.gemm.scales.where, "gemm.scales is given here");
}

// The scale of a block stands for the whole number, so one more for a row, a column or all would
// only be multiplied into it.
void check_operands(const Spec& spec, Diagnostics& diagnostics) {
  const GemmSpec& gemm = spec.gemm;
  const Place where = gemm.scales.where;
  if (!row_of(gemm.a.value).is_narrow())
    refuse(spec, where,
           fmt::format("gemm.scales 'blocks' is for {}, got gemm.a {}; remove gemm.scales",
                       dtypes_with<&DtypeRow::is_narrow>("and"), quote(name_of(gemm.a.value))),
           diagnostics);
  if (gemm.accumulate.value == TILEPOST_FAST)
    refuse(spec, gemm.accumulate.where,
           "gemm.accumulate 'fast' is not possible with scales of blocks: the products of each "
           "block are scaled and added in fp32; remove gemm.accumulate",
           diagnostics);
  for (const Located<tilepost_epilogue_op_t>& operation : gemm.epilogue)
    if (is_scale(operation.value))
      refuse(spec, operation.where,
             fmt::format("gemm.epilogue: {} is not possible with scales of blocks, which scale all "
                         "products already; multiply it into the scales of A, and remove it",
                         quote(name_of(operation.value))),
             diagnostics);
}

void check_kernels(const Spec& spec, Diagnostics& diagnostics) {
  const Place where = spec.gemm.scales.where;
  if (spec.kernel)
    refuse(
        spec, where,
        "gemm.scales is for the bundled kernels; your own scales as it does, and gets its scales "
        "as kernel.arguments; remove gemm.scales",
        diagnostics);
  for (const Arch arch : spec.archs.value)
    if (arch != Arch::sm_90a && arch != Arch::host)
      refuse(spec, where,
             fmt::format("gemm.scales 'blocks' is not available on {}; use sm_90a or host",
                         name_of(arch)),
             diagnostics);
  if (spec.pattern.given() && row_of(spec.pattern.value).has_experts())
    refuse(spec, where,
           fmt::format("gemm.scales 'blocks' is not available with pattern {}; use scale_rows and "
                       "scale_columns in gemm.epilogue",
                       quote(row_of(spec.pattern.value).name)),
           diagnostics);
}

// Where rows of A move, their scales move with them, as rows of their own.
void check_moved(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.pattern.given() || !row_of(spec.pattern.value).moves_input()) return;
  if (spec.gemm.scales_a.value == TILEPOST_SCALES_COLUMNS)
    refuse(spec, spec.gemm.scales_a.where,
           fmt::format("gemm.scales_a 'columns' is not possible with pattern {}: the scales of A "
                       "move with its rows, and in columns each rank's would lie between those of "
                       "other ranks; use 'rows', the default",
                       quote(row_of(spec.pattern.value).name)),
           diagnostics);
  const std::optional<tilepost_transport_t> transport = spec.transport.value;
  if (transport && !brings_scales(*transport))
    refuse(spec, spec.transport.where,
           fmt::format("transport {} does not move the scales of blocks with the rows of A; use "
                       "'auto', 'nccl', 'copy_engine', 'peer', 'peer_tiles' or 'none'",
                       quote(name_of(*transport))),
           diagnostics);
}

}  // namespace

void check_scales(const Spec& spec, Diagnostics& diagnostics) {
  const GemmSpec& gemm = spec.gemm;
  if (gemm.scales.value == TILEPOST_SCALES_BLOCKS) {
    if (gemm.a.given()) check_operands(spec, diagnostics);
    check_kernels(spec, diagnostics);
    check_moved(spec, diagnostics);
  } else if (gemm.scales_a.given()) {
    diagnostics.error(gemm.scales_a.where,
                      fmt::format("gemm.scales_a {} says how scales of blocks lie, and there are "
                                  "none; set gemm.scales to 'blocks', or remove gemm.scales_a",
                                  quote(name_of(gemm.scales_a.value))));
  }
}

}  // namespace tilepost
