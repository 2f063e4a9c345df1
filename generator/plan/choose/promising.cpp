// Which candidates are worth measuring. The model errs by some percent, and errs alike for
// candidates that are alike. So the few that are measured differ in kernel, transport and budget.

#include <algorithm>
#include <map>

#include "generator/plan/choose/choices.h"
#include "generator/plan/kernels/kernels.h"

namespace tilepost {
namespace {

// Candidates that are predicted to take longer than the best by more than this factor are not worth
// measuring. The best of each transport is, up to the second factor: whole transports may be
// predicted wrongly, on machines that nothing was fitted to.
constexpr double kNear = 1.12, kFar = 1.5;

// Candidates with the same tiles and transport: they differ in budget and lanes only.
constexpr int kMostAlike = 2;

// The candidates whose groups are merged before they are compared. To merge takes as long as to
// find the groups.
constexpr size_t kMerged = 48;

struct Ranked {
  Candidate candidate;
  double us = 0;
};

// The candidate with the groups that a plan would have, and its end with the planner's doubts.
Ranked rank(const Draft& draft, const Choices& choices, const Candidate& candidate) {
  Ranked ranked{candidate, 0};
  if (candidate.overlaps() && !candidate.is_one_group() && !choices.asks_groups)
    merge_groups(ranked.candidate);
  ranked.us = ranked.candidate.end * (1 + doubt_of(draft, candidate));
  return ranked;
}

bool is_earlier(const Ranked& one, const Ranked& other) {
  return one.us < other.us;
}

// What may win, the earliest first.
std::vector<Ranked> rank_all(const Draft& draft, const Choices& choices) {
  std::vector<const Candidate*> all;
  all.reserve(choices.overlap.size());
  for (const Candidate& candidate : choices.overlap) all.push_back(&candidate);
  std::ranges::stable_sort(all, {}, [](const Candidate* each) { return each->end; });
  std::vector<Ranked> ranked;
  std::map<tilepost_transport_t, int> of_transport;
  for (const Candidate* candidate : all)
    if (ranked.size() < kMerged || of_transport[candidate->transport->row.value]++ < kMostAlike)
      ranked.push_back(rank(draft, choices, *candidate));
  if (choices.may_follow)
    for (const Candidate& candidate : choices.sequence)
      ranked.push_back({candidate, candidate.end});
  std::ranges::stable_sort(ranked, is_earlier);
  return ranked;
}

// The picks so far, and what they have in common.
class Few {
 public:
  Few(const Candidate& chosen, size_t most) : most_(most) { add(pick_of(chosen)); }

  // Adds the candidate unless it is there already, or there are enough of its kind.
  void offer(const Candidate& candidate, bool whatever_kind) {
    const Pick pick = pick_of(candidate);
    if (picks_.size() >= most_ || std::ranges::find(picks_, pick) != picks_.end()) return;
    if (!whatever_kind && kinds_[kind_of(pick)] >= kMostAlike) return;
    add(pick);
  }

  bool has(tilepost_transport_t transport) const {
    return std::ranges::find(picks_, transport, &Pick::transport) != picks_.end();
  }

  std::vector<Pick> take() { return std::move(picks_); }

 private:
  // The pick without its budget, groups and pace.
  static std::string kind_of(const Pick& pick) {
    Pick kind = pick;
    kind.comm_ctas = 0;
    kind.comm_lanes = 1;
    kind.cuts.clear();
    kind.pace.reset();
    return pick_text(kind);
  }

  void add(const Pick& pick) {
    picks_.push_back(pick);
    ++kinds_[kind_of(pick)];
  }

  const size_t most_;
  std::vector<Pick> picks_;
  std::map<std::string, int> kinds_;
};

}  // namespace

std::vector<Pick> promising(const Draft& draft, const Choices& choices, const Candidate& chosen,
                            size_t most) {
  Few few(chosen, most);
  if (draft.plan.arch == Arch::host) return few.take();  // nothing is predicted there
  const std::vector<Ranked> ranked = rank_all(draft, choices);
  for (const Ranked& each : ranked)
    if (each.us <= kFar * ranked.front().us && !few.has(each.candidate.transport->row.value))
      few.offer(each.candidate, true);
  // The model may merge too many groups of the choice.
  for (const Candidate& candidate : choices.overlap) {
    Pick merged = pick_of(candidate);
    merged.cuts = chosen.cuts;
    if (merged == pick_of(chosen)) few.offer(candidate, true);
  }
  for (const Ranked& each : ranked)
    if (each.us <= kNear * ranked.front().us) few.offer(each.candidate, false);
  return few.take();
}

}  // namespace tilepost
