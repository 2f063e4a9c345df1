#include "runtime/cuda/op/state/run_explainer.h"

#include <algorithm>

#include "runtime/core/routing/routing.h"
#include "runtime/core/run_terms.h"
#include "runtime/cuda/watch/epoch.h"

namespace tilepost::cuda {

std::string RunExplainer::late(const RunInFlight& run) const {
  const RunRecord issued = run.bank == kEager ? ledger_.of_run(run.run)
                                              : ledger_.of_captured(static_cast<size_t>(run.run));
  TimeoutFacts facts = facts_of(run.bank, issued.called);
  // Ranks whose runs differ wait for something that never comes.
  if (transports_.shared)
    if (const std::optional<RunDifference> found = transports_.shared->find_difference())
      return explain(*found, facts.run);
  if (traits_.board != nullptr && run.bank == kCaptured)
    if (const std::optional<RunBoard::Difference> found =
            traits_.board->find_other_replay(traits_.range))
      return explain(*found, facts.run);
  if (const std::string calls = other_calls(true); !calls.empty()) return calls;
  facts.overlaps = issued.overlaps;
  facts.holds_sms = issued.overlaps && traits_.holds_sms;
  facts.groups = issued.groups;
  facts.stored_by_all = issued.overlaps && traits_.tiles_from_all;
  if (facts.stored_by_all)
    facts.passed = std::min(static_cast<int>(load(counters_.page()->stored)), issued.groups);
  else if (issued.overlaps)
    facts.passed =
        groups_passed(load(counters_.page()->progress[run.bank]), issued.progress, issued.groups);
  facts.open = find_open_wait(counters_.page()->shared);
  if (issued.overlaps && transports_.rings) find_missing_messages(facts);
  if (issued.overlaps && traits_.kernel_waits) find_missing_tiles(facts);
  facts.absent = facts.open && transports_.shared ? transports_.shared->find_absent()
                                                  : find_absent(run, issued.called);
  if (facts.open || facts.stored_by_all) return explain_timeout(facts);
  facts.targets = issued.targets;
  facts.arrived = counters_.read(run.bank);
  if (!facts.arrived.empty()) facts.arrived.resize(issued.groups);
  for (size_t g = 0; g < facts.arrived.size(); ++g)
    facts.arrived[g] = signals_of_run(facts.arrived[g], issued.before[g], issued.targets[g]);
  return explain_timeout(facts);
}

std::string RunExplainer::given_up() const {
  for (const Bank which : {kEager, kCaptured}) {
    const WaitRecord* waits = wait_records(counters_.page(), which, traits_.most_groups);
    for (int g = 0; g < traits_.most_groups; ++g) {
      if (load(waits[g].timed_out) == 0) continue;
      const WaitRecord& wait = waits[g];
      TimeoutFacts facts = facts_of(which, ledger_.of_run(wait.run).called);
      facts.groups = static_cast<int>(wait.groups);
      facts.passed = g;
      facts.targets.assign(wait.groups, wait.target);
      facts.arrived.assign(wait.groups, signals_of_run(wait.counter, wait.before, wait.target));
      return explain_timeout(facts);
    }
  }
  return {};
}

bool RunExplainer::gave_up_on_others() const {
  const std::optional<OpenWait> open = find_open_wait(counters_.page()->shared);
  return open && open->gave_up;
}

std::string RunExplainer::too_many_rows() const {
  const RowsFault& fault = counters_.page()->rows_fault;
  if (load(fault.found) == 0) return {};
  return too_many_rows_text(traits_.program, fault.rank, fault.rows, traits_.plan->most_rows);
}

std::string RunExplainer::device_difference(const std::optional<RunInFlight>& started) const {
  const RunDifference& found = counters_.page()->difference;
  if (load(found.found) == 0) return {};
  const uint64_t number = started && started->bank == kEager ? started->run : ledger_.runs();
  const bool replay = started && started->bank == kCaptured;
  return explain(found, facts_of(replay ? kCaptured : kEager, ledger_.of_run(number).called).run);
}

std::string RunExplainer::explain(const RunDifference& difference, const std::string& run) const {
  const std::string where = "rank " + std::to_string(traits_.rank) + ": " + run + ": ";
  const auto other = static_cast<int>(difference.rank);
  const auto name = [](int number) { return "rank " + std::to_string(number); };
  if (difference.own.plan != difference.theirs.plan && !is_own(difference.theirs))
    return where + name(other) + " runs another operation of those that share memory than " +
           name(traits_.rank) + kSameOrder;
  const auto call_of = [](const RunWords& words) {
    // All of these runs overlap.
    return RunBoard::Call{words.m, words.schedule, false, words.output};
  };
  return where + explain_calls(other, call_of(difference.theirs), call_of(difference.own));
}

// Whether the other rank's run is of the operation that the caller sees. If it is, the ranks differ
// only in m.
bool RunExplainer::is_own(const RunWords& theirs) const {
  return std::ranges::find(traits_.own_words, theirs.plan) != traits_.own_words.end();
}

std::string RunExplainer::explain_calls(int other, const RunBoard::Call& theirs,
                                        const RunBoard::Call& own) const {
  const auto terms_of = [&](const RunBoard::Call& call) {
    RunTerms terms;
    terms.routed = is_routed(*traits_.plan);
    terms.m = call.m;
    terms.schedule = call.schedule;
    terms.overlaps = call.overlaps;
    terms.output = call.output;
    return terms;
  };
  return run_difference(other, terms_of(theirs), traits_.rank, terms_of(own));
}

std::string RunExplainer::other_calls(bool late) const {
  if (traits_.board == nullptr) return {};
  const std::optional<RunBoard::Difference> found = traits_.board->find_difference(late);
  if (!found) return {};
  return explain(*found, "run " + std::to_string(found->number));
}

std::string RunExplainer::explain(const RunBoard::Difference& difference,
                                  const std::string& run) const {
  const std::string where = "rank " + std::to_string(traits_.rank) + ": " + run + ": ";
  const int other = difference.rank;
  if (difference.is_here) return where + explain_calls(other, difference.theirs, difference.own);
  return where + "an earlier run of rank " + std::to_string(other) + " was not that of rank " +
         std::to_string(traits_.rank) +
         "; pass the same m and outputs, and set the same routes, on every rank";
}

// Replays happen without a call, so the board does not have them.
std::optional<std::vector<int>> RunExplainer::find_absent(const RunInFlight& run,
                                                          uint64_t called) const {
  if (traits_.board == nullptr || run.bank != kEager) return {};
  return traits_.board->find_absent(called);
}

// Tasks wait inside the GEMM. A wait for the sums of tasks is really a wait for the tiles that
// these tasks lack, if they lack any.
void RunExplainer::find_missing_tiles(TimeoutFacts& facts) const {
  facts.tasks = true;
  if (facts.open && facts.open->what != Awaited::added) return;
  if (const std::optional<OpenWait> tiles = transports_.shared->find_missing_tiles())
    facts.open = tiles;
}

// A group whose tiles are not there is not waited for in vain by its messages. Rows of A wait for
// no tiles.
void RunExplainer::find_missing_messages(TimeoutFacts& facts) const {
  facts.open = transports_.rings->find_open_wait(traits_.gathers ? facts.groups : facts.passed);
}

TimeoutFacts RunExplainer::facts_of(Bank which, uint64_t number) const {
  TimeoutFacts facts;
  facts.rank = traits_.rank;
  facts.run = which == kEager ? "run " + std::to_string(number) : "a replayed run";
  facts.seconds = traits_.deadline_seconds;
  facts.collective = traits_.collective;
  facts.gathers = traits_.gathers;
  return facts;
}

}  // namespace tilepost::cuda
