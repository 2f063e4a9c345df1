// Follows the steps of ranks that touch each other's memory (runtime/map/steps.h), except where
// rows of A move (arrivals.cpp).
//
// A rank is followed through the steps of a group in their order. The steps that get other ranks'
// sums come last, when it is known what all ranks have summed and pushed. Rows are those of the
// panel layout, n elements.
#include <fmt/format.h>

#include <map>

#include "generator/plan/verify/traffic.h"

namespace tilepost {
namespace {

// Rows [first, first + rows).
struct Rows {
  int64_t first, rows;
  bool operator<(const Rows& other) const { return first < other.first; }
  bool operator==(const Rows& other) const = default;
};

// Rows of out that a step writes: of source's product from row m on, or of the sum.
struct Landing {
  int64_t to, rows;
  int source;
  int64_t m;
  bool operator<(const Landing& other) const { return to < other.to; }
};

bool holds(const std::vector<Rows>& all, const Rows& part) {
  return std::ranges::any_of(all, [&](const Rows& rows) {
    return rows.first <= part.first && part.first + part.rows <= rows.first + rows.rows;
  });
}

// Whether `pieces` make up `whole`, each row once.
bool make_up(std::vector<Rows> pieces, const Rows& whole) {
  std::sort(pieces.begin(), pieces.end());
  int64_t row = whole.first;
  for (const Rows& piece : pieces) {
    if (piece.first != row) return false;
    row += piece.rows;
  }
  return row == whole.first + whole.rows;
}

class SharedCheck {
 public:
  SharedCheck(const Plan& plan, const Traffic& traffic, Findings& findings)
      : plan_(plan),
        traffic_(traffic),
        findings_(findings),
        geometry_(plan),
        contents_(contents_of(plan, traffic)),
        landings_(plan.ranks) {
    for (int rank = 0; rank < plan.ranks && writes(); ++rank) stored_.push_back(stored_by(rank));
  }

  // Checks that kernels post as many signals as the counters' owners wait for.
  void targets() {
    if (!writes()) return;
    std::vector<std::vector<int64_t>> raised(plan_.ranks,
                                             std::vector<int64_t>(plan_.cuts().size(), 0));
    for (const TileMap* map : traffic_.maps)
      for (const tilepost_tile_t& tile : map->tiles)
        if (tile.row >= 0)
          raised[tile.m / geometry_.share][tile.group] += plan_.map.signals_per_tile;
    for (int rank = 0; rank < plan_.ranks; ++rank)
      if (!std::ranges::equal(raised[rank], traffic_.targets[rank]))
        return findings_.add(
            fmt::format("rank {0} waits for other numbers of signals than the tiles "
                        "of its rows post on all ranks",
                        rank));
  }

  void group(int g) {
    state_.assign(plan_.ranks, {});
    for (State& state : state_) {
      state.pulled.resize(plan_.ranks);
      state.pushed.resize(plan_.ranks);
    }
    std::vector<std::vector<Step>> steps;
    for (int rank = 0; rank < plan_.ranks; ++rank) steps.push_back(traffic_.steps(g, rank));
    for (int rank = 0; rank < plan_.ranks; ++rank)
      for (const Step& step : steps[rank])
        if (!take(g, rank, step)) return fault(g, rank, step, "is none of this rank's");
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      for (const Step& step : steps[rank])
        if (gets_sums(step.kind) && !take_sums(rank, step))
          return fault(g, rank, step, "brings what is not summed there, or not pushed here");
      if (!complete(g, rank)) return;
    }
  }

  // Checks that the rank ends with what it is meant to, each row written once.
  void rank(int rank) {
    std::vector<Landing>& landings = landings_[rank];
    std::sort(landings.begin(), landings.end());
    size_t next = 0;
    int64_t row = 0, taken = 0;  // rows of out, and of the landing
    for (const Wanted& wanted : check_of(plan_).wanted(plan_, traffic_, rank))
      for (int64_t done = 0; done < wanted.rows;) {
        if (next == landings.size())
          return findings_.add(fmt::format("rank {0}: row {1} of out is not written", rank, row));
        const Landing& landing = landings[next];
        if (landing.to + taken != row || landing.source != wanted.source ||
            landing.m + taken != wanted.m + done)
          return findings_.add(fmt::format(
              "rank {0}: row {1} of out is row {2} of rank {3}'s product and goes to row "
              "{4}, expected row {5} of rank {6}'s",
              rank, row, landing.m + taken, landing.source, landing.to + taken, wanted.m + done,
              wanted.source));
        const int64_t rows = std::min(wanted.rows - done, landing.rows - taken);
        row += rows, done += rows, taken += rows;
        if (taken == landing.rows) ++next, taken = 0;
      }
    if (next != landings.size() || row * plan_.map.n != traffic_.received[rank])
      findings_.add(fmt::format("rank {0}: {1} rows of out are wanted, {2} elements are received",
                                rank, row, traffic_.received[rank]));
  }

 private:
  // What a rank has done so far in the group.
  struct State {
    bool announced = false, announced_sums = false;
    std::vector<std::vector<Rows>> pulled;  // [ranks] into its slots, not summed yet
    std::vector<Rows> summed;
    std::vector<std::vector<Rows>> pushed;  // [ranks] of what is summed, into their memory
  };

  bool writes() const { return plan_.access == TILEPOST_ACCESS_WRITE; }
  bool reduces_all() const { return row_of(plan_).product_spreads(); }
  bool routes() const { return row_of(plan_).routes(); }
  bool is_other(int rank, int peer) const {
    return peer >= 0 && peer < plan_.ranks && peer != rank;
  }
  int64_t own_begin(int rank) const { return rank * geometry_.share; }

  void fault(int g, int rank, const Step& step, const char* what) {
    findings_.add(
        fmt::format("group {0}, rank {1}: a step from {2} to {3} of {4} elements, peer {5}, "
                    "{6}",
                    g, rank, step.from, step.to, step.count, step.peer, what));
  }

  bool take(int g, int rank, const Step& step) {
    State& state = state_[rank];
    if (step.keep != 0 || (step.kind != StepKind::sum && step.from_slot != 0)) return false;
    const bool says = step.kind == StepKind::announce || step.kind == StepKind::announce_sums;
    if (says)
      return step.from == 0 && step.to == 0 && step.count == 0 && step.peer == 0 &&
             announce(step.kind, state);
    if (step.count <= 0 || step.count % plan_.map.n != 0 || step.from % plan_.map.n != 0 ||
        step.to % plan_.map.n != 0 || step.from_slot % plan_.map.n != 0)
      return false;
    switch (step.kind) {
      case StepKind::pull_part:
        return !routes() && may_pull(rank, step.peer) && pull_part(g, rank, step);
      case StepKind::sum:
        return !routes() && step.peer == 0 && (writes() || state.announced) && sum(g, rank, step);
      case StepKind::pull:
        return routes() && may_pull(rank, step.peer) && land_sent(g, rank, step.peer, step);
      case StepKind::own_part:
        return routes() && step.peer == rank &&
               (writes() ? land_stored(g, rank, rank, step) : land_sent(g, rank, rank, step));
      case StepKind::landed_part:
        return routes() && writes() && is_other(rank, step.peer) &&
               land_stored(g, rank, step.peer, step);
      case StepKind::push_sums:
        return plan_.pushes && reduces_all() && is_other(rank, step.peer) && push_sums(rank, step);
      case StepKind::pull_sums:
      case StepKind::landed_sums:
        return plan_.pushes == (step.kind == StepKind::landed_sums) && reduces_all() &&
               is_other(rank, step.peer) && state.announced_sums;
      default:
        return false;
    }
  }

  // A rank must announce before it waits for others. Otherwise the others would wait for this rank,
  // and this rank for them.
  bool announce(StepKind kind, State& state) const {
    const bool sums = kind == StepKind::announce_sums;
    bool& said = sums ? state.announced_sums : state.announced;
    if (said || (sums ? !reduces_all() : writes())) return false;
    return said = true;
  }
  bool may_pull(int rank, int peer) const {
    return !writes() && is_other(rank, peer) && state_[rank].announced;
  }

  // Whether a step reads only what the group has finished in rank's send buffer.
  bool in_block(int g, int rank, const Step& step) const {
    const tilepost_group_t& group = traffic_.maps[rank]->groups[g];
    return step.from >= group.offset && step.from + step.count <= group.offset + group.count;
  }

  // Calls `body(rows before, rows, m)` for the rows of the product that lie in rank's send buffer
  // from step.from on. Returns false if something else lies there.
  template <class Body>
  bool for_strips(int rank, const Step& step, Body body) const {
    const int64_t first = step.from / plan_.map.n, rows = step.count / plan_.map.n;
    for (int64_t row = 0; row < rows;) {
      const Strip* strip = contents_[rank]->at(first + row);
      if (strip == nullptr) return false;
      const int64_t within = first + row - strip->row;
      const int64_t length = std::min(rows - row, strip->rows - within);
      body(row, length, strip->m + within);
      row += length;
    }
    return true;
  }

  // Whether the rows that a step reads in rank's send buffer are those of the product from m on.
  bool are_rows(int g, int rank, const Step& step, int64_t m) const {
    bool right = in_block(g, rank, step);
    return for_strips(rank, step,
                      [&](int64_t row, int64_t, int64_t at) { right &= at == m + row; }) &&
           right;
  }

  bool pull_part(int g, int rank, const Step& step) {
    const Rows rows{step.to / plan_.map.n, step.count / plan_.map.n};
    if (rows.first < 0 || rows.first + rows.rows > geometry_.rows_of(rank) ||
        !are_rows(g, step.peer, step, own_begin(rank) + rows.first))
      return false;
    state_[rank].pulled[step.peer].push_back(rows);
    return true;
  }

  bool sum(int g, int rank, const Step& step) {
    State& state = state_[rank];
    const Rows rows{step.from_slot / plan_.map.n, step.count / plan_.map.n};
    if (rows.first < 0 || rows.first + rows.rows > geometry_.rows_of(rank) || state.announced_sums)
      return false;
    if (writes() ? step.from != 0 : !are_rows(g, rank, step, own_begin(rank) + rows.first))
      return false;
    for (int source = 0; source < plan_.ranks; ++source) {
      if (writes() ? !is_stored(g, source, rank, rows)
                   : source != rank && !make_up(state.pulled[source], rows))
        return false;
      state.pulled[source].clear();
    }
    state.summed.push_back(rows);
    landings_[rank].push_back(
        {step.to / plan_.map.n, rows.rows, kAnyRank, own_begin(rank) + rows.first});
    return true;
  }

  static bool gets_sums(StepKind kind) {
    return kind == StepKind::pull_sums || kind == StepKind::landed_sums;
  }

  // Rows of the rank's share go from out to the same place in the peer's memory, before the rank
  // announces them.
  bool push_sums(int rank, const Step& step) {
    State& state = state_[rank];
    const Rows rows{step.from / plan_.map.n - own_begin(rank), step.count / plan_.map.n};
    if (step.from != step.to || state.announced_sums || !holds(state.summed, rows)) return false;
    state.pushed[step.peer].push_back(rows);
    return true;
  }

  // Whether every other rank was given all that the rank has summed, once.
  bool pushed_all(int rank) const {
    if (!plan_.pushes) return true;
    for (int peer = 0; peer < plan_.ranks; ++peer)
      if (peer != rank && state_[rank].pushed[peer] != state_[rank].summed) return false;
    return true;
  }

  // Sums that were pushed lie where out has them. Sums that are pulled lie from the beginning of
  // the peer's share on.
  bool take_sums(int rank, const Step& step) {
    const State& peer = state_[step.peer];
    const int64_t begin = plan_.pushes ? own_begin(step.peer) : 0;
    const Rows rows{step.from / plan_.map.n - begin, step.count / plan_.map.n};
    if (!peer.announced_sums || !holds(plan_.pushes ? peer.pushed[rank] : peer.summed, rows))
      return false;
    landings_[rank].push_back(
        {step.to / plan_.map.n, rows.rows, kAnyRank, own_begin(step.peer) + rows.first});
    return true;
  }

  bool land_sent(int g, int rank, int source, const Step& step) {
    return in_block(g, source, step) &&
           for_strips(source, step, [&](int64_t row, int64_t rows, int64_t m) {
             landings_[rank].push_back({step.to / plan_.map.n + row, rows, source, m});
           });
  }

  // Landed memory has a block of the rank's rows from each source.
  bool land_stored(int g, int rank, int source, const Step& step) {
    const int64_t own = geometry_.rows_of(rank);
    const Rows rows{step.from / plan_.map.n - source * own, step.count / plan_.map.n};
    if (rows.first < 0 || rows.first + rows.rows > own || !is_stored(g, source, rank, rows))
      return false;
    landings_[rank].push_back(
        {step.to / plan_.map.n, rows.rows, source, own_begin(rank) + rows.first});
    return true;
  }

  // By group and owner, the rows of the owner's share that the kernel of `source` stores there.
  using Stored = std::map<std::pair<int, int>, std::vector<Rows>>;
  Stored stored_by(int source) const {
    Stored stored;
    for (const tilepost_tile_t& tile : traffic_.maps[source]->tiles) {
      if (tile.row < 0 || tile.n != 0) continue;
      const int owner = static_cast<int>(tile.m / geometry_.share);
      const int64_t first = tile.m - own_begin(owner);
      stored[{tile.group, owner}].push_back(
          {first, std::min<int64_t>(geometry_.tile_m, geometry_.rows_of(owner) - first)});
    }
    for (auto& [place, rows] : stored) std::sort(rows.begin(), rows.end());
    return stored;
  }

  // Whether the tiles of `source` in the group cover all rows that a step reads of it.
  bool is_stored(int g, int source, int owner, const Rows& rows) const {
    const auto found = stored_[source].find({g, owner});
    if (found == stored_[source].end()) return false;
    int64_t row = rows.first;
    for (const Rows& tile : found->second)
      if (tile.first <= row && row < tile.first + tile.rows) row = tile.first + tile.rows;
    return row >= rows.first + rows.rows;
  }

  // Whether the rank has announced what others wait for, has pushed its sums, and has used what it
  // pulled.
  bool complete(int g, int rank) {
    const State& state = state_[rank];
    if (state.announced == writes() || state.announced_sums != reduces_all()) {
      findings_.add(fmt::format("group {0}: rank {1} does not announce it", g, rank));
      return false;
    }
    if (!pushed_all(rank)) {
      findings_.add(
          fmt::format("group {0}: rank {1} does not push what it has summed, once", g, rank));
      return false;
    }
    if (std::ranges::all_of(state.pulled, [](const auto& rows) { return rows.empty(); }))
      return true;
    findings_.add(fmt::format("group {0}: rank {1} pulls rows that it does not add up", g, rank));
    return false;
  }

  const Plan& plan_;
  const Traffic& traffic_;
  Findings& findings_;
  const Geometry geometry_;
  const ContentsByRank contents_;
  std::vector<Stored> stored_;  // [ranks]
  std::vector<State> state_;    // [ranks] in the group
  std::vector<std::vector<Landing>> landings_;
};

}  // namespace

void follow_shared_memory(const Plan& plan, const Traffic& traffic, Findings& findings) {
  SharedCheck check(plan, traffic, findings);
  check.targets();
  for (size_t g = 0; g < plan.cuts().size() && findings.empty(); ++g)
    check.group(static_cast<int>(g));
  for (int rank = 0; rank < plan.ranks && findings.empty(); ++rank) check.rank(rank);
}

}  // namespace tilepost
