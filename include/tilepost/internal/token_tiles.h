// The tile rows of a grouped GEMM whose rows are those of tokens (TILEPOST_DISPATCH_GROUPED_GEMM).
// Tokens of other ranks arrive in groups while the kernel runs, and a tile waits for the last of
// its rows. So tile rows come by group: first those that have tokens of this rank alone. Which
// tokens a tile row has is known on the device, where a list of tile rows is made before the
// kernel. The host target and tests make the same list with token_list.h (tilepost/host).
#ifndef TILEPOST_TOKEN_TILES_H
#define TILEPOST_TOKEN_TILES_H

#include "tilepost/internal/expert_tiles.h"
#include "tilepost/plan.h"

namespace tilepost {

// The most groups in which tokens arrive, their own rank's among them.
constexpr int kMostTokenGroups = 32;

// The memory in which a GPU makes a list of at most `most` tile rows: the list with its head, then
// as many entries in the order of experts, then a line for two words.
constexpr long long kTokenListLine = 128;
TILEPOST_INLINE constexpr long long token_list_bytes(long long most) {
  return (1 + 2 * most) * static_cast<long long>(sizeof(tilepost_token_tile_t)) + kTokenListLine;
}

// A token, by the rank that has it.
struct TokenPlace {
  int rank, token;
};

TILEPOST_INLINE constexpr TokenPlace place_of_token(int number, int most_tokens) {
  const int rank = number / most_tokens;
  return {rank, number - rank * most_tokens};
}

// With which group a token comes. Groups are those of tilepost_map_t with ARRIVALS: group 0 is the
// rank's own share, and cuts count tile rows of the other shares.
struct TokenGroups {
  int rank = 0, ranks = 1;
  int most_tokens = 1;  // of a rank, by which tokens are numbered
  int tile_m = 1;       // rows of a tile row of a share
  int share_tiles = 0;  // tile rows of a share where shares take turns; 0 where they come
                        // together
  int groups = 1;       // of the run; 1: all rows are there
  int cuts[kMostTokenGroups] = {};

  TILEPOST_INLINE int group_of(int number) const {
    const TokenPlace place = place_of_token(number, most_tokens);
    if (groups < 2 || place.rank == rank) return 0;
    const int turn = place.rank < rank ? place.rank - rank + ranks - 1 : place.rank - rank - 1;
    const int tile_row = place.token / tile_m + turn * share_tiles;
    int group = 1;
    while (group + 1 < groups && cuts[group] <= tile_row) ++group;
    return group;
  }
};

// The tile at `position` of a list, 0 <= position < list[0].row * grid.columns. `entry(i)` is entry
// i of the list, behind its head.
template <class Entry>
TILEPOST_INLINE ExpertTile token_tile(const ExpertGrid& grid, int tile_rows, const Entry& entry,
                                      int position) {
  const SweptTile tile = swept_tile(tile_rows, grid.columns, grid.band, position);
  const tilepost_token_tile_t rows = entry(tile.tile_row);
  return {rows.expert, rows.row, rows.rows, tile.column, rows.group};
}

}  // namespace tilepost

#endif  // TILEPOST_TOKEN_TILES_H
