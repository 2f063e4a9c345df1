#include "runtime/bench/experts/load.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <tuple>

#include "runtime/bench/experts/load_names.h"
#include "runtime/map/tile_map.h"

namespace tilepost::bench {
namespace {

using Random = std::mt19937_64;

constexpr int kMostWeight = 3;

// Chooses the experts of tokens.
class Router {
 public:
  Router(const tilepost_plan_t& plan, ExpertLoad load, uint64_t seed)
      : ranks_(plan.ranks),
        local_(plan.experts),
        experts_(plan.experts * plan.ranks),
        top_(plan.top),
        load_(load),
        random_(seed) {}

  // Adds the experts of the next token to `ids`. They differ.
  void choose(std::vector<int32_t>& ids) {
    const auto first = static_cast<std::ptrdiff_t>(ids.size());
    if (load_ == ExpertLoad::even) {
      choose_evenly(ids);
      return;
    }
    if (load_ == ExpertLoad::one_expert && below(2) == 0) ids.push_back(0);
    while (static_cast<int>(ids.size()) - first < top_) {
      const int32_t id = next();
      if (std::find(ids.begin() + first, ids.end(), id) == ids.end()) ids.push_back(id);
    }
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  // The experts of a token are spread over all of them, and the next token has those behind.
  void choose_evenly(std::vector<int32_t>& ids) {
    for (int i = 0; i < top_; ++i)
      ids.push_back((token_ + static_cast<int>(int64_t{i} * experts_ / top_)) % experts_);
    token_ = (token_ + 1) % experts_;
  }
  int32_t next() {
    if (load_ == ExpertLoad::one_expert && experts_ > top_) return 1 + below(experts_ - 1);
    if (load_ != ExpertLoad::one_rank || ranks_ == 1) return below(experts_);
    // Rank 0 is chosen twice as often, as long as it has experts that the token has not.
    const int part = below(ranks_ + 1);
    return std::max(part - 1, 0) * local_ + below(local_);
  }

  const int ranks_, local_, experts_, top_;
  const ExpertLoad load_;
  Random random_;
  int token_ = 0;
};

}  // namespace

bool find_load(const std::string& name, ExpertLoad& load) {
  const auto* const found = std::ranges::find(kExpertLoads, name);
  if (found == std::end(kExpertLoads)) return false;
  load = static_cast<ExpertLoad>(found - std::begin(kExpertLoads));
  return true;
}

std::vector<TokenIds> draw_tokens(const tilepost_plan_t& plan, ExpertLoad load, uint64_t seed) {
  Router router(plan, load, seed);
  Random weights(seed);  // apart from the router's, so that ids do not depend on them
  std::vector<TokenIds> all;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    TokenIds& own = all.emplace_back();
    own.tokens = static_cast<int>(rows_of_rank(plan.map, rank));
    for (int token = 0; token < own.tokens; ++token) router.choose(own.ids);
    for (size_t route = 0; route < own.ids.size(); ++route)
      own.weights.push_back(static_cast<float>(1 + weights() % kMostWeight));
  }
  return all;
}

std::vector<int32_t> draw_ends(const tilepost_plan_t& plan, ExpertLoad load, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> ends(static_cast<size_t>(plan.experts), 0);
  const auto experts = static_cast<uint64_t>(plan.experts);
  for (int64_t row = 0; row < plan.map.m; ++row) {
    const uint64_t drawn = random();
    const bool first = load == ExpertLoad::one_expert && row % 2 == 0;
    const uint64_t expert = load == ExpertLoad::even ? static_cast<uint64_t>(row) % experts
                            : first                  ? 0
                                                     : drawn % experts;
    ++ends[expert];
  }
  for (size_t expert = 1; expert < ends.size(); ++expert) ends[expert] += ends[expert - 1];
  return ends;
}

RankRows sort_rows(const tilepost_plan_t& plan, const std::vector<TokenIds>& all, int rank) {
  // The expert, how far the token's rank is behind this one, the token, and the position in it.
  using Row = std::tuple<int, int, int, int>;
  std::vector<Row> rows;
  const int first = rank * plan.experts;
  for (int source = 0; source < plan.ranks; ++source)
    for (size_t route = 0; route < all[source].ids.size(); ++route)
      if (const int local = all[source].ids[route] - first; local >= 0 && local < plan.experts)
        rows.emplace_back(local, (source - rank + plan.ranks) % plan.ranks,
                          static_cast<int>(route) / plan.top, static_cast<int>(route) % plan.top);
  std::ranges::sort(rows);
  RankRows made;
  made.ends.assign(static_cast<size_t>(plan.experts), 0);
  const auto share = static_cast<int32_t>(share_rows(plan.map));
  for (const auto& [expert, distance, token, position] : rows) {
    ++made.ends[static_cast<size_t>(expert)];
    const int source = (rank + distance) % plan.ranks;
    made.tokens.push_back(source * share + token);
    const auto route = static_cast<size_t>(token) * static_cast<size_t>(plan.top);
    made.weights.push_back(all[source].weights[route + static_cast<size_t>(position)]);
  }
  for (size_t i = 1; i < made.ends.size(); ++i) made.ends[i] += made.ends[i - 1];
  return made;
}

TokenRows rows_of_tokens(const tilepost_plan_t& plan, const RankRows& rows) {
  const auto entries = static_cast<size_t>(plan.ranks * share_rows(plan.map) * plan.top);
  TokenRows made{std::vector<int32_t>(entries, -1), std::vector<float>(entries, 0)};
  for (int64_t row = 0; row < rows.count(); ++row) {
    auto entry = static_cast<size_t>(rows.tokens[row]) * static_cast<size_t>(plan.top);
    while (made.rows[entry] >= 0) ++entry;
    made.rows[entry] = static_cast<int32_t>(row);
    made.weights[entry] = rows.weights[row];
  }
  return made;
}

}  // namespace tilepost::bench
