#include "runtime/host/collective.h"

#include <algorithm>
#include <cstring>

#include "tilepost/numeric.h"

namespace tilepost {
namespace {

constexpr int kChunk = 256;

template <class T>
void reduce_range(void* const* buffers, int ranks, int64_t begin, int64_t end) {
  float sum[kChunk];
  T rounded[kChunk];
  for (int64_t first = begin; first < end; first += kChunk) {
    const int length = static_cast<int>(std::min<int64_t>(kChunk, end - first));
    for (int i = 0; i < length; ++i)
      sum[i] = to_float(static_cast<const T*>(buffers[0])[first + i]);
    for (int rank = 1; rank < ranks; ++rank) {
      const T* term = static_cast<const T*>(buffers[rank]) + first;
      for (int i = 0; i < length; ++i) sum[i] += to_float(term[i]);
    }
    for (int i = 0; i < length; ++i) rounded[i] = from_float<T>(sum[i]);
    for (int rank = 0; rank < ranks; ++rank)
      std::memcpy(static_cast<T*>(buffers[rank]) + first, rounded, length * sizeof(T));
  }
}

}  // namespace

void reduce_share(tilepost_dtype_t type, void* const* buffers, int ranks, int rank, int64_t offset,
                  int64_t count) {
  const int64_t begin = offset + count * rank / ranks;
  const int64_t end = offset + count * (rank + 1) / ranks;
  if (type == TILEPOST_BF16)
    reduce_range<Bf16>(buffers, ranks, begin, end);
  else
    reduce_range<F16>(buffers, ranks, begin, end);
}

void unpermute_group(const tilepost_map_t& map, const TileMap& tile_map,
                     const tilepost_group_t& group, const void* slots, void* out) {
  const auto* source = static_cast<const uint16_t*>(slots);
  auto* destination = static_cast<uint16_t*>(out);
  for (int t = group.first_tile; t < group.first_tile + group.num_tiles; ++t) {
    const tilepost_tile_t& tile = tile_map.tiles[t];
    if (tile.row < 0) continue;
    const int64_t first_row = int64_t{tile.m} * map.tile_m;
    const int64_t first_col = int64_t{tile.n} * map.tile_n;
    const int64_t rows = std::min<int64_t>(map.tile_m, map.m - first_row);
    const int64_t cols = std::min<int64_t>(map.tile_n, map.n - first_col);
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(destination + (first_row + row) * map.n + first_col,
                  source + (tile.row + row) * map.tile_n, cols * sizeof(uint16_t));
  }
}

}  // namespace tilepost
