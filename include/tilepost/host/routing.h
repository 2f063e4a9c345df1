// Routing on the host, one route after the other: what the host target does, and the twin of the
// device's kernel in tests.
#ifndef TILEPOST_HOST_ROUTING_H
#define TILEPOST_HOST_ROUTING_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tilepost/internal/route_recipe.h"
#include "tilepost/numeric.h"

namespace tilepost {

// The tokens of one rank, as the caller brings them: ids and weights are [tokens, top].
struct RoutedTokens {
  const void* ids;
  const void* weights;
  bool wide_ids;      // int64, otherwise int32
  bool half_weights;  // bf16, otherwise fp32
  int tokens;

  int64_t id(int64_t route) const {
    if (wide_ids) return static_cast<const int64_t*>(ids)[route];
    return static_cast<const int32_t*>(ids)[route];
  }
  float weight(int64_t route) const {
    if (half_weights) return to_float(static_cast<const Bf16*>(weights)[route]);
    return static_cast<const float*>(weights)[route];
  }
};

// The work of route_tokens.
class HostRouter {
 public:
  // `of_ranks` outlives this object.
  HostRouter(const RoutingShape& shape, const std::vector<RoutedTokens>& of_ranks,
             const RoutingTables& tables)
      : shape_(shape), of_ranks_(of_ranks.data()), tables_(tables) {}

  void route(RoutingFault& fault) {
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      tables_.tokens[rank] = of_ranks_[rank].tokens;
      all_ += of_ranks_[rank].tokens;
      if (fault.found == 0) find_wrong(rank, fault);
    }
    read();
    find_first_rows();
    write();
  }

 private:
  void find_wrong(int rank, RoutingFault& fault) const {
    const int64_t routes = int64_t{of_ranks_[rank].tokens} * shape_.top;
    for (int64_t route = 0; route < routes; ++route) {
      const int64_t id = of_ranks_[rank].id(route);
      if (expert_of_id(id, shape_.experts) != kWrongId) continue;
      fault = {kWrongIdFound, rank, static_cast<int32_t>(route / shape_.top), id};
      return;
    }
  }

  // Finds keys and ranks of all routes, in the order of tokens, and counts the experts' rows and
  // those of ranks.
  void read() {
    const auto routes = static_cast<size_t>(all_) * static_cast<size_t>(shape_.top);
    keys_.resize(routes);
    ranks_.resize(routes);
    rows_.assign(static_cast<size_t>(shape_.local_experts), 0);
    for (int of_rank = 0; of_rank < shape_.ranks; ++of_rank) tables_.rank_rows[of_rank] = 0;
    int *key = keys_.data(), *rank = ranks_.data();
    for (int index = 0; index < all_; ++index) {
      const TokenOfRank at = ordered_token(shape_, tables_.tokens, index);
      for (int position = 0; position < shape_.top; ++position) {
        const int64_t id = of_ranks_[at.rank].id(int64_t{at.token} * shape_.top + position);
        const int expert = expert_of_id(id, shape_.experts);
        const int local = expert < 0 ? kNoExpert : shape_.local_expert(expert);
        if (local != kNoExpert) ++rows_[static_cast<size_t>(local)];
        *key++ = route_key(local, position);
        *rank = expert < 0 ? kNoRank : expert / shape_.local_experts;
        if (*rank != kNoRank) ++tables_.rank_rows[*rank];
        ++rank;
      }
    }
  }

  // Turns the number of each expert's rows into the first of them.
  void find_first_rows() {
    int32_t end = 0;
    int32_t* of_expert = tables_.expert_ends;
    for (int32_t& rows : rows_) {
      const int32_t first = end;
      *of_expert++ = end += rows;
      rows = first;
    }
  }

  void write() {
    const int *keys = keys_.data(), *ranks = ranks_.data();
    for (int index = 0; index < all_; ++index, keys += shape_.top, ranks += shape_.top) {
      const TokenOfRank at = ordered_token(shape_, tables_.tokens, index);
      if (at.rank == shape_.rank) tables_.token_ranks[at.token] = ranks_of_token(ranks, shape_.top);
      for (int position = 0; position < shape_.top; ++position) {
        const int key = keys[position], local = key / kMostTop;
        const bool elsewhere = local == kMostExperts;
        const int number = shape_.token_number(at.rank, at.token);
        const int place = place_of_route(keys, shape_.top, key);
        const int64_t route = int64_t{at.token} * shape_.top + position;
        write_weight(shape_, tables_, number, place,
                     elsewhere ? 0.0f : of_ranks_[at.rank].weight(route));
        write_row(shape_, tables_, number, place,
                  elsewhere ? -1 : rows_[static_cast<size_t>(local)]++);
      }
    }
  }

  const RoutingShape shape_;
  const RoutedTokens* const of_ranks_;
  const RoutingTables tables_;
  int all_ = 0;                    // tokens of all ranks
  std::vector<int> keys_, ranks_;  // of routes
  std::vector<int32_t> rows_;      // of each of this rank's experts the next row
};

// Makes the tables of shape.rank. `of_ranks` has the tokens of all ranks. `fault` becomes the first
// wrong id, unless it has a fault already.
inline void route_tokens(const RoutingShape& shape, const std::vector<RoutedTokens>& of_ranks,
                         const RoutingTables& tables, RoutingFault& fault) {
  HostRouter(shape, of_ranks, tables).route(fault);
}

}  // namespace tilepost

#endif  // TILEPOST_HOST_ROUTING_H
