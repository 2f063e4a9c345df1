// The tiles of a grouped GEMM (PatternRow::has_experts): which tile comes at which position of the
// schedule. Rows of A are sorted by expert, and how many rows an expert has is known on the device
// alone. So there is no table of tiles: kernels, the host target and tests compute tiles with this
// code, from the ends of the experts' rows.
//
// An expert's rows are cut into as few tile rows of at most tile_m rows as there can be. They are
// equally high, but for a unit, because CTAs that compute some of them at the same time go on
// together. An expert without rows has no tile. The tiles of an expert follow those of the expert
// before it, and are swept in bands, as TileGrid's are.
#ifndef TILEPOST_EXPERT_TILES_H
#define TILEPOST_EXPERT_TILES_H

#include "tilepost/mark.cuh"

namespace tilepost {

// The most experts of a kernel.
constexpr int kMostExperts = 512;

// The bytes of a CTA's table of experts (ExpertTable), whole lines of 128 bytes.
constexpr int kExpertTableBytes = ((kMostExperts + 1) * 8 + 127) / 128 * 128;

// The bytes of a consumer's scales in shared memory: one for each row of its tile, and one for each
// of its 128 rows of B.
TILEPOST_INLINE constexpr int expert_scale_bytes(int tile_m) {
  return (tile_m + 128) * 4;
}

// A unit of rows. Tile rows that are not the last one of an expert have whole units.
constexpr int kExpertUnit = 16;

// Rows [first, first + count) of an expert, counted from the expert's first row.
struct ExpertRows {
  int first, count;
};

TILEPOST_INLINE constexpr int count_tile_rows(int rows, int tile_m) {
  return (rows + tile_m - 1) / tile_m;
}

// Tile row `index` of an expert with `rows` rows. The first ones have a unit more than the others.
// tile_m is a multiple of kExpertUnit.
TILEPOST_INLINE constexpr ExpertRows tile_row_at(int rows, int tile_m, int index) {
  const int count = count_tile_rows(rows, tile_m), units = (rows + kExpertUnit - 1) / kExpertUnit;
  const int each = units / count, more = units % count;  // as many tile rows have a unit more
  const int first = (index * each + (index < more ? index : more)) * kExpertUnit;
  const int height = (each + (index < more ? 1 : 0)) * kExpertUnit;
  return {first, rows - first < height ? rows - first : height};
}

// The most tile rows that m rows of A have, however experts divide them.
TILEPOST_INLINE constexpr long long most_tile_rows(long long m, long long experts, int tile_m) {
  const long long parts = m < experts ? m : experts;  // experts that have rows
  return parts + (m - parts) / tile_m;
}

// What the schedule depends on besides the experts' rows.
struct ExpertGrid {
  int experts, columns;  // tile columns
  int tile_m, band;      // tile rows of an expert that are swept together
};

// A tile: `rows` rows of A from `row` on, times tile column `column` of the expert's B.
struct ExpertTile {
  int expert;
  int row, rows;
  int column;
  int group;  // that brings the last of its rows, where they arrive during the kernel; or the panel
};

// The tile at a position of some tile rows that are swept in bands, every other band backwards.
struct SweptTile {
  int tile_row, column;
};
TILEPOST_INLINE constexpr SweptTile swept_tile(int tile_rows, int columns, int band, int position) {
  const int band_tiles = band * columns;
  const int number = position / band_tiles, in_band = position - number * band_tiles;
  const int first = number * band;
  const int height = tile_rows - first < band ? tile_rows - first : band;
  const int across = in_band / height;
  return {first + in_band - across * height, number % 2 == 0 ? across : columns - 1 - across};
}

// The tile at `position`, 0 <= position < table.tile_rows(experts) * columns. `table` says for each
// expert e, and for e = experts, how many tile rows the experts before e have (tile_rows(e)) and
// how many rows (rows(e)).
template <class Table>
TILEPOST_INLINE ExpertTile expert_tile(const ExpertGrid& grid, const Table& table, int position) {
  const int tile_row = position / grid.columns;
  int expert = 0;
  for (int behind = grid.experts; behind - expert > 1;) {
    const int middle = (expert + behind) / 2;
    if (table.tile_rows(middle) <= tile_row)
      expert = middle;
    else
      behind = middle;
  }
  const int before = table.tile_rows(expert), count = table.tile_rows(expert + 1) - before;
  const SweptTile tile =
      swept_tile(count, grid.columns, grid.band, position - before * grid.columns);
  const int begin = table.rows(expert);
  const ExpertRows rows = tile_row_at(table.rows(expert + 1) - begin, grid.tile_m, tile.tile_row);
  return {expert, begin + rows.first, rows.count, tile.column, 0};
}

}  // namespace tilepost

#endif  // TILEPOST_EXPERT_TILES_H
