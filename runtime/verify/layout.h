// Where an element of the result lies in `out`, and which tile, position and group it belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "tilepost/tile_map.h"
#include "tilepost/tilepost.h"

namespace tilepost::verify {

struct Place {
  int tile_m, tile_n;
  int position;  // in the schedule
  int group;
};

class OutputLayout {
 public:
  // `rows` is tilepost_op_info_t::rows in host memory; empty where the output is row-major.
  OutputLayout(const tilepost_plan_t& plan, std::vector<int32_t> rows);

  int64_t offset(int64_t row, int64_t col) const {
    if (rows_.empty()) return row * map_.n + col;
    const int64_t tile = row / map_.tile_m * columns_ + col / map_.tile_n;
    return (rows_[tile] + row % map_.tile_m) * map_.tile_n + col % map_.tile_n;
  }
  Place place(int64_t row, int64_t col) const;

 private:
  tilepost_map_t map_;
  int columns_;
  std::vector<int32_t> rows_;
  TileMap tile_map_;
};

}  // namespace tilepost::verify
