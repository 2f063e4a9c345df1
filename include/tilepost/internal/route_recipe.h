// The recipe by which a routing's tables are made of ids and weights (tilepost/routing.h). The
// kernel (runtime/cuda/routing/) and the host (tilepost/host/routing.h) compile it. What differs
// between them is only how the rows of a route are counted: the host counts one route after the
// other.
#ifndef TILEPOST_ROUTE_RECIPE_H
#define TILEPOST_ROUTE_RECIPE_H

#include <stdint.h>

#include "tilepost/internal/expert_tiles.h"
#include "tilepost/mark.cuh"

namespace tilepost {

constexpr int kMostTop = 32;               // routes of a token
constexpr int kMostRoutedRanks = 32;       // the bits of a token's set of ranks
constexpr int kMostRoutedExperts = 32767;  // of all ranks: the kernel keeps them in 16 bits

// What an id that is not an expert's means.
constexpr int kNoExpert = -1;
constexpr int kWrongId = -2;

// What all calls of a routing have in common.
struct RoutingShape {
  int experts = 0, top = 0;  // of all ranks; of a token
  int ranks = 0, rank = 0;
  int most_tokens = 0;    // of a rank
  int local_experts = 0;  // of this rank, which has first_expert and those behind it
  int first_expert = 0;

  constexpr RoutingShape() = default;
  constexpr RoutingShape(int all_experts, int of_token, int all_ranks, int this_rank, int tokens)
      : experts(all_experts),
        top(of_token),
        ranks(all_ranks),
        rank(this_rank),
        most_tokens(tokens),
        local_experts(all_experts / all_ranks),
        first_expert(this_rank * local_experts) {}

  TILEPOST_INLINE constexpr int token_number(int of_rank, int token) const {
    return of_rank * most_tokens + token;
  }
  // The number of an expert among this rank's experts; kNoExpert for other ranks' experts.
  TILEPOST_INLINE constexpr int local_expert(int expert) const {
    const int local = expert - first_expert;
    return local >= 0 && local < local_experts ? local : kNoExpert;
  }
};

// A rank's tables (tilepost_routing_info_t).
struct RoutingTables {
  int32_t* expert_ends;
  int32_t* row_tokens;
  int32_t* token_rows;
  float* token_weights;
  uint32_t* token_ranks;
  int32_t* tokens;
  int32_t* rank_rows;
};

// What has gone wrong in a call, as the device tells it to the host. Of several wrong ids it is the
// first one, by rank, then by token, then by position.
struct RoutingFault {
  uint32_t found;  // 0, or one of the constants below
  int32_t rank;
  int32_t token;  // of a wrong id
  int64_t id;     // the wrong id, or the number of the call to which the rank did not come
};
constexpr uint32_t kWrongIdFound = 1, kLateRankFound = 2;

// The first rank for which a routing asks for more rows than a plan is for. The device writes it
// into pinned host memory, `found` last.
struct RowsFault {
  uint32_t found;  // not 0 if the rest is valid
  int32_t rank, rows;
};

TILEPOST_INLINE constexpr int expert_of_id(int64_t id, int experts) {
  if (id < -1) return kWrongId;
  return id >= experts ? kNoExpert : static_cast<int>(id);
}

// A token of a rank.
struct TokenOfRank {
  int rank, token;
};

// Token `index` of the tokens of all ranks, in the order that rows have within an expert.
// `tokens`: how many tokens each rank has. Requires that there are as many.
TILEPOST_INLINE TokenOfRank ordered_token(const RoutingShape& shape, const int32_t* tokens,
                                          int index) {
  int rank = shape.rank;
  while (index >= tokens[rank]) {
    index -= tokens[rank];
    rank = rank + 1 == shape.ranks ? 0 : rank + 1;
  }
  return {rank, index};
}

// By their keys the routes of a token are in the order in which token_rows and token_weights have
// them: routes to this rank's experts by expert and then by position, and the others behind them.
// `local`: RoutingShape::local_expert. A key fits in 16 bits.
TILEPOST_INLINE constexpr int route_key(int local, int position) {
  return (local == kNoExpert ? kMostExperts : local) * kMostTop + position;
}

// The place of the route with the key `key` among the token's `top` routes, which have `keys`.
template <class Keys>
TILEPOST_INLINE int place_of_route(const Keys& keys, int top, int key) {
  int place = 0;
  for (int position = 0; position < top; ++position) place += keys[position] < key ? 1 : 0;
  return place;
}

// The ranks that have rows of a token, bit r for rank r, from the ranks of the experts of its `top`
// routes, which are kNoRank where there is no expert.
constexpr int kNoRank = 255;
template <class Ranks>
TILEPOST_INLINE uint32_t ranks_of_token(const Ranks& ranks, int top) {
  uint32_t set = 0;
  for (int position = 0; position < top; ++position)
    set |= ranks[position] == kNoRank ? 0u : 1u << (ranks[position] & 31);
  return set;
}

// Every route of every token is written once: its weight, and its row. `number`: the token's
// number. `row`: the route's row, or -1 if the route is to none of this rank's experts. Its weight
// is 0 then.
TILEPOST_INLINE void write_weight(const RoutingShape& shape, const RoutingTables& tables,
                                  int number, int place, float weight) {
  tables.token_weights[static_cast<int64_t>(number) * shape.top + place] = weight;
}
TILEPOST_INLINE void write_row(const RoutingShape& shape, const RoutingTables& tables, int number,
                               int place, int row) {
  tables.token_rows[static_cast<int64_t>(number) * shape.top + place] = row;
  if (row >= 0) tables.row_tokens[row] = number;
}

}  // namespace tilepost

#endif  // TILEPOST_ROUTE_RECIPE_H
