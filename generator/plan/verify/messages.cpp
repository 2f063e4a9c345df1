// Follows the steps of ranks that exchange messages, except where rows of A move (arrivals.cpp).
#include <fmt/format.h>

#include "generator/plan/verify/traffic.h"

namespace tilepost {
namespace {

// Rows of out that a step writes, and where in whose send buffer they come from.
struct Landing {
  int64_t to, rows;
  int source;
  int64_t from;
};

class MessageCheck {
 public:
  MessageCheck(const Plan& plan, const Traffic& traffic, Findings& findings)
      : plan_(plan),
        traffic_(traffic),
        findings_(findings),
        width_(plan.map.layout == TILEPOST_PANEL ? plan.map.n : plan.map.tile_n),
        contents_(contents_of(plan, traffic)),
        landings_(plan.ranks) {}

  void group(int g) {
    sends_.assign(static_cast<size_t>(plan_.ranks) * plan_.ranks, {});
    std::vector<std::vector<Step>> steps, collectives(plan_.ranks);
    for (int rank = 0; rank < plan_.ranks; ++rank) steps.push_back(traffic_.steps(g, rank));
    for (int rank = 0; rank < plan_.ranks; ++rank)
      for (const Step& step : steps[rank])
        if (!take_send(g, rank, step, collectives[rank])) return;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      for (const Step& step : steps[rank])
        if (step.kind == StepKind::receive && !take_receive(g, rank, step)) return;
      if (!same_collectives(g, rank, collectives[0], collectives[rank])) return;
      for (const Step& step : collectives[rank])
        if (!take_collective(g, rank, step)) return;
    }
    for (const SendQueue& left : sends_)
      if (!left.empty()) return fault(g, 0, left.front(), "is never received");
  }

  // Checks that the rank ends with what it is meant to, each element written once.
  void rank(int rank) {
    std::vector<Landing>& landings = landings_[rank];
    std::sort(landings.begin(), landings.end(),
              [](const Landing& x, const Landing& y) { return x.to < y.to; });
    const std::vector<Wanted> wanted = check_of(plan_).wanted(plan_, traffic_, rank);
    size_t piece = 0;
    int64_t to = 0, done = 0;  // rows of out, and of the piece
    for (const Landing& landing : landings) {
      if (landing.to != to)
        return findings_.add(
            fmt::format("rank {0}: row {1} of out is written, expected {2}", rank, landing.to, to));
      for (int64_t row = 0; row < landing.rows;) {
        while (piece < wanted.size() && done == wanted[piece].rows) ++piece, done = 0;
        if (piece == wanted.size())
          return findings_.add(fmt::format("rank {0}: row {1} of out is written, there are no more",
                                           rank, to + row));
        const int64_t rows = agree(rank, to + row, landing, row, wanted[piece], done);
        if (rows == 0) return;
        row += rows, done += rows;
      }
      to += landing.rows;
    }
    while (piece < wanted.size() && done == wanted[piece].rows) ++piece, done = 0;
    if (piece < wanted.size() || to * width_ != traffic_.received[rank])
      findings_.add(fmt::format("rank {0}: {1} rows of out are written, {2} elements are received",
                                rank, to, traffic_.received[rank]));
  }

 private:
  void fault(int g, int rank, const Step& step, const char* what) {
    findings_.add(
        fmt::format("group {0}, rank {1}: a step from {2} to {3} of {4} elements, peer {5}, "
                    "{6}",
                    g, rank, step.from, step.to, step.count, step.peer, what));
  }

  SendQueue& sends(int from, int to) { return sends_[from * plan_.ranks + to]; }
  const Contents& contents(int source) const { return *contents_[std::max(source, 0)]; }

  // Whether the `elements` elements from step.from on are whole rows that the group has finished.
  // What lies behind the last group's block is padding and never written.
  bool finished(int g, int rank, const Step& step, int64_t elements) {
    const TileMap& map = *traffic_.maps[rank];
    const tilepost_group_t& group = map.groups[g];
    const bool last = g + 1 == static_cast<int>(map.groups.size());
    const int64_t end = last ? traffic_.buffer : group.offset + group.count;
    if (step.count <= 0 || step.from % width_ != 0 || step.to % width_ != 0 ||
        step.count % width_ != 0 || step.keep % width_ != 0) {
      fault(g, rank, step, "is not whole rows");
      return false;
    }
    if (step.from >= group.offset && step.from + elements <= end) return true;
    fault(g, rank, step, "reads beyond its group");
    return false;
  }

  bool take_send(int g, int rank, const Step& step, std::vector<Step>& collectives) {
    const bool peer = step.kind == StepKind::send || step.kind == StepKind::receive;
    if (peer && (step.peer < 0 || step.peer >= plan_.ranks)) {
      fault(g, rank, step, "has no peer");
      return false;
    }
    if (step.kind == StepKind::send) {
      sends(rank, step.peer).steps.push_back(step);
      return finished(g, rank, step, step.count);
    }
    if (!peer) collectives.push_back(step);
    return true;
  }

  bool take_receive(int g, int rank, const Step& step) {
    SendQueue& from = sends(step.peer, rank);
    if (from.empty() || from.front().count != step.count || step.to % width_ != 0) {
      fault(g, rank, step, "receives what is not sent");
      return false;
    }
    landings_[rank].push_back(
        {step.to / width_, step.count / width_, step.peer, from.front().from / width_});
    ++from.next;
    return true;
  }

  // Collectives are calls that all ranks make alike.
  bool same_collectives(int g, int rank, const std::vector<Step>& first,
                        const std::vector<Step>& own) {
    const auto alike = [](const Step& x, const Step& y) {
      return x.kind == y.kind && x.from == y.from && x.count == y.count;
    };
    if (std::equal(first.begin(), first.end(), own.begin(), own.end(), alike)) return true;
    findings_.add(
        fmt::format("group {0}: rank {1} makes other collective calls than rank 0", g, rank));
    return false;
  }

  bool take_collective(int g, int rank, const Step& step) {
    const bool all = step.kind == StepKind::all_reduce;
    if (!all && step.kind != StepKind::reduce_scatter) {
      fault(g, rank, step, "is no message of this pattern");
      return false;
    }
    if (!finished(g, rank, step, step.count * (all ? 1 : plan_.ranks))) return false;
    if (all ? step.from != step.to : step.keep < 0 || step.keep > step.count) {
      fault(g, rank, step, all ? "is not in place" : "keeps more than it receives");
      return false;
    }
    const int64_t rows = (all ? step.count : step.keep) / width_;
    const int64_t from = (step.from + (all ? 0 : rank * step.count)) / width_;
    if (rows > 0) landings_[rank].push_back({step.to / width_, rows, kAnyRank, from});
    return true;
  }

  // How many rows of `landing`, from its row `row` on, are those that `wanted` has from row `done`
  // on.
  int64_t agree(int rank, int64_t to, const Landing& landing, int64_t row, const Wanted& wanted,
                int64_t done) {
    const int64_t rows = std::min(landing.rows - row, wanted.rows - done);
    if (wanted.m == kAny) return rows;
    const int64_t from = landing.from + row;
    const Strip* strip = contents(landing.source).at(from);
    if (strip != nullptr && strip->m + from - strip->row == wanted.m + done &&
        strip->n == wanted.n && landing.source == wanted.source)
      return std::min(rows, strip->row + strip->rows - from);
    findings_.add(
        fmt::format("rank {0}: row {1} of out comes from row {2} of rank {3}'s send buffer, "
                    "which is not row {4}, column {5} of rank {6}'s product",
                    rank, to, from, landing.source, wanted.m + done, wanted.n, wanted.source));
    return 0;
  }

  const Plan& plan_;
  const Traffic& traffic_;
  Findings& findings_;
  const int64_t width_;
  const ContentsByRank contents_;
  std::vector<SendQueue> sends_;  // of the group, [from][to]
  std::vector<std::vector<Landing>> landings_;
};

}  // namespace

void follow_messages(const Plan& plan, const Traffic& traffic, Findings& findings) {
  MessageCheck check(plan, traffic, findings);
  for (size_t g = 0; g < plan.cuts().size() && findings.empty(); ++g)
    check.group(static_cast<int>(g));
  for (int rank = 0; rank < plan.ranks && findings.empty(); ++rank) check.rank(rank);
}

void follow_product(const Plan& plan, const Traffic& traffic, Findings& findings) {
  if (plan.access == TILEPOST_ACCESS_MESSAGES) return follow_messages(plan, traffic, findings);
  if (plan.access == TILEPOST_ACCESS_TILES) return follow_tiles(plan, findings);
  follow_shared_memory(plan, traffic, findings);
}

}  // namespace tilepost
