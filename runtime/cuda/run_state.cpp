#include "runtime/cuda/run_state.h"

#include "runtime/cuda/epoch.h"
#include "runtime/cuda/timeout.h"

namespace tilepost::cuda {

tilepost_result_t RunState::observe() {
  const std::lock_guard lock(observe_mutex_);
  if (failure.is_set()) return failure.report();
  const CaptureModeGuard relaxed;
  bool busy = false;
  std::optional<InFlight> started;
  tilepost_result_t result = find_in_flight(busy, started);
  if (result == TILEPOST_OK) result = transport->check_async();
  if (result != TILEPOST_OK) {
    abort(result, "rank " + std::to_string(rank) + ": " + tilepost_last_error());
  } else if (busy && comm_aborted->load()) {
    abort(TILEPOST_ABORTED,
          "rank " + std::to_string(rank) + ": another operation of the communicator has failed");
  } else if (const std::string text = explain_given_up(); !text.empty()) {
    abort(TILEPOST_TIMEOUT, text);
  } else if (started && is_late(*started)) {
    abort(TILEPOST_TIMEOUT, explain_late(*started));
  }
  if (failure.is_set()) return failure.report();
  return busy ? TILEPOST_IN_PROGRESS : TILEPOST_OK;
}

// `started` is the oldest run that the device has begun and not finished.
tilepost_result_t RunState::find_in_flight(bool& busy, std::optional<InFlight>& started) {
  std::optional<RunTracker::Oldest> oldest;
  TILEPOST_TRY(tracker.observe(oldest));
  busy = oldest.has_value();
  if (oldest && oldest->started) started = InFlight{kEager, oldest->run, oldest->since};
  if (!started && captured) find_replay(started);
  busy = busy || started;
  return TILEPOST_OK;
}

void RunState::find_replay(std::optional<InFlight>& started) {
  const uint32_t ended = load(record()->replays_ended);
  const uint32_t begun = load(record()->replays_begun);
  if (begun == ended) return;
  if (begun != replay_seen_) {
    replay_seen_ = begun;
    replay_since_ = Clock::now();
  }
  started = InFlight{kCaptured, 1, replay_since_};
}

bool RunState::is_late(const InFlight& run) const {
  const std::chrono::duration<double> elapsed = Clock::now() - run.since;
  return deadline_seconds > 0 && elapsed.count() > deadline_seconds;
}

std::string RunState::explain_late(const InFlight& run) {
  const int passed = groups_passed(load(record()->progress[run.bank]),
                                   static_cast<uint32_t>(run.run), num_groups());
  return explain(run.bank, run.run, transport->overlaps() ? passed : 0,
                 access.read(bank(run.bank)));
}

// Text for a waiter on the device that has given up by its own clock; empty when none has. The run
// may have ended since, with a collective over unfinished tiles.
std::string RunState::explain_given_up() {
  for (const Bank which : {kEager, kCaptured}) {
    const WaitRecord* waits = wait_records(record(), which, num_groups());
    for (int g = 0; g < num_groups(); ++g) {
      if (load(waits[g].timed_out) == 0) continue;
      std::vector<uint32_t> seen(targets.size());
      seen[g] = waits[g].counter;
      return explain(which, waits[g].epoch, g, std::move(seen));
    }
  }
  return {};
}

std::string RunState::explain(Bank which, uint64_t run, int passed,
                              std::vector<uint32_t> seen) const {
  TimeoutFacts facts;
  facts.rank = rank;
  facts.run = which == kEager ? "run " + std::to_string(run) : "a replayed run";
  facts.seconds = deadline_seconds;
  facts.collective = transport->collective();
  facts.overlaps = transport->overlaps();
  facts.passed = passed;
  facts.targets = targets;
  facts.arrived = std::move(seen);
  for (size_t g = 0; g < facts.arrived.size(); ++g)
    facts.arrived[g] = signals_of_run(facts.arrived[g], static_cast<uint32_t>(run), targets[g]);
  return explain_timeout(facts);
}

void RunState::abort(tilepost_result_t result, const std::string& reason) {
  std::call_once(abort_once_, [&] {
    failure.record(result, reason);
    release_waits();
    transport->abort();
  });
}

// Polling waiters look at the word. A stream waits for a value, so give it the one that the last
// run waits for: earlier runs wait for less.
void RunState::release_waits() {
  store(record()->abort, 1);
  if (!stream_waits) return;
  std::vector<uint32_t> values;
  values.reserve(targets.size());
  for (const uint32_t target : targets)
    values.push_back(epoch_target(static_cast<uint32_t>(runs.load()), target));
  access.write(bank(kEager), values);
}

}  // namespace tilepost::cuda
