// The tile map: from a tilepost_map_t to the schedule and its groups.
//
// The generator plans and verifies with this code, the runtime uploads what it makes, and the two
// compare by hash. It knows nothing of CUDA or of files.
#ifndef TILEPOST_TILE_MAP_H
#define TILEPOST_TILE_MAP_H

#include <cstdint>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost {

struct TileMap {
  std::vector<tilepost_tile_t> tiles;    // the schedule
  std::vector<int32_t> positions;        // [tiles_m * tiles_n] position of tile m * tiles_n + n
  std::vector<tilepost_group_t> groups;  // [map.num_groups]
  int64_t send_elements = 0;             // elements of the send buffer (the output, or all slots)
};

// Tile rows and columns that cover the output.
int tiles_m(const tilepost_map_t& map);
int tiles_n(const tilepost_map_t& map);

// Builds the schedule. Requires a valid map: all sizes positive, cuts strictly increasing, the last
// one covering the output, and in the panel layout every cut but the last a multiple of cluster.
TileMap build_tile_map(const tilepost_map_t& map);

// The destination row of every tile m * tiles_n + n, for who reads slots.
std::vector<int32_t> destination_rows(const TileMap& tile_map);

// FNV-1a over tiles and groups: equal hashes mean generator and runtime mean the same schedule.
uint64_t hash_tile_map(const TileMap& tile_map);

}  // namespace tilepost

#endif  // TILEPOST_TILE_MAP_H
