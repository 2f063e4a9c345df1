#include "runtime/cuda/watch/timeout.h"

#include <cstdio>

namespace tilepost::cuda {
namespace {

std::string in_seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

std::string group_name(const TimeoutFacts& facts, size_t group) {
  return "group " + std::to_string(group + 1) + " of " + std::to_string(facts.groups);
}

// The first group from `first` on whose tiles have not all come, or the number of groups.
size_t first_incomplete(const TimeoutFacts& facts, size_t first) {
  size_t group = first;
  while (group < facts.arrived.size() && facts.arrived[group] >= facts.targets[group]) ++group;
  return group;
}

// A text such as "rank 2" or "ranks 2, 3".
std::string names_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

// NCCL does not report which rank is missing, but ranks may have written their calls to the board
// (RunBoard).
std::string collective_missing(const TimeoutFacts& facts) {
  const std::string text = std::string("the ") + facts.collective + " did not finish: ";
  if (!facts.absent) return text + "a rank did not arrive";
  if (!facts.absent->empty()) return text + names_of(*facts.absent) + " did not arrive";
  return text +
         "all ranks have called the run, but one has stopped, or its stream has not come to it";
}

std::string missing_rank(const TimeoutFacts& facts) {
  if (*facts.collective == '\0') return "its tiles were ready but the run did not end";
  return "its tiles were ready but " + collective_missing(facts);
}

std::string missing_tiles(const TimeoutFacts& facts, size_t group) {
  return "its tiles were not: counter " + std::to_string(facts.arrived[group]) + " of " +
         std::to_string(facts.targets[group]) + "; the GEMM has stopped or is still waiting to run";
}

// The text for a collective that comes before the GEMM, as a whole or group by group while the GEMM
// runs.
std::string what_is_missing_at_first(const TimeoutFacts& facts, const std::string& late) {
  if (!facts.overlaps)
    return "all groups" + late + collective_missing(facts) + ", or the GEMM after it has stopped";
  if (facts.passed < facts.groups)
    return group_name(facts, static_cast<size_t>(facts.passed)) + late +
           "its rows have not arrived: " + collective_missing(facts);
  return "all groups" + late + "their rows have arrived, but the GEMM has stopped";
}

// The text for chunks of tasks that are missing. Tasks copy the rank's own rows, or add up tiles
// that were stored. If tiles were not stored, the text is another one.
std::string not_done(const TimeoutFacts& facts, const std::string& within,
                     const std::string& chunks) {
  if (facts.gathers)
    return "this rank's rows were not copied" + within + chunks +
           " chunks are missing; the GEMM, whose warps copy them, has stopped or is still waiting "
           "to run";
  return "not added up" + within + chunks +
         " chunks are missing; its tiles were stored, but the GEMM, whose warps add them, has "
         "stopped";
}

// Signals of several ranks are one sum, so the sum does not show which rank is missing. But each
// rank announces that it has begun a run.
std::string who_may_lack(const TimeoutFacts& facts) {
  if (!facts.absent) return "the GEMM of a rank has stopped, or a rank did not arrive";
  if (facts.absent->empty()) return "all ranks have begun the run, so the GEMM of one has stopped";
  return names_of(*facts.absent) + " did not arrive";
}

std::string what_is_awaited(const TimeoutFacts& facts, const OpenWait& wait) {
  const std::string within = " within " + in_seconds(facts.seconds) + ": ";
  const std::string stopped = "it has stopped, or did not arrive";
  const std::string group =
      wait.group < 0 ? "" : group_name(facts, static_cast<size_t>(wait.group));
  switch (wait.what) {
    case Awaited::block:
      return names_of(wait.ranks) + " did not announce " + group + within + stopped;
    case Awaited::sums:
      return names_of(wait.ranks) + " did not announce the sums of " + group + within + stopped;
    case Awaited::received:
      return names_of(wait.ranks) + " did not send all of " + group + within + stopped;
    case Awaited::taken:
      return names_of(wait.ranks) + " did not take all of " + group + within + stopped;
    case Awaited::ended:
      return names_of(wait.ranks) + " did not end the run before" + within +
             "it has stopped, or is still busy with it";
    case Awaited::begun:
      return names_of(wait.ranks) + " did not begin the run" + within + stopped;
    case Awaited::added:
      return group + ": " + not_done(facts, within, std::to_string(wait.missing));
    case Awaited::stored:
      // If A is gathered, group 0 has the own rows that tiles read together with other ranks' rows.
      if (facts.gathers && wait.group == 0)
        return group + ": " + not_done(facts, within, std::to_string(wait.missing));
      break;
    case Awaited::landed:
      break;
  }
  const char* what = wait.what == Awaited::landed ? "sums" : facts.gathers ? "rows" : "tiles";
  return group + ": not all ranks' " + what + " were stored" + within +
         std::to_string(wait.missing) + " signals are missing; " + who_may_lack(facts);
}

// The text if no wait is open. Groups are waited for in order.
std::string not_stored_yet(const TimeoutFacts& facts, const std::string& late) {
  const auto passed = static_cast<size_t>(facts.passed);
  if (facts.tasks && facts.passed < facts.groups)
    return "all groups" + late + "nothing of other ranks is missing, but the GEMM has not ended";
  if (facts.passed < facts.groups)
    return group_name(facts, passed) + late + "the communication stream has not come to it";
  return group_name(facts, passed - 1) + late + missing_rank(facts);
}

std::string what_is_missing(const TimeoutFacts& facts) {
  const auto passed = static_cast<size_t>(facts.passed);
  const std::string late = " not finished after " + in_seconds(facts.seconds) + ": ";
  if (facts.open) return what_is_awaited(facts, *facts.open);
  if (facts.stored_by_all) return not_stored_yet(facts, late);
  if (facts.gathers) return what_is_missing_at_first(facts, late);
  if (!facts.arrived.empty()) {
    const size_t group = first_incomplete(facts, passed);
    // Groups are waited for in order, so only the next one can hold up the stream.
    if (group < facts.targets.size() && (group == passed || !facts.overlaps))
      return group_name(facts, group) + late + missing_tiles(facts, group);
  }
  if (!facts.overlaps) return "all groups" + late + missing_rank(facts);
  if (passed > 0) return group_name(facts, passed - 1) + late + missing_rank(facts);
  if (facts.arrived.empty())
    return group_name(facts, 0) + late + "its counter could not be read either";
  return group_name(facts, 0) + late +
         "its tiles were ready but the communication stream has not come to it";
}

}  // namespace

std::string explain_timeout(const TimeoutFacts& facts) {
  return "rank " + std::to_string(facts.rank) + ": " + facts.run + ": " + what_is_missing(facts) +
         (facts.holds_sms ? "; if another communicator's collective runs beside it, plan with "
                            "'neighbours: true'"
                          : "");
}

}  // namespace tilepost::cuda
