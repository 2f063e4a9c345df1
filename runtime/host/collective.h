// The in-process collective's arithmetic, and the pass that undoes the tile layout.
#pragma once

#include <cstdint>

#include "tilepost/plan.h"
#include "tilepost/tile_map.h"

namespace tilepost {

// Rank `rank`'s part of an AllReduce of `count` elements from `offset` on: sums its share of the
// block over the ranks' buffers, in fp32 and in the order of the ranks, rounds once, and writes the
// sum to every buffer. The ranks' shares are disjoint and cover the block.
void reduce_share(tilepost_dtype_t type, void* const* buffers, int ranks, int rank, int64_t offset,
                  int64_t count);

// Copies a group's tiles from slot order to the row-major output. Elements are two bytes.
void unpermute_group(const tilepost_map_t& map, const TileMap& tile_map,
                     const tilepost_group_t& group, const void* slots, void* out);

}  // namespace tilepost
