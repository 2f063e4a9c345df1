#include "runtime/cuda/op/run_state.h"

#include <algorithm>
#include <thread>

#include "runtime/core/run_terms.h"
#include "runtime/cuda/watch/epoch.h"
#include "runtime/cuda/watch/waiter.h"

namespace tilepost::cuda {
namespace {

using namespace std::chrono_literals;

constexpr auto kRestPatience = 1s;  // for runs that have been released

}  // namespace

tilepost_result_t RunState::check_usable() const {
  if (failure.is_set()) return failure.refuse();
  if (comm_aborted->load())
    return fail(TILEPOST_ABORTED,
                "the communicator was aborted by another operation; make a new one");
  return TILEPOST_OK;
}

tilepost_result_t RunState::finish_in_time(cudaStream_t stream, const std::string& what) {
  const tilepost_result_t result = wait_for_stream(stream, deadline_seconds, [this] {
    return comm_aborted->load() ? check_usable() : transports_.check_async();
  });
  if (result != TILEPOST_TIMEOUT) return result;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", deadline_seconds);
  abort(TILEPOST_TIMEOUT, "rank " + std::to_string(rank) + ": " + what + " after " + seconds +
                              " s: a rank did not arrive, or failed in this call");
  return failure.report();
}

tilepost_result_t RunState::wait_for_run(uint64_t run) {
  return wait_until([&] { return !tracker.is_in_flight(run); });
}

tilepost_result_t RunState::observe() {
  const std::lock_guard lock(observe_mutex_);
  if (failure.is_set()) return failure.report();
  const CaptureModeGuard relaxed;
  bool busy = false;
  std::optional<InFlight> started;
  tilepost_result_t result = find_in_flight(busy, started);
  if (result == TILEPOST_OK) result = transports_.check_async();
  // At the end of the process no run that this could end goes on, and CUDA can no longer be called.
  if (result != TILEPOST_OK && is_unloaded()) return result;
  if (result != TILEPOST_OK) {
    abort(result, "rank " + std::to_string(rank) + ": " + tilepost_last_error());
  } else if ((busy && comm_aborted->load()) || (others_aborted && others_aborted->load())) {
    abort(TILEPOST_ABORTED,
          "rank " + std::to_string(rank) + ": another operation of the communicator has failed");
  } else if (const std::string other = explain_difference(started); !other.empty()) {
    abort(TILEPOST_INVALID_ARGUMENT, other);
  } else if (const std::string calls = explain_other_calls(false); !calls.empty()) {
    abort(TILEPOST_INVALID_ARGUMENT, calls);
  } else if (const std::string text = explain_given_up(started); !text.empty()) {
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
  const uint32_t ended = load(page()->replays_ended);
  const uint32_t begun = load(page()->replays_begun);
  if (begun == ended) {
    if (says_replay_) board->end_replay(range);
    says_replay_ = false;
    replay_seen_.reset();
    return;
  }
  started = InFlight{kCaptured, load(page()->replayed), replay_since_};
  if (begun == replay_seen_) return;
  replay_seen_ = begun;
  started->since = replay_since_ = Clock::now();
  if (board == nullptr) return;
  // On the board the number of a replay is never 0. The page's number may be 0: it counts modulo
  // 2^32.
  constexpr uint64_t kFirst = uint64_t{1} << 32;
  board->say_replay(kFirst + begun, ledger.of_captured(static_cast<size_t>(started->run)).call,
                    range);
  says_replay_ = true;
}

bool RunState::is_late(const InFlight& run) const {
  const std::chrono::duration<double> elapsed = Clock::now() - run.since;
  return deadline_seconds > 0 && elapsed.count() > deadline_seconds;
}

std::string RunState::explain_late(const InFlight& run) {
  const RunRecord issued = run.bank == kEager ? ledger.of_run(run.run)
                                              : ledger.of_captured(static_cast<size_t>(run.run));
  TimeoutFacts facts = facts_of(run.bank, issued.called);
  // Ranks that run different things wait for something that never comes.
  if (transports_.shared)
    if (const std::optional<RunDifference> found = transports_.shared->find_difference())
      return explain(*found, facts.run);
  if (board != nullptr && run.bank == kCaptured)
    if (const std::optional<RunBoard::Difference> found = board->find_other_replay(range))
      return explain(*found, facts.run);
  if (const std::string calls = explain_other_calls(true); !calls.empty()) return calls;
  facts.overlaps = issued.overlaps;
  facts.holds_sms = issued.overlaps && holds_sms;
  facts.groups = issued.groups;
  facts.stored_by_all = issued.overlaps && tiles_from_all;
  if (facts.stored_by_all)
    facts.passed = std::min(static_cast<int>(load(page()->stored)), issued.groups);
  else if (issued.overlaps)
    facts.passed = groups_passed(load(page()->progress[run.bank]), issued.progress, issued.groups);
  facts.open = find_open_wait(page()->shared);
  if (issued.overlaps && kernel_waits) find_missing_tiles(facts);
  facts.absent = facts.open && transports_.shared ? transports_.shared->find_absent()
                                                  : find_absent(run, issued.called);
  if (facts.open || facts.stored_by_all) return explain_timeout(facts);
  facts.targets = issued.targets;
  facts.arrived = access.read(bank(run.bank));
  if (!facts.arrived.empty()) facts.arrived.resize(issued.groups);
  for (size_t g = 0; g < facts.arrived.size(); ++g)
    facts.arrived[g] = signals_of_run(facts.arrived[g], issued.before[g], issued.targets[g]);
  return explain_timeout(facts);
}

std::string RunState::explain(const RunDifference& difference, const std::string& run) const {
  const std::string where = "rank " + std::to_string(rank) + ": " + run + ": ";
  const auto other = static_cast<int>(difference.rank);
  const auto name = [](int number) { return "rank " + std::to_string(number); };
  if (difference.own.plan != difference.theirs.plan && !is_own(difference.theirs))
    return where + name(other) + " runs another operation of those that share memory than " +
           name(rank) + kSameOrder;
  const auto call_of = [](const RunWords& words) {
    return RunBoard::Call{words.m, words.schedule, false, words.output};  // all overlap
  };
  return where + explain_calls(other, call_of(difference.theirs), call_of(difference.own));
}

// Whether the other rank's run is of the same operation as the caller sees it. If it is, the ranks
// differ in m only.
bool RunState::is_own(const RunWords& theirs) const {
  return std::ranges::find(own_words, theirs.plan) != own_words.end();
}

std::string RunState::explain_calls(int other, const RunBoard::Call& theirs,
                                    const RunBoard::Call& own) const {
  const auto terms_of = [&](const RunBoard::Call& call) {
    RunTerms terms;
    terms.routed = is_routed(*plan);
    terms.m = call.m;
    terms.schedule = call.schedule;
    terms.overlaps = call.overlaps;
    terms.output = call.output;
    return terms;
  };
  return run_difference(other, terms_of(theirs), rank, terms_of(own));
}

// Explains a difference between runs that the device has found, also if the run has ended since.
std::string RunState::explain_difference(const std::optional<InFlight>& started) const {
  const RunDifference& found = page()->difference;
  if (load(found.found) == 0) return {};
  const uint64_t number = started && started->bank == kEager ? started->run : ledger.runs();
  const bool replay = started && started->bank == kCaptured;
  return explain(found, facts_of(replay ? kCaptured : kEager, ledger.of_run(number).called).run);
}

// Explains calls of other ranks that differ from this rank's, also if nothing hangs because of
// them.
std::string RunState::explain_other_calls(bool late) const {
  if (board == nullptr) return {};
  const std::optional<RunBoard::Difference> found = board->find_difference(late);
  if (!found) return {};
  return explain(*found, "run " + std::to_string(found->number));
}

std::string RunState::explain(const RunBoard::Difference& difference,
                              const std::string& run) const {
  const std::string where = "rank " + std::to_string(rank) + ": " + run + ": ";
  const int other = difference.rank;
  if (difference.is_here) return where + explain_calls(other, difference.theirs, difference.own);
  return where + "an earlier run of rank " + std::to_string(other) + " was not that of rank " +
         std::to_string(rank) +
         "; pass the same m and outputs, and set the same routes, on every rank";
}

// Replays happen without a call, so the board knows nothing about them.
std::optional<std::vector<int>> RunState::find_absent(const InFlight& run, uint64_t called) const {
  if (board == nullptr || run.bank != kEager) return {};
  return board->find_absent(called);
}

// Tasks wait inside the GEMM. What waits for the sums of tasks really waits for the tiles that
// these tasks lack, if they lack any.
void RunState::find_missing_tiles(TimeoutFacts& facts) {
  facts.tasks = true;
  if (facts.open && facts.open->what != Awaited::added) return;
  if (const std::optional<OpenWait> tiles = transports_.shared->find_missing_tiles())
    facts.open = tiles;
}

// Text for a waiter on the device that has given up by its own clock; empty when none has. The run
// may have ended since, with a collective over unfinished tiles. But a run that gave up waiting for
// another rank has not: such a wait stays for a moment (runtime/cuda/shared/flags.h).
std::string RunState::explain_given_up(const std::optional<InFlight>& started) {
  for (const Bank which : {kEager, kCaptured}) {
    const WaitRecord* waits = wait_records(page(), which, most_groups);
    for (int g = 0; g < most_groups; ++g) {
      if (load(waits[g].timed_out) == 0) continue;
      const WaitRecord& wait = waits[g];
      TimeoutFacts facts = facts_of(which, ledger.of_run(wait.run).called);
      facts.groups = static_cast<int>(wait.groups);
      facts.passed = g;
      facts.targets.assign(wait.groups, wait.target);
      facts.arrived.assign(wait.groups, signals_of_run(wait.counter, wait.before, wait.target));
      return explain_timeout(facts);
    }
  }
  const std::optional<OpenWait> open = find_open_wait(page()->shared);
  if (open && open->gave_up) return explain_late(started.value_or(latest()));
  return {};
}

// The run that a text is about if a wait gave up before the run was seen to begin. A replay counts
// itself only behind its first wait.
RunState::InFlight RunState::latest() const {
  if (captured && !tracker.has_any()) return {kCaptured, load(page()->replayed), Clock::now()};
  return {kEager, ledger.runs(), Clock::now()};
}

TimeoutFacts RunState::facts_of(Bank which, uint64_t number) const {
  TimeoutFacts facts;
  facts.rank = rank;
  facts.run = which == kEager ? "run " + std::to_string(number) : "a replayed run";
  facts.seconds = deadline_seconds;
  facts.collective = collective;
  facts.gathers = gathers;
  return facts;
}

// Runs of other operations that share this one's memory are queued behind the run that broke off.
// When that run is released they no longer wait for anything. They must be known to be worth
// nothing by then, even those that end before anybody looks.
void RunState::abort(tilepost_result_t result, const std::string& reason) {
  std::call_once(abort_once_, [&] {
    failure.record(result, reason);
    if (others_aborted) others_aborted->store(true);
    release_waits();
    transports_.abort();
  });
}

// Waiters that poll look at the abort word. A stream waits for a value, so its counter gets the
// value that the last run waits for; earlier runs wait for less. A GEMM whose input arrives waits
// for a value too, and the run that broke off may not be counted yet. So the counters of arrivals
// go far beyond any run's value (waiter.h).
void RunState::release_waits() {
  store(page()->abort, 1);
  if (!stream_waits && !ledger.arrivals()) return;
  std::vector<uint32_t> values = ledger.sums();
  if (ledger.arrivals())
    for (uint32_t& value : values) value += kReleased;
  access.write(bank(kEager), values);
  if (ledger.arrivals() && captured)
    access.write(bank(kCaptured), std::vector<uint32_t>(most_groups, kReleased));
}

// Two threads may run out of memory at the same time.
void RunState::record_no_memory() noexcept {
  const std::lock_guard lock(observe_mutex_);
  if (!failure.is_set()) failure.record(TILEPOST_OUT_OF_MEMORY, std::move(no_memory_));
}

// Ending the runs may need memory too. Recording the failure and storing the word that releases the
// device do not.
template <class Body>
tilepost_result_t RunState::quietly(Body body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {
    record_no_memory();
    store(page()->abort, 1);
    try {
      abort(TILEPOST_OUT_OF_MEMORY, {});
    } catch (const std::exception&) {
    }
    return TILEPOST_OUT_OF_MEMORY;
  }
}

// Replays begin without a call of ours. So once a run has been captured the watchdog does not
// sleep.
Watchdog::Found RunState::watch() noexcept {
  const tilepost_result_t result = quietly([this] { return observe(); });
  if (result == TILEPOST_IN_PROGRESS) return Watchdog::Found::busy;
  if (result != TILEPOST_OK) return Watchdog::Found::over;
  return captured ? Watchdog::Found::busy : Watchdog::Found::idle;
}

void RunState::finish() noexcept {
  const auto begin = Clock::now();
  const auto look = [&] {
    const tilepost_result_t result = observe();
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    const bool late = deadline_seconds > 0 && elapsed.count() > deadline_seconds;
    if (result == TILEPOST_IN_PROGRESS && late && !has_started()) {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%g", deadline_seconds);
      abort(TILEPOST_TIMEOUT, "rank " + std::to_string(rank) +
                                  ": tilepost_op_destroy: a run has not begun after " + seconds +
                                  " s: what precedes it in its stream has not ended");
    }
    return result;
  };
  while (quietly(look) == TILEPOST_IN_PROGRESS) std::this_thread::sleep_for(kPoll);
}

bool RunState::has_started() {
  std::optional<RunTracker::Oldest> oldest;
  return tracker.observe(oldest) != TILEPOST_OK || !oldest || oldest->started;
}

bool RunState::is_at_rest(cudaStream_t stream) noexcept {
  if (!CounterAccess::drain(stream)) return false;
  const auto end = Clock::now() + kRestPatience;
  bool over = false;
  const auto look = [&]() -> tilepost_result_t {
    std::optional<RunTracker::Oldest> oldest;
    if (const auto result = tracker.observe(oldest); result != TILEPOST_OK) return result;
    over = !oldest;
    return over || Clock::now() > end ? TILEPOST_OK : TILEPOST_IN_PROGRESS;
  };
  while (quietly(look) == TILEPOST_IN_PROGRESS)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return over;
}

}  // namespace tilepost::cuda
