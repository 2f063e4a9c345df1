// Rows of A arrive, and tiles wait for them: every rank ends with all rows of A, each written once,
// in natural order. Every tile, of the tables of other ranks too, which differ, waits for the group
// that brings the last of the rows it reads.
#include <fmt/format.h>

#include "generator/plan/verify/traffic.h"

namespace tilepost {
namespace {

// Rows [first, end) of A that are there once `group` has arrived.
struct Arrival {
  int64_t first, end;
  int group;
};

class GatherCheck {
 public:
  GatherCheck(const Plan& plan, const Traffic& traffic, Findings& findings)
      : plan_(plan),
        traffic_(traffic),
        findings_(findings),
        geometry_(plan),
        arrivals_(plan.ranks),
        announced_(plan.ranks, false) {}

  void group(int g) {
    sends_.assign(static_cast<size_t>(plan_.ranks) * plan_.ranks, {});
    announced_.assign(plan_.ranks, false);
    std::vector<std::vector<Step>> steps;
    for (int rank = 0; rank < plan_.ranks; ++rank) steps.push_back(traffic_.steps(g, rank));
    int calls = 0;
    for (int rank = 0; rank < plan_.ranks; ++rank)
      for (const Step& step : steps[rank]) {
        if (!take(g, rank, step)) return;
        calls += step.kind == StepKind::all_gather;
      }
    if (calls % plan_.ranks != 0)
      return findings_.add(
          fmt::format("group {0}: {1} of {2} ranks call the AllGather", g, calls, plan_.ranks));
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      for (const Step& step : steps[rank]) {
        if (step.kind == StepKind::receive_rows && !take_receive(g, rank, step)) return;
        if (step.kind == StepKind::landed_rows && !take_landed(g, rank, step)) return;
      }
      if (announced_[rank] != (shares() && g > 0))
        return findings_.add(fmt::format("rank {0} does not announce its rows of A", rank));
    }
    for (const SendQueue& left : sends_)
      if (!left.empty()) return fault(g, 0, left.front(), "is never received");
  }

  // Whether all rows arrive at the rank, each once, and with the group that the cuts say.
  void rows(int rank) {
    std::vector<Arrival>& arrivals = arrivals_[rank];
    std::sort(arrivals.begin(), arrivals.end(),
              [](const Arrival& x, const Arrival& y) { return x.first < y.first; });
    int64_t row = 0;
    for (const Arrival& arrival : arrivals) {
      if (arrival.first != row)
        return findings_.add(
            fmt::format("rank {0}: row {1} of A arrives, expected {2}", rank, arrival.first, row));
      row = arrival.end;
      if (plan_.map.division == TILEPOST_DIVISION_ARRIVALS && !as_cut(rank, arrival)) return;
    }
    if (row != geometry_.m)
      findings_.add(fmt::format("rank {0}: {1} of {2} rows of A arrive", rank, row, geometry_.m));
  }

  // Whether every tile waits for the last of the rows it reads, and for nothing later.
  void tiles(int rank, const TileMap& map) {
    const std::vector<int> last = last_arrivals(rank);
    for (size_t t = 0; t < map.tiles.size() && !findings_.full(); ++t) {
      const tilepost_tile_t& tile = map.tiles[t];
      if (tile.row < 0) continue;
      const int needed = last[tile.m / geometry_.tile_m];
      if (tile.group != needed)
        findings_.add(
            fmt::format("rank {0}, position {1}: a tile that reads rows from {2} on waits "
                        "for group {3}, the last of them arrive with group {4}",
                        rank, t, tile.m, tile.group, needed));
    }
  }

 private:
  void fault(int g, int rank, const Step& step, const char* what) {
    findings_.add(
        fmt::format("group {0}, rank {1}: a step from {2} to {3} of {4} elements, peer {5}, "
                    "{6}",
                    g, rank, step.from, step.to, step.count, step.peer, what));
  }

  int64_t own_begin(int rank) const { return std::min(rank * geometry_.share, geometry_.m); }
  SendQueue& sends(int from, int to) { return sends_[from * plan_.ranks + to]; }
  void arrive(int rank, int64_t element, int64_t count, int g) {
    arrivals_[rank].push_back({element / plan_.k, (element + count) / plan_.k, g});
  }

  bool shares() const { return plan_.access != TILEPOST_ACCESS_MESSAGES; }

  // Everything but receiving.
  bool take(int g, int rank, const Step& step) {
    const bool right = step.keep == 0 && step.from_slot == 0 &&
                       (step.kind == StepKind::own_rows ? take_own(g, rank, step)
                        : shares()                      ? take_shared(g, rank, step)
                                                        : take_message(g, rank, step));
    if (!right) fault(g, rank, step, "is none of this rank's");
    return right;
  }

  bool take_message(int g, int rank, const Step& step) {
    return step.kind == StepKind::all_gather  ? take_all(g, rank, step)
           : step.kind == StepKind::send_rows ? take_send(rank, step)
                                              : step.kind == StepKind::receive_rows;
  }

  // Everything but what others have stored here, which nobody waits for before saying what it has
  // stored itself.
  bool take_shared(int g, int rank, const Step& step) {
    if (g == 0) return false;
    if (step.kind == StepKind::announce) return take_announce(rank, step);
    if (step.kind == StepKind::landed_rows) return announced_[rank];
    return step.kind == StepKind::push_rows && !announced_[rank] && take_push(rank, step);
  }

  // From the rank's own rows to where the peer has room for them.
  bool take_push(int rank, const Step& step) {
    Step in_all = step;
    in_all.from = step.from + own_begin(rank) * plan_.k;
    if (in_all.from != step.to || !may_send(rank, step.peer, in_all)) return false;
    sends(rank, step.peer).steps.push_back(in_all);
    return true;
  }

  // Once in a group, when the own rows are there.
  bool take_announce(int rank, const Step& step) {
    const bool right = !announced_[rank] && has_own(rank) && step.from == 0 && step.to == 0 &&
                       step.count == 0 && step.peer == 0;
    announced_[rank] = true;
    return right;
  }

  // First of all, because the others send what it brings.
  bool take_own(int g, int rank, const Step& step) {
    const bool right = g == 0 && arrivals_[rank].empty() && step.from == 0 &&
                       step.to == own_begin(rank) * plan_.k &&
                       step.count == geometry_.rows_of(rank) * plan_.k;
    if (right) arrive(rank, step.to, step.count, g);
    return right;
  }

  // In place: rank r's rows are at r * count already.
  bool take_all(int g, int rank, const Step& step) {
    const int64_t count = geometry_.share * plan_.k;
    if (step.to != 0 || step.count != count || step.from != rank * count || !has_own(rank) ||
        geometry_.share * plan_.ranks != geometry_.m)
      return false;
    for (int peer = 0; peer < plan_.ranks; ++peer)
      if (peer != rank) arrive(rank, peer * count, count, g);
    return true;
  }

  bool take_send(int rank, const Step& step) {
    if (!may_send(rank, step.peer, step)) return false;
    sends(rank, step.peer).steps.push_back(step);
    return true;
  }

  // Whether the step is of rows that `from` has of its own, for another rank.
  bool may_send(int from, int to, const Step& step) const {
    const bool two = from >= 0 && from < plan_.ranks && to >= 0 && to < plan_.ranks && from != to;
    if (!two) return false;
    const int64_t begin = own_begin(from) * plan_.k;
    const int64_t end = begin + geometry_.rows_of(from) * plan_.k;
    return step.count > 0 && step.from >= begin && step.from + step.count <= end &&
           step.from % plan_.k == 0 && step.count % plan_.k == 0 && has_own(from);
  }

  bool take_receive(int g, int rank, const Step& step) {
    const bool peer = step.peer >= 0 && step.peer < plan_.ranks;
    SendQueue* from = peer ? &sends(step.peer, rank) : nullptr;
    if (!peer || from->empty() || from->front().count != step.count ||
        from->front().from != step.to) {
      fault(g, rank, step, "receives what is not sent");
      return false;
    }
    ++from->next;
    arrive(rank, step.to, step.count, g);
    return true;
  }

  // What the peer has pushed, where it lies.
  bool take_landed(int g, int rank, const Step& step) {
    const bool peer = step.peer >= 0 && step.peer < plan_.ranks && announced_[step.peer];
    if (!peer || step.from != step.to) {
      fault(g, rank, step, "is not where it lands, or not announced");
      return false;
    }
    return take_receive(g, rank, step);
  }

  bool has_own(int rank) const { return !arrivals_[rank].empty() || geometry_.rows_of(rank) == 0; }

  // Of another share, what lies between the group's cuts; of the own one, everything.
  bool as_cut(int rank, const Arrival& arrival) {
    const int64_t source = arrival.first / geometry_.share;
    if (source == rank ? arrival.group == 0 : arrival.group > 0 && in_place(rank, source, arrival))
      return true;
    findings_.add(
        fmt::format("rank {0}: rows {1} to {2} arrive with group {3}, whose cuts say "
                    "otherwise",
                    rank, arrival.first, arrival.end, arrival.group));
    return false;
  }

  // Cuts count the tile rows of every other share; with copy engines those of all of them, one
  // share after the other from the next rank's on.
  bool in_place(int rank, int64_t source, const Arrival& arrival) const {
    const bool round_robin = plan_.access == TILEPOST_ACCESS_READ;
    const int64_t shares_before = round_robin ? (source - rank - 1 + plan_.ranks) % plan_.ranks : 0;
    const int64_t before = shares_before * geometry_.share_tiles;
    const int64_t within = arrival.first % geometry_.share;
    const int64_t end = within + arrival.end - arrival.first;
    const int64_t first = std::max<int64_t>(plan_.cuts()[arrival.group - 1] - before, 0);
    return within == first * geometry_.tile_m && end <= geometry_.share &&
           end <= (plan_.cuts()[arrival.group] - before) * geometry_.tile_m;
  }

  // By tile row, the group that brings the last of its rows.
  std::vector<int> last_arrivals(int rank) const {
    std::vector<int> last(static_cast<size_t>(geometry_.tile_rows()), 0);
    for (const Arrival& arrival : arrivals_[rank])
      for (int64_t t = arrival.first / geometry_.tile_m; t * geometry_.tile_m < arrival.end; ++t)
        last[t] = std::max(last[t], arrival.group);
    return last;
  }

  const Plan& plan_;
  const Traffic& traffic_;
  Findings& findings_;
  const Geometry geometry_;
  std::vector<SendQueue> sends_;  // of the group, [from][to]
  std::vector<std::vector<Arrival>> arrivals_;
  std::vector<bool> announced_;
};

void follow_gather(const Plan& plan, const Traffic& traffic, Findings& findings) {
  GatherCheck check(plan, traffic, findings);
  for (size_t g = 0; g < plan.cuts().size() && findings.empty(); ++g)
    check.group(static_cast<int>(g));
  for (int rank = 0; rank < plan.ranks && findings.empty(); ++rank) check.rows(rank);
  if (plan.map.division != TILEPOST_DIVISION_ARRIVALS || !findings.empty()) return;
  for (const int rank : ranks_to_check(plan)) {
    if (rank == 0) {
      check.tiles(rank, plan.tile_map());
    } else {
      const TileMap map = build_tile_map(plan.map, {.rank = rank, .splits = {}});
      if (verify_tiles(plan, map, findings)) check.tiles(rank, map);
    }
    if (!findings.empty()) return;
  }
}

tilepost_division_t division(const Plan& plan) {
  return plan.transport != TILEPOST_TRANSPORT_NONE ? TILEPOST_DIVISION_ARRIVALS
                                                   : TILEPOST_DIVISION_ROWS;
}

// Rows of A go to all ranks wherever memory is shared, by copy engines or by tasks.
bool pushes_as_it_may(const Plan& plan) {
  return (plan.pushes != 0) == (plan.access != TILEPOST_ACCESS_MESSAGES) &&
         (plan.access != TILEPOST_ACCESS_WRITE || plan.task_parts == 1 || plan.arch == Arch::host);
}

}  // namespace

const PatternCheck kAllGatherGemmCheck = {division, pushes_as_it_may, nullptr, follow_gather};

}  // namespace tilepost
