// Outputs of 8 bits with scales of blocks (tilepost_plan_t::quantised).
#ifndef TILEPOST_QUANTISED_H
#define TILEPOST_QUANTISED_H

#include <cstdint>

#include "runtime/map/patterns.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/block_scales.h"
#include "tilepost/plan.h"

namespace tilepost {

// The type of `out`. tilepost_plan_t::output is that of the product.
constexpr tilepost_dtype_t type_of_out(const tilepost_plan_t& plan) {
  return plan.quantised != 0 ? TILEPOST_E4M3 : plan.output;
}

// Whether the kernel's epilogue quantises the tiles that it stores. If not, a quantised output
// comes from the consumer.
constexpr bool quantises_tiles(const tilepost_plan_t& plan) {
  return plan.quantised != 0 && plan.consumer == TILEPOST_CONSUMER_NONE;
}

// Whether a kernel that ranks exchange rows with can quantise the tiles that it stores, if it has
// to: kernels of few rows (TILEPOST_ACCESS_TILES) cannot.
constexpr bool may_quantise(const PatternRow& row, tilepost_access_t access) {
  return row.moves_product() || access != TILEPOST_ACCESS_TILES;
}

// Whether the plan's kernel or its consumer can quantise the output, if it is quantised. Products
// that stay on their rank are quantised in rows by the kernel, others by a consumer. Kernels of
// experts, and those of few rows, quantise none. On GPUs rows of out are a multiple of 16 bytes, as
// TMA needs.
constexpr bool quantises_as_it_may(const tilepost_plan_t& plan) {
  if (plan.quantised == 0) return plan.consumer != TILEPOST_CONSUMER_QUANTISE;
  const PatternRow& row = row_of(plan);
  const bool wide_enough = plan.kernel.launch == TILEPOST_LAUNCH_HOST || plan.map.n % 16 == 0;
  if (plan.quantised != 1 || row.has_experts() || !may_quantise(row, plan.access) || !wide_enough)
    return false;
  if (!row.sums && plan.consumer != TILEPOST_CONSUMER_RMS_NORM &&
      plan.consumer != TILEPOST_CONSUMER_RESIDUAL_RMS_NORM && plan.map.layout != TILEPOST_PANEL)
    return false;
  if (plan.consumer == TILEPOST_CONSUMER_NONE) return !row.moves_product();
  if (plan.consumer == TILEPOST_CONSUMER_QUANTISE) return row.moves_product();
  return plan.consumer != TILEPOST_CONSUMER_UNPERMUTE;
}

// How far apart the scales of `rows` rows of out lie. They lie as scales of A do for the GEMM that
// reads this output.
constexpr ScaleSteps scale_steps_of_out(const tilepost_plan_t& plan, int64_t rows) {
  return scale_steps_of_a(plan.scales_out == TILEPOST_SCALES_COLUMNS, rows, plan.map.n);
}

// The bytes of a row of out, its scales included.
constexpr int64_t bytes_of_row_of_out(const tilepost_plan_t& plan) {
  const int64_t scales = plan.quantised != 0 ? scale_blocks(plan.map.n) : 0;
  return plan.map.n * element_bytes(type_of_out(plan)) +
         scales * static_cast<int64_t>(sizeof(float));
}

// The number of elements that scales of `rows` rows and `columns` columns reach over. Padding
// behind the last one does not count.
constexpr int64_t reach_of_scales(const ScaleSteps& steps, int64_t rows, int64_t columns) {
  if (rows == 0) return 0;
  return (rows - 1) * steps.row + (scale_blocks(columns) - 1) * steps.block + 1;
}

}  // namespace tilepost

#endif  // TILEPOST_QUANTISED_H
