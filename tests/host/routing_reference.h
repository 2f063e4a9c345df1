// Random routings, and what their tables must be. The reference sorts all routes by the order that
// tilepost/routing.h states, and has no code of the recipe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tilepost/routing.h"

namespace routing {

// The types in which a rank brings ids and weights.
struct Types {
  bool wide_ids, half_weights;

  tilepost_routing_options_t options(double deadline_seconds = 60) const {
    tilepost_routing_options_t chosen = tilepost_default_routing_options();
    chosen.ids = wide_ids ? TILEPOST_IDS_I64 : TILEPOST_IDS_I32;
    chosen.weights = half_weights ? TILEPOST_BF16 : TILEPOST_F32;
    chosen.deadline_seconds = deadline_seconds;
    return chosen;
  }
};

struct Shape {
  int ranks, experts, top, most_tokens;
};

// The tokens of one rank: ids and weights [tokens, top], also as bytes of the rank's types.
struct Tokens {
  int tokens = 0;
  std::vector<int64_t> ids;
  std::vector<float> weights;  // each of them a bf16 number
  std::vector<char> id_bytes, weight_bytes;

  void encode(Types types) {
    id_bytes.assign(ids.size() * (types.wide_ids ? 8 : 4), 0);
    weight_bytes.assign(weights.size() * (types.half_weights ? 2 : 4), 0);
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto narrow = static_cast<int32_t>(ids[i]);
      if (types.wide_ids)
        std::memcpy(&id_bytes[i * 8], &ids[i], 8);
      else
        std::memcpy(&id_bytes[i * 4], &narrow, 4);
      uint32_t bits = 0;
      std::memcpy(&bits, &weights[i], 4);
      const auto upper = static_cast<uint16_t>(bits >> 16);
      if (types.half_weights)
        std::memcpy(&weight_bytes[i * 2], &upper, 2);
      else
        std::memcpy(&weight_bytes[i * 4], &bits, 4);
    }
  }
};

using Random = std::mt19937_64;

inline int below(Random& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

// A positive number that bf16 has.
inline float random_weight(Random& random) {
  const uint32_t bits = (0x3c00u + static_cast<uint32_t>(below(random, 0x380))) << 16;
  float weight = 0;
  std::memcpy(&weight, &bits, 4);
  return weight;
}

// How a routing chooses experts.
enum class Load { even, few, one, none, mixed };
constexpr int kLoads = 5;

// `tokens` random tokens. A mixed load has ids that are no expert's, and experts twice in a token.
inline Tokens random_tokens(const Shape& shape, int tokens, Load load, Random& random) {
  Tokens made;
  made.tokens = tokens;
  const int favourite = below(random, shape.experts);
  const int few = 1 + below(random, std::min(shape.experts, 4));
  for (int token = 0; token < tokens; ++token) {
    for (int position = 0; position < shape.top; ++position) {
      int64_t id = below(random, shape.experts);
      if (load == Load::few) id = (favourite + below(random, few)) % shape.experts;
      if (load == Load::one) id = favourite;
      if (load == Load::none) id = below(random, 2) == 0 ? -1 : shape.experts + below(random, 9);
      if (load == Load::mixed) {
        const int kind = below(random, 8);
        if (kind == 0) id = -1;
        if (kind == 1) id = int64_t{shape.experts} + below(random, 1000);
        if (kind == 2 && position > 0) id = made.ids[made.ids.size() - 1];
      }
      made.ids.push_back(id);
      made.weights.push_back(random_weight(random));
    }
  }
  return made;
}

// The tables of one rank, copied to vectors.
struct Tables {
  std::vector<int32_t> expert_ends, row_tokens, token_rows, tokens, rank_rows;
  std::vector<float> token_weights;
  std::vector<uint32_t> token_ranks;
};

// Reads the tables of a rank through `copy`(to, from, bytes).
template <class Copy>
Tables read_tables(const Shape& shape, const tilepost_routing_info_t& info, const Copy& copy) {
  const auto get = [&copy](auto& to, const auto* from, size_t count) {
    to.resize(count);
    if (count > 0) copy(to.data(), from, count * sizeof *from);
  };
  Tables read;
  const size_t routes = size_t{1} * shape.ranks * shape.most_tokens * shape.top;
  get(read.expert_ends, info.expert_ends, shape.experts / shape.ranks);
  get(read.row_tokens, info.row_tokens, routes);
  get(read.token_rows, info.token_rows, routes);
  get(read.token_weights, info.token_weights, routes);
  get(read.token_ranks, info.token_ranks, shape.most_tokens);
  get(read.tokens, info.tokens, shape.ranks);
  get(read.rank_rows, info.rank_rows, shape.ranks);
  return read;
}

// Returns what is wrong with the tables of `rank` after a set with these tokens, or "".
inline std::string wrong_tables(const Shape& shape, int rank, const std::vector<Tokens>& all,
                                const Tables& tables) {
  struct Row {
    int expert, distance, token, position, source;
    auto key() const { return std::tie(expert, distance, token, position); }
  };
  const int top = shape.top, locals = shape.experts / shape.ranks, first = rank * locals;
  std::vector<Row> rows;
  for (int source = 0; source < shape.ranks; ++source)
    for (int route = 0; route < all[source].tokens * top; ++route)
      if (const int64_t id = all[source].ids[route]; id >= first && id < first + locals)
        rows.push_back({static_cast<int>(id) - first, (source - rank + shape.ranks) % shape.ranks,
                        route / top, route % top, source});
  std::sort(rows.begin(), rows.end(),
            [](const Row& one, const Row& other) { return one.key() < other.key(); });

  for (int source = 0; source < shape.ranks; ++source)
    if (tables.tokens[source] != all[source].tokens)
      return "tokens of rank " + std::to_string(source);
  for (int of = 0; of < shape.ranks; ++of) {
    int count = 0;
    for (int source = 0; source < shape.ranks; ++source)
      for (int route = 0; route < all[source].tokens * top; ++route)
        if (const int64_t id = all[source].ids[route]; id >= 0 && id < shape.experts)
          count += id / locals == of ? 1 : 0;
    if (tables.rank_rows[of] != count) return "rows of rank " + std::to_string(of);
  }
  for (int expert = 0; expert < locals; ++expert) {
    const auto end = std::count_if(rows.begin(), rows.end(),
                                   [expert](const Row& row) { return row.expert <= expert; });
    if (tables.expert_ends[expert] != end) return "end of expert " + std::to_string(expert);
  }
  // These are indexed by the number of a token. They have its rows and their weights, in the order
  // of rows.
  std::vector<std::vector<std::pair<int, float>>> of_tokens(shape.ranks * shape.most_tokens);
  for (size_t row = 0; row < rows.size(); ++row) {
    const int number = rows[row].source * shape.most_tokens + rows[row].token;
    if (tables.row_tokens[row] != number) return "token of row " + std::to_string(row);
    of_tokens[number].emplace_back(
        static_cast<int>(row),
        all[rows[row].source].weights[rows[row].token * top + rows[row].position]);
  }
  for (int source = 0; source < shape.ranks; ++source)
    for (int token = 0; token < all[source].tokens; ++token) {
      const int number = source * shape.most_tokens + token;
      auto& expected = of_tokens[number];
      expected.resize(top, {-1, 0.0f});
      for (int i = 0; i < top; ++i) {
        if (tables.token_rows[number * top + i] != expected[i].first)
          return "row " + std::to_string(i) + " of token " + std::to_string(number);
        if (tables.token_weights[number * top + i] != expected[i].second)
          return "weight " + std::to_string(i) + " of token " + std::to_string(number);
      }
    }
  for (int token = 0; token < all[rank].tokens; ++token) {
    uint32_t ranks = 0;
    for (int position = 0; position < top; ++position)
      if (const int64_t id = all[rank].ids[token * top + position]; id >= 0 && id < shape.experts)
        ranks |= 1u << (id / locals);
    if (tables.token_ranks[token] != ranks) return "ranks of token " + std::to_string(token);
  }
  return "";
}

// -1, 0 or 1, so that sums of products are exact.
inline int drawn(uint64_t stream, int64_t index) {
  uint64_t x = (stream + 1) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(index);
  x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 29) * 0x94d049bb133111ebu;
  return static_cast<int>((x >> 33) % 3) - 1;
}

}  // namespace routing
