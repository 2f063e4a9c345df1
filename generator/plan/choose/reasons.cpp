// Why the planner chose what it chose, in words.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/plan/choose/candidates.h"
#include "generator/plan/cost/predict.h"
#include "generator/plan/kernels/kernels.h"

namespace tilepost {
namespace {

std::string tile_of(const KernelChoice& kernel) {
  const int split_k = kernel.config.split_k;
  const std::string split = kernel.config.across > 1
                                ? fmt::format(" on {0} CTAs that share A", kernel.config.across)
                            : split_k == 1 ? ""
                                           : fmt::format(", K over {0} CTAs", split_k);
  return fmt::format("{0}x{1}{2}, cluster {3}, {4} stages{5}", kernel.config.tile_m,
                     kernel.config.tile_n,
                     kernel.config.family->is_swapped(kernel.config) ? " swapped" : "",
                     kernel.request.cluster, kernel.config.stages, split);
}

std::string us(double value) {
  return fmt::format("{:.0f} us", value);
}

// "24", or "32 in 2 lanes".
std::string budget_of(const Candidate& candidate) {
  const std::string ctas = std::to_string(candidate.comm_ctas);
  return candidate.comm_lanes == 1
             ? ctas
             : ctas + " in " + std::to_string(candidate.comm_lanes) + " lanes";
}

// "128x192: 846 us" for each other tile, best first, at most three.
std::string runners_up(const std::vector<Candidate>& candidates, const Candidate& chosen) {
  std::vector<const Candidate*> others;
  for (const KernelChoice* kernel = nullptr; const Candidate& candidate : candidates) {
    if (candidate.kernel == chosen.kernel) continue;
    if (candidate.kernel != kernel)
      others.push_back(&candidate);
    else if (candidate.end < others.back()->end)
      others.back() = &candidate;
    kernel = candidate.kernel;
  }
  std::ranges::sort(others, [](const Candidate* a, const Candidate* b) {
    return a->end != b->end ? a->end < b->end : a < b;  // all in one vector
  });
  std::string text;
  for (size_t i = 0; i < others.size() && i < 3; ++i)
    text += (i ? "; " : "") + tile_of(*others[i]->kernel) + ": " + us(others[i]->end);
  return text;
}

// "16: 431 us" for each budget of the chosen tile, smallest first, one lane before two.
std::string budgets(const std::vector<Candidate>& candidates, const Candidate& chosen) {
  std::vector<const Candidate*> same;
  for (const Candidate& candidate : candidates)
    if (candidate.kernel == chosen.kernel) same.push_back(&candidate);
  std::ranges::sort(same, [](const Candidate* a, const Candidate* b) {
    return std::pair(a->comm_lanes, a->comm_ctas) < std::pair(b->comm_lanes, b->comm_ctas);
  });
  std::string text;
  for (const Candidate* candidate : same)
    text += (text.empty() ? "" : ", ") + budget_of(*candidate) + ": " + us(candidate->end);
  return text;
}

// "one shot: 14 us, two shots: 16 us" of the chosen tile; "" where kernels exchange no tiles.
std::string shots_text(const std::vector<Candidate>& candidates, const Candidate& chosen) {
  std::string text;
  for (const Candidate& candidate : candidates) {
    if (candidate.kernel != chosen.kernel || candidate.shots == TILEPOST_SHOTS_NONE) continue;
    text += (text.empty() ? "" : ", ") + std::string(words_of(candidate.shots)) + ": " +
            us(candidate.end);
  }
  return text;
}

std::vector<Candidate> of_transport(const std::vector<Candidate>& candidates,
                                    const Transport* transport) {
  std::vector<Candidate> same;
  std::ranges::copy_if(candidates, std::back_inserter(same), [&](const Candidate& candidate) {
    return candidate.transport == transport;
  });
  return same;
}

// The predicted time of every transport that was compared, best first; "" for fewer than two.
// `merges`: whether groups will be merged, because the spec leaves them open.
std::string transports_text(const std::vector<Candidate>& overlap, bool merges) {
  std::vector<const Candidate*> firsts;
  for (const Candidate& candidate : overlap) {
    auto it = std::ranges::find_if(
        firsts, [&](const Candidate* first) { return first->transport == candidate.transport; });
    if (it == firsts.end())
      firsts.push_back(&candidate);
    else if (candidate.end < (*it)->end)
      *it = &candidate;
  }
  if (firsts.size() < 2) return "";
  std::vector<std::pair<double, std::string>> ends;
  for (const Candidate* candidate : firsts)
    ends.emplace_back(merges ? merged_end(*candidate) : candidate->end,
                      name_of(candidate->transport->row.value));
  std::ranges::stable_sort(ends, {}, &std::pair<double, std::string>::first);
  std::string text;
  for (const auto& [end, name] : ends) text += (text.empty() ? "" : "; ") + name + ": " + us(end);
  return text;
}

void explain_transport(Draft& draft, const std::vector<Candidate>& overlap,
                       const std::vector<Candidate>& sequence, const Candidate& chosen) {
  const Candidate* with = best(overlap, draft.profile);
  const Candidate* without = best(sequence, draft.profile);
  const std::string compared = transports_text(overlap, !draft.spec.schedule.groups);
  const std::string name = std::string("transport ") + name_of(chosen.transport->row.value);
  if (!compared.empty() && without)
    draft.add_reason(name + " (" + compared + "; none: " + us(without->end) + ")");
  else if (with && without)
    draft.add_reason(fmt::format("{0}: {1} predicted with overlap, {2} for {3}{4}", name,
                                 us(with->end), us(without->end), sequence_text(draft.plan.pattern),
                                 draft.spec.transport.value == std::nullopt ? "" : " (as asked)"));
  const bool doubted = std::ranges::any_of(
      overlap, [&](const Candidate& other) { return doubt_of(draft, other) > 0; });
  if (!compared.empty() && doubted && chosen.overlaps() && doubt_of(draft, chosen) == 0)
    draft.add_reason(
        fmt::format("what is left to collectives and copies counts {0:.0f}% more: on "
                    "shapes that nothing was fitted to it ends later than predicted",
                    draft.profile.accuracy.doubt * 100));
  if (const std::string needs = chosen.transport->row.needs; !needs.empty())
    draft.add_reason(name + " " + needs);
}

void explain_overlap(Draft& draft, const std::vector<Candidate>& all, const Candidate& chosen,
                     bool comm_open) {
  const std::vector<Candidate> candidates = of_transport(all, chosen.transport);
  const std::string others = runners_up(candidates, chosen);
  if (!others.empty())
    draft.add_reason("tile " + tile_of(*chosen.kernel) + ": " + us(chosen.end) + "; next " +
                     others);
  if (const std::string shots = shots_text(candidates, chosen); !shots.empty())
    draft.add_reason(shots);
  const bool waits = !row_of(draft.plan).moves_input();
  if (waits && !chosen.transport->shares_memory() && draft.spec.schedule.wait.value == std::nullopt)
    draft.add_reason(
        fmt::format("wait poll: a collective starts {0:.1f} us after its group is done, "
                    "{1:.0f} us with wait stream",
                    draft.profile.collectives.wait_of(TILEPOST_WAIT_POLL),
                    draft.profile.collectives.wait_of(TILEPOST_WAIT_STREAM)));
  if (!comm_open || chosen.comm_ctas == 0) return;
  draft.add_reason("comm_sms " + budget_of(chosen) + " (" + budgets(candidates, chosen) + ")");
}

}  // namespace

void explain_choice(Draft& draft, const std::vector<Candidate>& overlap,
                    const std::vector<Candidate>& sequence, const Candidate& chosen) {
  const ScheduleSpec& schedule = draft.spec.schedule;
  if (draft.plan.arch == Arch::host) return;
  explain_transport(draft, overlap, sequence, chosen);
  if (chosen.overlaps())
    explain_overlap(draft, overlap, chosen, !schedule.comm_sms);
  else if (const std::string others = runners_up(sequence, chosen); !others.empty())
    draft.add_reason("tile " + tile_of(*chosen.kernel) + ": " + us(chosen.end) + "; next " +
                     others);
  if (schedule.groups && chosen.overlaps()) draft.add_reason("groups as asked");
  const bool alone = !row_of(draft.plan).communicates();
  if (draft.plan.arch != draft.profile.arch)
    draft.add_reason(fmt::format("no machine profile for {0}: GEMM scaled from the tensor peak{1}",
                                 name_of(draft.plan.arch),
                                 alone ? "" : ", collectives as on " + draft.profile.words()));
}

void explain_groups(Draft& draft, const Candidate& finest, const Candidate& chosen) {
  std::string text = fmt::format("groups {0}: the fewest that end within {1}% of the best",
                                 chosen.cuts.size(), number_text(100 * chosen.problem.model.slack));
  if (finest.cuts.size() != chosen.cuts.size())
    text += fmt::format(" ({0} groups end at {1}, {2} at {3})", finest.cuts.size(), us(finest.end),
                        chosen.cuts.size(), us(chosen.end));
  draft.add_reason(text);
}

}  // namespace tilepost
