#include "runtime/verify/layout.h"

namespace tilepost::verify {

OutputLayout::OutputLayout(const tilepost_plan_t& plan, std::vector<int32_t> rows)
    : map_(plan.map),
      columns_(tiles_n(plan.map)),
      rows_(std::move(rows)),
      tile_map_(build_tile_map(plan.map)) {}

Place OutputLayout::place(int64_t row, int64_t col) const {
  const int m = static_cast<int>(row / map_.tile_m), n = static_cast<int>(col / map_.tile_n);
  const int position = tile_map_.positions[static_cast<size_t>(m) * columns_ + n];
  return {m, n, position, tile_map_.tiles[position].group};
}

}  // namespace tilepost::verify
