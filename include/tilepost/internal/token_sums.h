// How the rows of tokens are summed (TILEPOST_GROUPED_GEMM_COMBINE). The rows of the tile map are
// tokens: token t of rank r is row r * share + t. An element of such a row is
//
//   the sum of weight * product over the token's rows on this rank, + residual
//
// in fp32: a chain of fused multiply-adds that begins with 0 and takes rows in the order of the
// routing's tables, which is that of experts. The residual is added on the token's own rank, last.
// The sum is rounded once. A token that a rank does not have, and one without a row on this rank,
// has 0 there. The kernel (runtime/cuda/consumers/token_sums.cu) and the host target
// (runtime/host/tokens/op_combine.cpp) compile this.
#ifndef TILEPOST_TOKEN_SUMS_H
#define TILEPOST_TOKEN_SUMS_H

#include <stdint.h>

#include "tilepost/internal/token_tiles.h"
#include "tilepost/plan.h"

namespace tilepost {

struct TokenSums {
  int m = 0;      // rows of the run's tile map
  int share = 1;  // rows of a rank's share of them
  int rank = 0;   // this rank
  int tile_m = 1;
  int in_shares = 0;  // whether a tile has rows of one share alone (TILEPOST_DIVISION_SHARES)
  // Of the routing (tilepost/routing.h).
  int most_tokens = 1, top = 1;
  const int32_t* token_rows = nullptr;
  const float* token_weights = nullptr;
  const int32_t* tokens = nullptr;

  TILEPOST_INLINE constexpr TokenPlace token_of(int row) const {
    return place_of_token(row, share);
  }
  // How many rows of the map a rank's share has.
  TILEPOST_INLINE constexpr int rows_of_share(int owner) const {
    const int left = m - owner * share;
    return left < 0 ? 0 : left < share ? left : share;
  }
  // How many rows of the map a tile has.
  TILEPOST_INLINE constexpr int rows_of_tile(int first_row) const {
    const int of_share = in_shares != 0 ? (first_row / share + 1) * share : m;
    const int end = of_share < m ? of_share : m;
    return end - first_row < tile_m ? end - first_row : tile_m;
  }
  // Where the entries of a token's rows and weights begin, of which there are `top`, the last ones
  // perhaps -1; below 0 if the rank has no such token.
  TILEPOST_INLINE long long entries_of(TokenPlace place) const {
    if (place.token >= tokens[place.rank]) return -1;
    return (static_cast<long long>(place.rank) * most_tokens + place.token) * top;
  }
};

}  // namespace tilepost

#endif  // TILEPOST_TOKEN_SUMS_H
