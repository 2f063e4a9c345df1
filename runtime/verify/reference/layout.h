// The place of an element of the result in `out`, and the tile, position and group to which it
// belongs.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/map/tile_map.h"
#include "runtime/verify/reference/shape.h"
#include "tilepost/tilepost.h"

namespace tilepost::verify {

// The layout of one run's out on one rank, as docs/runtime.md describes it.
class OutputLayout {
 public:
  // `slots`: if out keeps the tile layout (gemm, gemm_all_reduce), the slots by tile row and column
  // (tilepost_op_info_t::rows in host memory). Otherwise it is empty.
  OutputLayout(const Problem& problem, const RunShape& shape, int rank,
               std::vector<int32_t> slots = {});

  int64_t offset(int64_t row, int64_t col) const;
  int64_t elements() const { return elements_; }

 private:
  struct Block {
    int64_t first_row, rows;
  };
  const Block& block_of(int64_t row) const;

  int64_t n_, tile_m_, tile_n_, columns_;
  bool slabs_ = false;         // whether each block is divided into slabs of one tile column
  std::vector<Block> blocks_;  // by the rank that the rows come from
  std::vector<int32_t> slots_;
  int64_t elements_;
};

struct Place {
  int64_t first_row, first_col;  // the tile's place in the product
  int position;                  // the tile's position in the schedule
  int group;
};

// Finds the tile of a rank's schedule that computes an element. Only messages about differences
// need it, so the index is made on first use.
class TileIndex {
 public:
  TileIndex() = default;
  // `rank`: the rank whose product has the elements.
  TileIndex(const tilepost_plan_t& plan, const RunShape& shape, int rank)
      : plan_(&plan), shape_(&shape), rank_(rank) {}

  Place place(int64_t row, int64_t col) const;

 private:
  struct Entry {
    int64_t first_row;
    int position, group;
  };
  void build() const;

  const tilepost_plan_t* plan_ = nullptr;
  const RunShape* shape_ = nullptr;
  int rank_ = 0;
  // Ranks compare side by side, so the first thread that needs the index makes it.
  struct Index {
    std::once_flag once;
    std::vector<std::vector<Entry>> columns;  // by tile column; sorted by first row
  };
  std::shared_ptr<Index> index_ = std::make_shared<Index>();
};

// The slots of a run, by tile row and tile column, made by the runtime's code.
std::vector<int32_t> slots_of(const tilepost_plan_t& plan, int rank, int64_t m);

}  // namespace tilepost::verify
