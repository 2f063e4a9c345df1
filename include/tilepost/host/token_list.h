// The list of tile rows of tokens, made on the host: what the host target does, and the twin of the
// device's kernel in tests (runtime/cuda/consumers/token_list.cu).
#ifndef TILEPOST_HOST_TOKEN_LIST_H
#define TILEPOST_HOST_TOKEN_LIST_H

#include <algorithm>
#include <vector>

#include "tilepost/internal/token_tiles.h"

namespace tilepost {

// `experts` has the rows of the experts and their tokens, and `m` bounds the rows.
inline std::vector<tilepost_token_tile_t> list_token_tiles(const Experts& experts, int m,
                                                           int tile_m, const TokenGroups& groups) {
  std::vector<tilepost_token_tile_t> list(1);
  for (int expert = 0; expert < experts.count; ++expert) {
    const int begin = expert == 0 ? 0 : experts.end(expert - 1, m), end = experts.end(expert, m);
    const int count = end > begin ? count_tile_rows(end - begin, tile_m) : 0;
    for (int i = 0; i < count; ++i) {
      const ExpertRows rows = tile_row_at(end - begin, tile_m, i);
      tilepost_token_tile_t tile{begin + rows.first, rows.count, expert, 0};
      for (int row = tile.row; row < tile.row + tile.rows; ++row)
        tile.group = std::max(tile.group, groups.group_of(experts.tokens[row]));
      list.push_back(tile);
    }
  }
  // Tile rows come by group. In a group they stay in the order of their rows.
  std::sort(list.begin() + 1, list.end(),
            [](const tilepost_token_tile_t& one, const tilepost_token_tile_t& other) {
              return one.group != other.group ? one.group < other.group : one.row < other.row;
            });
  list.front().row = static_cast<int>(list.size()) - 1;
  return list;
}

}  // namespace tilepost

#endif  // TILEPOST_HOST_TOKEN_LIST_H
