// The tile map: from a tilepost_map_t to the schedule and its groups.
//
// The generator plans and verifies with this code, the runtime uploads what it makes, and the two
// compare by hash. It knows nothing of CUDA or of files.
#ifndef TILEPOST_TILE_MAP_H
#define TILEPOST_TILE_MAP_H

#include <cstdint>
#include <span>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost {

struct TileMap {
  std::vector<tilepost_tile_t> tiles;  // the schedule
  std::vector<int32_t> positions;      // [map_tile_rows * tiles_n] position by tile row and column
  std::vector<tilepost_group_t> groups;  // [map.num_groups]
  int64_t send_elements = 0;             // elements of the send buffer: where the kernel stores
};

// What else a map may depend on.
struct MapInputs {
  int rank = 0;  // ARRIVALS: whose share is computed first; SHARES with stagger: whose comes last
  std::span<const int64_t> splits;  // [ranks] rows of each share: SHARES: that go to each rank,
                                    // ARRIVALS: that come from each; they sum to m. Empty: equal
                                    // shares
};

// Tile rows and columns that cover m x n.
int tiles_m(const tilepost_map_t& map);
int tiles_n(const tilepost_map_t& map);

// Rows of an equal share, ceil(m / ranks); where rank's share begins, and its rows, the last ones'
// what is left.
int64_t share_rows(const tilepost_map_t& map);
int64_t first_row_of_rank(const tilepost_map_t& map, int rank);
int64_t rows_of_rank(const tilepost_map_t& map, int rank);

// Tile rows of an equal share, and of the whole map: with SHARES tile row t of rank r's share is
// r * share_tiles + t; otherwise rows are cut without regard to shares.
int share_tiles(const tilepost_map_t& map);
int map_tile_rows(const tilepost_map_t& map);

// ARRIVALS: tile rows that cuts count, of one share or of all the others.
int arriving_tiles(const tilepost_map_t& map);

// COLUMNS: rows of a slab, room for all shares and for whole tiles.
int64_t slab_rows(const tilepost_map_t& map);

// SHARES: the tile rows of rank's share that group has. With `splits` the cuts say which part of
// each share.
struct SharePart {
  int64_t first, end;
};
SharePart share_part(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                     int rank);

// ARRIVALS, group > 0: the tile rows of `source`'s share that arrive at `rank`, another one. None
// if first == end. With `splits`, those of `rank`, the cuts say which part of each share.
SharePart arriving_part(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                        int source, int rank);

// ARRIVALS: how many tile rows of `rank`'s schedule are in each group, without padding.
std::vector<int> arriving_rows(const tilepost_map_t& map, int rank);

// With `stagger` the groups, the tiles of each and their destinations are those without it, and
// only the order inside a group is another: by bands of an equal part of every share, in each of
// which the shares take turns from the next rank's on, a few tile rows at a time. A band's columns
// begin with another share whenever `stagger` positions more are computed, so that no CTA has the
// same owner's tiles all the time. In the last group the rank's own share follows all others.
//
// With `turn` too there is one group, and only its order is another: `turn` tiles of the next
// rank's share, as many of the share behind that and so on, and then of the rank's own share those
// of `lag` turns before. A last turn has what is left of each share. So an owner's tile comes
// behind the same tile on all other ranks, or at the same position: a kernel that waits for theirs
// at its own waits for none that waits for it (docs/internals/owner-sums.md).
//
// Builds the schedule. Requires a valid map: all sizes positive, cuts strictly increasing
// (ARRIVALS: from 0), the last one covering the rows, columns or positions it counts, and cuts in
// tile rows but the last multiples of cluster; stagger >= 0, and 0 for all divisions but SHARES;
// turn >= 0, a multiple of cluster, and 0 without stagger or with several groups; lag >= 0;
// round_robin 0 or 1, and 0 for all but ARRIVALS.
// SHARES with splits have no positions. With splits m may be 0, and ARRIVALS' cuts may be those of
// another m.
TileMap build_tile_map(const tilepost_map_t& map, const MapInputs& inputs = {});

// Whether the cuts of a map are what build_tile_map requires.
bool cuts_are_valid(const tilepost_map_t& map);

// The destination row of every tile by tile row and column, for a consumer that reads slots.
std::vector<int32_t> destination_rows(const TileMap& tile_map);

// FNV-1a over tiles and groups: equal hashes mean generator and runtime mean the same schedule.
uint64_t hash_tile_map(const TileMap& tile_map);

}  // namespace tilepost

#endif  // TILEPOST_TILE_MAP_H
