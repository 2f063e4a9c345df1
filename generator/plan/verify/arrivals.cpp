#include "generator/plan/verify/arrivals.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilepost {
namespace {

// Rows [first, end) of those that a rank multiplies. They are there once `group` has arrived.
struct Arrival {
  int64_t first, end;
  int group;
};

// Rows [first, end) of a block.
struct Part {
  int64_t first, end;
};

class ArrivalCheck {
 public:
  ArrivalCheck(const Plan& plan, const Traffic& traffic, const RowBlocks& asked, Findings& findings)
      : plan_(plan),
        traffic_(traffic),
        asked_(asked),
        findings_(findings),
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

  // Checks that all rows arrive at the rank, each once, and with the group that the cuts say.
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
    if (row != rows_for(rank))
      findings_.add(
          fmt::format("rank {0}: {1} of {2} rows of A arrive", rank, row, rows_for(rank)));
  }

  // Checks that every tile waits for the last of the rows it reads, and for nothing later.
  void tiles(int rank, const TileMap& map) const { tiles(rank, map, arrivals_[rank]); }

  // Checks the tiles of the plan's own table in the same way. That table is for equal shares of all
  // that a rank may receive.
  void planned_tiles() const {
    const Geometry equal(plan_);
    const int64_t counted_shares = in_turns() ? std::max(plan_.ranks - 1, 1) : 1;
    if (plan_.cuts().back() != equal.share_tiles * counted_shares)
      return findings_.add(fmt::format("cuts end at {0}, {1} shares have {2} tile rows each",
                                       plan_.cuts().back(), counted_shares, equal.share_tiles));
    std::vector<Arrival> arrivals;
    for (int source = 0; source < plan_.ranks; ++source) {
      const int64_t begin = source * equal.share, rows = equal.rows_of(source);
      if (source == 0) arrivals.push_back({begin, begin + rows, 0});
      for (int g = 1; source != 0 && g < static_cast<int>(plan_.cuts().size()); ++g) {
        const Part part = tile_rows_of(g, source, 0, rows);
        if (part.first < part.end) arrivals.push_back({begin + part.first, begin + part.end, g});
      }
    }
    tiles(0, plan_.tile_map(), arrivals);
  }

  int64_t rows_for(int rank) const {
    int64_t rows = 0;
    for (int source = 0; source < plan_.ranks; ++source) rows += block(source, rank).rows;
    return rows;
  }

 private:
  void fault(int g, int rank, const Step& step, const char* what) {
    findings_.add(
        fmt::format("group {0}, rank {1}: a step from {2} to {3} of {4} elements, peer {5}, "
                    "{6}",
                    g, rank, step.from, step.to, step.count, step.peer, what));
  }

  const RowBlock& block(int source, int rank) const { return asked_.blocks[source][rank]; }
  const RowBlock& own(int rank) const { return block(rank, rank); }
  SendQueue& sends(int from, int to) { return sends_[from * plan_.ranks + to]; }
  void arrive(int rank, int64_t element, int64_t count, int g) {
    arrivals_[rank].push_back({element / plan_.k, (element + count) / plan_.k, g});
  }

  bool shares() const { return plan_.access != TILEPOST_ACCESS_MESSAGES; }

  // Takes every step but those that receive.
  bool take(int g, int rank, const Step& step) {
    const bool right = step.keep == 0 && step.from_slot == 0 &&
                       (step.kind == StepKind::own_rows ? take_own(g, rank, step)
                        : shares()                      ? take_shared(g, rank, step)
                                                        : take_message(g, rank, step));
    if (!right) fault(g, rank, step, "is none of this rank's");
    return right;
  }

  // Rows are sent from where all rows are gathered, or from the rank's A.
  bool take_message(int g, int rank, const Step& step) {
    if (step.kind == StepKind::all_gather) return take_all(g, rank, step);
    if (step.kind == StepKind::send_own_rows) return take_send(rank, step, step.from) >= 0;
    if (step.kind != StepKind::send_rows) return step.kind == StepKind::receive_rows;
    const int64_t moved = (own(rank).to - own(rank).from) * plan_.k;
    return take_send(rank, step, step.from - moved) >= 0;
  }

  // Takes every step but those that use what others have stored here. A rank may wait for that only
  // after it has announced what it has stored itself.
  bool take_shared(int g, int rank, const Step& step) {
    if (g == 0) return false;
    if (step.kind == StepKind::announce) return take_announce(rank, step);
    if (step.kind == StepKind::landed_rows) return announced_[rank];
    return step.kind == StepKind::push_rows && !announced_[rank] &&
           take_send(rank, step, step.from) == step.to && step.to >= 0;
  }

  // A rank announces once in a group, when its own rows are there.
  bool take_announce(int rank, const Step& step) {
    const bool right = !announced_[rank] && has_own(rank) && step.from == 0 && step.to == 0 &&
                       step.count == 0 && step.peer == 0;
    announced_[rank] = true;
    return right;
  }

  // Own rows come first of all, because other steps send the rows that this one brings.
  bool take_own(int g, int rank, const Step& step) {
    const RowBlock& rows = own(rank);
    const bool right = g == 0 && arrivals_[rank].empty() && step.from == rows.from * plan_.k &&
                       step.to == rows.to * plan_.k && step.count == rows.rows * plan_.k;
    if (right) arrive(rank, step.to, step.count, g);
    return right;
  }

  // The AllGather is in place: rank r's rows, the same number for every rank, are at r * count
  // already.
  bool take_all(int g, int rank, const Step& step) {
    if (step.to != 0 || step.from != rank * step.count || !has_own(rank)) return false;
    for (int peer = 0; peer < plan_.ranks; ++peer)
      if (block(peer, rank).to * plan_.k != peer * step.count ||
          block(peer, rank).rows * plan_.k != step.count ||
          block(rank, peer).from != own(rank).from)
        return false;
    for (int peer = 0; peer < plan_.ranks; ++peer)
      if (peer != rank) arrive(rank, peer * step.count, step.count, g);
    return true;
  }

  // Takes a step that reads the rank's A at `element`. Returns where its rows go among the peer's
  // rows, in elements; -1 if the rank has no such rows for that peer.
  int64_t take_send(int from, const Step& step, int64_t element) {
    const int to = step.peer;
    const bool two = from >= 0 && from < plan_.ranks && to >= 0 && to < plan_.ranks && from != to;
    if (!two || !has_own(from)) return -1;
    const RowBlock& rows = block(from, to);
    const int64_t within = element - rows.from * plan_.k;
    if (step.count <= 0 || within < 0 || within + step.count > rows.rows * plan_.k ||
        within % plan_.k != 0 || step.count % plan_.k != 0)
      return -1;
    Step sent = step;
    sent.to = rows.to * plan_.k + within;
    sends(from, to).steps.push_back(sent);
    return sent.to;
  }

  bool take_receive(int g, int rank, const Step& step) {
    const bool peer = step.peer >= 0 && step.peer < plan_.ranks;
    SendQueue* from = peer ? &sends(step.peer, rank) : nullptr;
    if (!peer || from->empty() || from->front().count != step.count ||
        from->front().to != step.to) {
      fault(g, rank, step, "receives what is not sent");
      return false;
    }
    ++from->next;
    arrive(rank, step.to, step.count, g);
    return true;
  }

  // What the peer has pushed stays where it lands.
  bool take_landed(int g, int rank, const Step& step) {
    const bool peer = step.peer >= 0 && step.peer < plan_.ranks && announced_[step.peer];
    if (!peer || step.from != step.to) {
      fault(g, rank, step, "is not where it lands, or not announced");
      return false;
    }
    return take_receive(g, rank, step);
  }

  bool has_own(int rank) const { return !arrivals_[rank].empty() || own(rank).rows == 0; }

  // Whether the rows arrive with the group that the cuts say: own rows with group 0, and of another
  // rank's rows exactly those between the cuts of the group.
  bool as_cut(int rank, const Arrival& arrival) {
    int source = 0;
    while (source < plan_.ranks && !holds(block(source, rank), arrival.first)) ++source;
    if (source < plan_.ranks &&
        (source == rank ? arrival.group == 0 : in_place(rank, source, arrival)))
      return true;
    findings_.add(
        fmt::format("rank {0}: rows {1} to {2} arrive with group {3}, whose cuts say "
                    "otherwise",
                    rank, arrival.first, arrival.end, arrival.group));
    return false;
  }

  static bool holds(const RowBlock& rows, int64_t row) {
    return rows.to <= row && row < rows.to + rows.rows;
  }

  bool in_place(int rank, int source, const Arrival& arrival) const {
    if (arrival.group == 0) return false;
    const RowBlock& rows = block(source, rank);
    const Part part = asked_.in_parts ? part_of(arrival.group, source, rank, rows.rows)
                                      : tile_rows_of(arrival.group, source, rank, rows.rows);
    return arrival.first - rows.to == part.first && arrival.end - rows.to == part.end;
  }

  // The tile rows of one share that cuts count.
  int64_t counted() const {
    return plan_.cuts().back() / (in_turns() ? std::max(plan_.ranks - 1, 1) : 1);
  }
  bool in_turns() const { return plan_.access == TILEPOST_ACCESS_READ; }

  // Cuts count the tile rows that every other share has. With copy engines they count the tile rows
  // of all other shares, one share after the other, from the next rank's share on.
  Part counted_rows(int group, int source, int rank) const {
    const int64_t all = counted();
    const int64_t shares_before = in_turns() ? (source - rank - 1 + plan_.ranks) % plan_.ranks : 0;
    return {std::clamp<int64_t>(plan_.cuts()[group - 1] - shares_before * all, 0, all),
            std::clamp<int64_t>(plan_.cuts()[group] - shares_before * all, 0, all)};
  }

  // The rows of the tile rows of counted_rows(), in a share of `rows` rows.
  Part tile_rows_of(int group, int source, int rank, int64_t rows) const {
    const Part part = counted_rows(group, source, rank);
    return {std::min(part.first * plan_.map.tile_m, rows),
            std::min(part.end * plan_.map.tile_m, rows)};
  }

  // As tile_rows_of, for cuts that count parts: the same part of a block of `rows` rows.
  Part part_of(int group, int source, int rank, int64_t rows) const {
    const Part part = counted_rows(group, source, rank);
    const int64_t tile_m = plan_.map.tile_m, all = (rows + tile_m - 1) / tile_m;
    return {std::min(all * part.first / counted() * tile_m, rows),
            std::min(all * part.end / counted() * tile_m, rows)};
  }

  void tiles(int rank, const TileMap& map, const std::vector<Arrival>& arrivals) const {
    const int64_t tile_m = plan_.map.tile_m;
    std::vector<int> last;  // by tile row, the group that brings the last of its rows
    for (const Arrival& arrival : arrivals)
      for (int64_t t = arrival.first / tile_m; t * tile_m < arrival.end; ++t) {
        if (static_cast<size_t>(t) >= last.size()) last.resize(t + 1, 0);
        last[t] = std::max(last[t], arrival.group);
      }
    for (size_t t = 0; t < map.tiles.size() && !findings_.full(); ++t) {
      const tilepost_tile_t& tile = map.tiles[t];
      if (tile.row < 0) continue;
      const auto row = static_cast<size_t>(tile.m / tile_m);
      const int needed = row < last.size() ? last[row] : -1;
      if (tile.group != needed)
        findings_.add(
            fmt::format("rank {0}, position {1}: a tile that reads rows from {2} on waits "
                        "for group {3}, the last of them arrive with group {4}",
                        rank, t, tile.m, tile.group, needed));
    }
  }

  const Plan& plan_;
  const Traffic& traffic_;
  const RowBlocks& asked_;
  Findings& findings_;
  std::vector<SendQueue> sends_;  // of the group, [from][to]; `to` as the peer has it
  std::vector<std::vector<Arrival>> arrivals_;
  std::vector<bool> announced_;
};

// Checks the table of a rank, whose number of rows may differ from that of others.
void check_table(const Plan& plan, const ArrivalCheck& check, int rank, const TileMap& map,
                 Findings& findings) {
  Plan own = plan;
  own.map.m = check.rows_for(rank);
  if (verify_tiles(own, map, findings)) check.tiles(rank, map);
}

}  // namespace

void follow_arrivals(const Plan& plan, const Traffic& traffic, const RowBlocks& arrivals,
                     Findings& findings) {
  ArrivalCheck check(plan, traffic, arrivals, findings);
  for (size_t g = 0; g < plan.cuts().size() && findings.empty(); ++g)
    check.group(static_cast<int>(g));
  for (int rank = 0; rank < plan.ranks && findings.empty(); ++rank) check.rows(rank);
  if (plan.map.division != TILEPOST_DIVISION_ARRIVALS || !findings.empty()) return;
  check.planned_tiles();
  for (const int rank : ranks_to_check(plan)) {
    if (!findings.empty()) return;
    if (arrivals.in_parts)
      check_table(plan, check, rank, *traffic.maps[rank], findings);
    else if (rank != 0)
      check_table(plan, check, rank, build_tile_map(plan.map, {.rank = rank, .splits = {}}),
                  findings);
  }
}

tilepost_division_t division_of_arrivals(const Plan& plan) {
  return plan.transport != TILEPOST_TRANSPORT_NONE ? TILEPOST_DIVISION_ARRIVALS
                                                   : TILEPOST_DIVISION_ROWS;
}

// Rows of A are pushed wherever ranks share memory: by copy engines, by tasks or, if they are
// tokens, by a kernel in front of the GEMM.
bool pushes_arrivals(const Plan& plan) {
  return (plan.pushes != 0) == (plan.access != TILEPOST_ACCESS_MESSAGES) &&
         (plan.access != TILEPOST_ACCESS_WRITE || plan.task_parts == 1 ||
          row_of(plan).dispatches() || plan.arch == Arch::host);
}

}  // namespace tilepost
