#include "runtime/verify/reference/shape.h"
#include "runtime/map/patterns.h"

#include <algorithm>

namespace tilepost::verify {
namespace {

constexpr int kRunsInFlight = 4;  // enough to notice a run that disturbs the next one
constexpr int kRunsPerRoute = 2;
constexpr int kSpreads = 4;

int destination_of(Spread spread, int ranks, int64_t share, int64_t row, uint64_t bits) {
  const int drawn = static_cast<int>(bits % static_cast<uint64_t>(ranks));
  switch (spread) {
    case Spread::random:
      break;
    case Spread::all_to_one:
      return -1;
    case Spread::some_empty:
      return drawn / 2 * 2;
    case Spread::even:
      return static_cast<int>(row / share);
  }
  return drawn;
}

// `wanted`, or the next rank that has room. It is -1 if no rank has room.
int next_with_room(const std::vector<int64_t>& room, int wanted) {
  const int ranks = static_cast<int>(room.size());
  for (int i = 0; i < ranks; ++i)
    if (const int rank = (wanted + i) % ranks; room[rank] > 0) return rank;
  return -1;
}

}  // namespace

RunShape::RunShape(const Problem& problem, int64_t m, Spread spread, uint64_t seed)
    : pattern_(problem.pattern), ranks_(problem.ranks), m_(m) {
  draw_rows(problem, spread, seed);
  share_rows();
  if (problem.has_tokens()) {
    draw_tokens(problem, seed);
    dispatch(problem);
  }
  if (!row_of(pattern_).routes()) return;
  send_rows(problem, problem.routed() ? spread : Spread::even, seed);
  land_rows();
  if (!row_of(pattern_).input_is_routed()) return;
  for (int rank = 0; rank < ranks_; ++rank)
    rows_[rank] = static_cast<int64_t>(arrived_[rank].size());
}

// Draws how many rows each rank has. With some_empty the last rank also has no rows to send, if
// that is allowed.
void RunShape::draw_rows(const Problem& problem, Spread spread, uint64_t seed) {
  for (int rank = 0; rank < ranks_; ++rank) {
    const bool varies = problem.routed() && problem.any_m && rank > 0;
    const bool none = varies && spread == Spread::some_empty && rank == ranks_ - 1;
    const uint64_t bits = mix(seed + mix(static_cast<uint64_t>(rank)));
    const auto drawn = static_cast<int64_t>(bits % static_cast<uint64_t>(m_ + 1));
    rows_.push_back(none ? 0 : varies ? drawn : m_);
  }
}

void RunShape::send_rows(const Problem& problem, Spread spread, uint64_t seed) {
  const bool bounded = row_of(pattern_).input_is_routed();
  const int one = static_cast<int>(mix(seed) % static_cast<uint64_t>(ranks_));
  std::vector<int64_t> room(ranks_, bounded ? problem.most_received : m_ * ranks_);
  destinations_.resize(ranks_);
  splits_.assign(ranks_, std::vector<int64_t>(ranks_, 0));
  for (int rank = 0; rank < ranks_; ++rank) {
    for (int64_t row = 0; row < rows_[rank]; ++row) {
      const uint64_t bits = mix(seed ^ mix(static_cast<uint64_t>(row) * ranks_ + rank));
      const int wanted = destination_of(spread, ranks_, share(), row, bits);
      const int to = next_with_room(room, wanted < 0 ? one : wanted);
      if (to < 0) break;
      --room[to];
      destinations_[rank].push_back(to);
    }
    if (problem.routing == TILEPOST_ROUTING_SPLITS)
      std::sort(destinations_[rank].begin(), destinations_[rank].end());
    for (const int32_t to : destinations_[rank]) ++splits_[rank][to];
    rows_[rank] = static_cast<int64_t>(destinations_[rank].size());
  }
}

// Rows land in the order of their source ranks, then of their source rows.
void RunShape::land_rows() {
  rows_from_.assign(ranks_, std::vector<int64_t>(ranks_, 0));
  arrived_.resize(ranks_);
  landed_.resize(ranks_);
  for (int source = 0; source < ranks_; ++source)
    for (size_t row = 0; row < destinations_[source].size(); ++row) {
      const int32_t to = destinations_[source][row];
      landed_[source].push_back(static_cast<int64_t>(arrived_[to].size()));
      arrived_[to].push_back({source, static_cast<int64_t>(row)});
      ++rows_from_[to][source];
    }
}

void RunShape::share_rows() {
  for (int rank = 0; rank < ranks_; ++rank)
    for (int64_t row = 0; row < own_rows(rank); ++row) shares_.push_back({rank, row});
}

// Draws tokens and their experts, in one of several ways. Some ids are no expert's. A token that
// would give a rank more rows than it may have has no expert there.
void RunShape::draw_tokens(const Problem& problem, uint64_t seed) {
  enum Kind { random, one_expert, few_experts, few_tokens, no_experts, all_tokens, kinds };
  const int kind = static_cast<int>(mix(seed) % kinds), all = problem.experts * ranks_;
  std::vector<int64_t> room(ranks_, problem.most_received);
  for (int rank = 0; rank < ranks_; ++rank) {
    const uint64_t own = mix(seed ^ mix(static_cast<uint64_t>(rank) + 1));
    const int64_t share = own_rows(rank);
    const auto drawn = static_cast<int64_t>(own % static_cast<uint64_t>(share + 1));
    tokens_.push_back(kind == few_tokens                     ? std::min<int64_t>(drawn, rank % 2)
                      : kind == random || kind == no_experts ? drawn
                                                             : share);
    std::vector<int32_t>& ids = ids_.emplace_back();
    for (int64_t i = 0; i < tokens_.back() * problem.top; ++i) {
      const uint64_t bits = mix(own + static_cast<uint64_t>(i) + 1);
      auto id = static_cast<int32_t>(bits % static_cast<uint64_t>(all));
      if (kind == one_expert) id = static_cast<int32_t>(mix(seed) / kinds % all);
      if (kind == few_experts) id = id / 3 * 3;
      if (kind == no_experts && bits >> 32 & 1) id = bits >> 33 & 1 ? -1 : all + id;
      if (id >= 0 && id < all && --room[id / problem.experts] < 0) id = -1;
      ids.push_back(id);
    }
  }
}

// Rows are sorted by expert, then by source rank from the own one on, then by token, then by the
// place of the expert among the token's.
void RunShape::dispatch(const Problem& problem) {
  most_out_ = std::min(problem.most_received, m_ * problem.top);
  arrived_.resize(ranks_);
  routes_.resize(ranks_);
  for (int rank = 0; rank < ranks_; ++rank) {
    std::vector<int32_t>& ends = ends_.emplace_back();
    for (int expert = 0; expert < problem.experts; ++expert) {
      for (int distance = 0; distance < ranks_; ++distance) {
        const int source = (rank + distance) % ranks_;
        for (size_t i = 0; i < ids_[source].size(); ++i)
          if (ids_[source][i] == rank * problem.experts + expert) {
            arrived_[rank].push_back({source, static_cast<int64_t>(i) / problem.top});
            routes_[rank].push_back({source, static_cast<int64_t>(i)});
          }
      }
      ends.push_back(static_cast<int32_t>(arrived_[rank].size()));
    }
    if (problem.dispatches()) rows_[rank] = static_cast<int64_t>(arrived_[rank].size());
  }
}

int64_t RunShape::own_begin(int rank) const {
  return std::min(share() * rank, m_);
}
int64_t RunShape::own_rows(int rank) const {
  return std::min(share() * (rank + 1), m_) - own_begin(rank);
}

int64_t RunShape::a_rows(int rank) const {
  if (row_of(pattern_).routes()) return static_cast<int64_t>(destinations_[rank].size());
  return row_of(pattern_).moves_input() ? own_rows(rank) : product_rows(rank);
}

std::span<const RowOrigin> RunShape::input_rows(int rank) const {
  if (!row_of(pattern_).moves_input()) return {};
  const bool chosen = row_of(pattern_).routes() || row_of(pattern_).dispatches();
  return chosen ? std::span<const RowOrigin>(arrived_[rank]) : shares();
}

int64_t RunShape::out_rows(int rank) const {
  if (row_of(pattern_).dispatches()) return most_out_;
  if (row_of(pattern_).out_is_share()) return own_rows(rank);
  return row_of(pattern_).routes() ? static_cast<int64_t>(arrived_[rank].size()) : m_;
}

int64_t RunShape::out_row(int rank, int source, int64_t row) const {
  if (row_of(pattern_).product_is_routed())
    return destinations_[source][row] == rank ? landed_[source][row] : -1;
  if (!row_of(pattern_).out_is_share()) return row;
  const int64_t own = row - own_begin(rank);
  return own >= 0 && own < own_rows(rank) ? own : -1;
}

std::string RunShape::wrong_arrivals(int rank, const tilepost_arrivals_t& arrivals) const {
  if (arrivals.rows != out_rows(rank))
    return "tilepost_op_route: arrivals.rows is " + std::to_string(arrivals.rows) + ", expected " +
           std::to_string(out_rows(rank));
  for (int source = 0; source < ranks_; ++source)
    if (arrivals.rows_from[source] != rows_from(rank, source))
      return "tilepost_op_route: arrivals.rows_from[" + std::to_string(source) + "] is " +
             std::to_string(arrivals.rows_from[source]) + ", expected " +
             std::to_string(rows_from(rank, source));
  for (int64_t row = 0; row < a_rows(rank); ++row)
    if (arrivals.landed[row] != landed_[rank][row])
      return "tilepost_op_route: arrivals.landed[" + std::to_string(row) + "] is " +
             std::to_string(arrivals.landed[row]) + ", expected " +
             std::to_string(landed_[rank][row]);
  return "";
}

RunList list_runs(const Problem& problem, const std::vector<int64_t>& bounds,
                  const std::vector<int64_t>& asked, int runs) {
  RunList list{{problem.m}, runs, kRunsInFlight};
  if (problem.any_m) {
    const int64_t tile = problem.tile_m;
    list.m = asked;
    if (asked.empty())
      list.m = {problem.m, 1,    7,         tile - 1,          tile,
                tile + 1,  1000, problem.m, problem.ranks + 1, problem.m * 2 / 3};
    if (asked.empty())
      for (const int64_t bound : bounds) list.m.insert(list.m.end(), {bound, bound + 1});
    for (int64_t& m : list.m) m = std::clamp<int64_t>(m, 1, problem.m);
    list.count = std::max(runs, static_cast<int>(list.m.size()));
  }
  if (!problem.routed()) return list;
  list.at_once = kRunsPerRoute;
  list.count = std::max(list.count, kSpreads * kRunsPerRoute);
  return list;
}

RunShape shape_of(const Problem& problem, const RunList& list, int run, uint64_t seed) {
  const int route = problem.routed() ? run / list.at_once : run;
  return RunShape(problem, list.m[static_cast<size_t>(route) % list.m.size()],
                  static_cast<Spread>(route % kSpreads), mix(seed + static_cast<uint64_t>(route)));
}

}  // namespace tilepost::verify
