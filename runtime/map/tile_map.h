// The tile map, built from a tilepost_map_t: the schedule and its groups.
//
// The generator plans and verifies with this code. The runtime builds its tables with it and
// uploads them. Generator and runtime compare their maps by hash. The code knows nothing of CUDA or
// of files.
#ifndef TILEPOST_TILE_MAP_H
#define TILEPOST_TILE_MAP_H

#include <cstdint>
#include <span>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost {

struct TileMap {
  std::vector<tilepost_tile_t> tiles;  // the schedule
  std::vector<int32_t> positions;      // [map_tile_rows * tiles_n] position by tile row and column,
                                       // -1 if there is none
  std::vector<tilepost_group_t> groups;  // [map.num_groups]
  int64_t send_elements = 0;             // elements of the send buffer, into which the kernel
                                         // stores
};

// What the schedule depends on besides the map.
struct MapInputs {
  int rank = 0;  // ARRIVALS: the rank whose share is computed first. SHARES with stagger: the rank
                 // whose share comes last
  std::span<const int64_t> splits;  // [ranks] rows of each share, which sum to m. SHARES: rows that
                                    // go to each rank. ARRIVALS: rows that come from each rank. If
                                    // empty, shares are equal
};

// The number of tile rows, and of tile columns, that cover m x n.
int tiles_m(const tilepost_map_t& map);
int tiles_n(const tilepost_map_t& map);

// share_rows is the number of rows of an equal share, ceil(m / ranks). first_row_of_rank is the row
// at which the share of `rank` begins, and rows_of_rank is the number of its rows. The last ranks
// have what is left, which may be nothing.
int64_t share_rows(const tilepost_map_t& map);
int64_t first_row_of_rank(const tilepost_map_t& map, int rank);
int64_t rows_of_rank(const tilepost_map_t& map, int rank);

// The number of tile rows of an equal share, and of the whole map. With SHARES tile row t of rank
// r's share has the number r * share_tiles + t. With other divisions tile rows are cut without
// regard to shares.
int share_tiles(const tilepost_map_t& map);
int map_tile_rows(const tilepost_map_t& map);

// ARRIVALS: the number of tile rows that cuts count: those of one share, or with round_robin those
// of all other ranks' shares.
int arriving_tiles(const tilepost_map_t& map);

// COLUMNS: the number of rows of a slab. A slab has room for all shares and for whole tiles.
int64_t slab_rows(const tilepost_map_t& map);

// SHARES: the tile rows [first, end) of the share of `rank` that `group` has. With `splits` the
// cuts divide each share in proportion to its size.
struct SharePart {
  int64_t first, end;
};
SharePart share_part(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                     int rank);

// ARRIVALS, group > 0: the tile rows of the share of `source` that arrive at `rank` in `group`.
// `source` and `rank` differ. If first == end, there are none. `splits` are those of `rank`. With
// `splits` the cuts divide each share in proportion to its size.
SharePart arriving_part(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                        int source, int rank);

// ARRIVALS: [groups] the number of tile rows of `rank`'s schedule in each group, without padding.
std::vector<int> arriving_rows(const tilepost_map_t& map, int rank);

// The map with `stagger` has the same groups, tiles and destinations as the map without it. Only
// the order inside a group differs. A group is computed in bands, and each band has an equal part
// of every share. In a band the shares take turns, a few tile rows at a time, beginning with the
// next rank's share. After every `stagger` positions, the columns of a band begin with another
// share, so that a CTA does not always have tiles of the same owner. In the last group the rank's
// own share follows all others.
//
// A map with `turn` too has one group, and again only its order differs. `turn` tiles of the next
// rank's share come first, then `turn` tiles of the share behind that, and so on. Tiles of the
// rank's own share come last in a turn: those that belong to the turn `lag` turns before. A last
// turn has what is left of each share. So an owner computes a tile at the same position as every
// other rank computes that tile, or at a later one. A kernel that waits for the other ranks' tiles
// at its own tile therefore never waits for a kernel that waits for it
// (docs/internals/owner-sums.md).
//
// Builds the schedule. The map must be valid:
//
// - All sizes are positive.
// - Cuts strictly increase (ARRIVALS: from 0), and the last one covers the rows, columns or
//   positions that cuts count. Cuts in tile rows, but for the last one, are multiples of cluster.
// - stagger >= 0; it is 0 for all divisions but SHARES.
// - turn >= 0, and a multiple of cluster; it is 0 without stagger or with several groups.
// - lag >= 0.
// - round_robin is 0 or 1; it is 0 for all divisions but ARRIVALS.
//
// With splits, m may be 0, and the cuts with ARRIVALS may be those of another m. With SHARES and
// splits, `positions` is empty.
TileMap build_tile_map(const tilepost_map_t& map, const MapInputs& inputs = {});

// Whether the cuts of a map are as build_tile_map requires.
bool cuts_are_valid(const tilepost_map_t& map);

// The destination row of every tile, by tile row and tile column, for a consumer that reads slots.
// It is -1 where there is no tile.
std::vector<int32_t> destination_rows(const TileMap& tile_map);

// FNV-1a over tiles and groups. If the generator's and the runtime's hashes are equal, both have
// the same schedule.
uint64_t hash_tile_map(const TileMap& tile_map);

}  // namespace tilepost

#endif  // TILEPOST_TILE_MAP_H
