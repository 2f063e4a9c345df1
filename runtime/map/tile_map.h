// The tile map: from a tilepost_map_t to the schedule and its groups.
//
// The generator plans and verifies with this code. The runtime builds its tables with it and
// uploads them. The two compare by hash. The code knows nothing of CUDA or of files.
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
  int64_t send_elements = 0;             // elements of the send buffer, into which the kernel
                                         // stores
};

// What else a map may depend on.
struct MapInputs {
  int rank = 0;  // ARRIVALS: the rank whose share is computed first; SHARES with stagger: the rank
                 // whose share comes last
  std::span<const int64_t> splits;  // [ranks] rows of each share. SHARES: those that go to each
                                    // rank. ARRIVALS: those that come from each rank. They sum to
                                    // m. Empty: shares are equal
};

// The number of tile rows, and of tile columns, that cover m x n.
int tiles_m(const tilepost_map_t& map);
int tiles_n(const tilepost_map_t& map);

// The rows of an equal share, ceil(m / ranks); the row where the share of `rank` begins; and the
// rows that it has. The last ranks have what is left, which may be nothing.
int64_t share_rows(const tilepost_map_t& map);
int64_t first_row_of_rank(const tilepost_map_t& map, int rank);
int64_t rows_of_rank(const tilepost_map_t& map, int rank);

// The tile rows of an equal share, and those of the whole map. With SHARES tile row t of rank r's
// share has the number r * share_tiles + t. With other divisions tile rows are cut without regard
// to shares.
int share_tiles(const tilepost_map_t& map);
int map_tile_rows(const tilepost_map_t& map);

// ARRIVALS: the tile rows that cuts count. They are those of one share, or with round_robin those
// of all other ranks' shares.
int arriving_tiles(const tilepost_map_t& map);

// COLUMNS: rows of a slab. It has room for all shares and for whole tiles.
int64_t slab_rows(const tilepost_map_t& map);

// SHARES: the tile rows of the share of `rank` that `group` has. With `splits` the cuts give each
// share in proportion.
struct SharePart {
  int64_t first, end;
};
SharePart share_part(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                     int rank);

// ARRIVALS, group > 0: the tile rows of the share of `source` that arrive at `rank` in `group`. The
// two ranks differ. There are none if first == end. `splits` are those of `rank`; with them the
// cuts give each share in proportion.
SharePart arriving_part(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                        int source, int rank);

// ARRIVALS: how many tile rows of `rank`'s schedule are in each group, without padding.
std::vector<int> arriving_rows(const tilepost_map_t& map, int rank);

// The map with `stagger` has the same groups, with the same tiles and destinations, as the map
// without it. Only the order inside a group differs. A group is computed in bands, and each band
// has an equal part of every share. In a band the shares take turns, a few tile rows at a time,
// from the next rank's share on. After every `stagger` positions, the columns of a band begin with
// another share, so that no CTA has the same owner's tiles all the time. In the last group the
// rank's own share follows all others.
//
// With `turn` too there is one group, and again only its order differs. `turn` tiles of the next
// rank's share come first, then as many of the share behind that, and so on. Then come those tiles
// of the rank's own share that belong to `lag` turns before. A last turn has what is left of each
// share. So the tile of an owner comes no earlier than the same tile on all other ranks: behind it,
// or at the same position. A kernel that waits for the other ranks' tiles at its own tile therefore
// never waits for a kernel that waits for it (docs/internals/owner-sums.md).
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
// With splits, m may be 0, ARRIVALS' cuts may be those of another m, and SHARES have no
// `positions`.
TileMap build_tile_map(const tilepost_map_t& map, const MapInputs& inputs = {});

// Whether the cuts of a map are as build_tile_map requires.
bool cuts_are_valid(const tilepost_map_t& map);

// The destination row of every tile by tile row and column, for a consumer that reads slots.
std::vector<int32_t> destination_rows(const TileMap& tile_map);

// FNV-1a over tiles and groups. If the generator's and the runtime's hashes are equal, both have
// the same schedule.
uint64_t hash_tile_map(const TileMap& tile_map);

}  // namespace tilepost

#endif  // TILEPOST_TILE_MAP_H
