#include "runtime/verify/reference/layout.h"

#include <algorithm>

#include "runtime/map/patterns.h"
#include "runtime/schedule/run_map.h"

namespace tilepost::verify {

OutputLayout::OutputLayout(const Problem& problem, const RunShape& shape, int rank,
                           std::vector<int32_t> slots)
    : n_(problem.n),
      tile_m_(problem.tile_m),
      tile_n_(problem.tile_n),
      columns_((problem.n + problem.tile_n - 1) / problem.tile_n),
      slots_(std::move(slots)) {
  const int64_t rows = shape.out_rows(rank);
  elements_ = rows * n_;
  const bool scatters = row_of(problem.pattern).out_is_share();
  slabs_ = problem.layout == TILEPOST_TILE && problem.consumer == TILEPOST_CONSUMER_NONE &&
           row_of(problem.pattern).product_leaves();
  if (!slots_.empty())
    elements_ = (int64_t{*std::max_element(slots_.begin(), slots_.end())} + tile_m_) * tile_n_;
  if (!slabs_) return;
  if (scatters) {
    blocks_.push_back({0, shape.share()});
  } else {
    int64_t first = 0;
    for (int source = 0; source < problem.ranks; ++source) {
      blocks_.push_back({first, shape.rows_from(rank, source)});
      first += blocks_.back().rows;
    }
  }
  elements_ = (blocks_.back().first_row + blocks_.back().rows) * columns_ * tile_n_;
}

const OutputLayout::Block& OutputLayout::block_of(int64_t row) const {
  const Block* block = blocks_.data();
  while (row >= block->first_row + block->rows) ++block;
  return *block;
}

int64_t OutputLayout::offset(int64_t row, int64_t col) const {
  const int64_t column = col / tile_n_, in_tile = col % tile_n_;
  if (!slots_.empty())
    return (slots_[row / tile_m_ * columns_ + column] + row % tile_m_) * tile_n_ + in_tile;
  if (!slabs_) return row * n_ + col;
  const Block& block = block_of(row);
  const int64_t line = block.first_row * columns_ + column * block.rows + (row - block.first_row);
  return line * tile_n_ + in_tile;
}

void TileIndex::build() const {
  std::vector<RouteInputs> routes;
  for (int rank = 0; rank < plan_->ranks && is_routed(*plan_); ++rank) {
    routes.push_back({shape_->a_rows(rank), 0, {}, {}});
    if (plan_->routing == TILEPOST_ROUTING_SPLITS)
      routes.back().splits = shape_->splits(rank);
    else
      routes.back().destinations = shape_->destinations(rank);
  }
  const std::unique_ptr<RunMap> run = is_routed(*plan_) ? routed_run(*plan_, rank_, routes)
                                                        : make_run_map(*plan_, rank_, shape_->m());
  std::vector<std::vector<Entry>>& columns = index_->columns;
  columns.resize(tiles_n(run->map()));
  for (size_t t = 0; t < run->tiles.tiles.size(); ++t) {
    const tilepost_tile_t& tile = run->tiles.tiles[t];
    if (tile.row >= 0)
      columns[tile.n / run->map().tile_n].push_back({tile.m, static_cast<int>(t), tile.group});
  }
  for (std::vector<Entry>& column : columns)
    std::sort(column.begin(), column.end(),
              [](const Entry& a, const Entry& b) { return a.first_row < b.first_row; });
}

// Finds the last tile that starts at or before the row. A tile that is cut off at the end of a
// share is followed by the first tile of the next share.
Place TileIndex::place(int64_t row, int64_t col) const {
  std::call_once(index_->once, [this] { build(); });
  const int64_t width = plan_->map.tile_n;
  const std::vector<Entry>& column = index_->columns[col / width];
  const auto after =
      std::upper_bound(column.begin(), column.end(), row,
                       [](int64_t value, const Entry& entry) { return value < entry.first_row; });
  const Entry& entry = *(after - 1);
  return {entry.first_row, col / width * width, entry.position, entry.group};
}

std::vector<int32_t> slots_of(const tilepost_plan_t& plan, int rank, int64_t m) {
  return destination_rows(make_run_map(plan, rank, m)->tiles);
}

}  // namespace tilepost::verify
