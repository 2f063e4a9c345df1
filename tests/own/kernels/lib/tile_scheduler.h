// A scheduler that each block calls again and again: it says which tile comes next.
#pragma once

#include <tilepost/mark.cuh>

namespace lib {

template <int kRows, int kColumns>
class TileScheduler {
 public:
  __device__ TileScheduler(int m, int n)
      : grid_{(m + kRows - 1) / kRows, (n + kColumns - 1) / kColumns, kRows, kColumns, 1, 4},
        position_(blockIdx.x) {}

  __device__ bool next(tilepost::Tile& tile);
  __device__ const tilepost::TileGrid& grid() const { return grid_; }

 private:
  __device__ int end() const { return tilepost::num_tiles(grid_); }

  tilepost::TileGrid grid_;
  int position_;
};

template <int kRows, int kColumns>
__device__ bool TileScheduler<kRows, kColumns>::next(tilepost::Tile& tile) {
  if (position_ >= end()) return false;
  tile = tilepost::tile(grid_, position_);
  position_ += gridDim.x;
  return true;
}

}  // namespace lib
