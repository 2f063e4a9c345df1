#include "runtime/cuda/op/state/run_state.h"

#include <algorithm>
#include <thread>

#include "runtime/cuda/watch/epoch.h"
#include "runtime/cuda/watch/waiter.h"

namespace tilepost::cuda {
namespace {

using namespace std::chrono_literals;

constexpr auto kRestPatience = 1s;  // how long to wait for runs that have been released

}  // namespace

tilepost_result_t RunState::check_usable() const {
  if (failure.is_set()) return failure.refuse();
  if (comm_aborted->load())
    return fail(TILEPOST_ABORTED,
                "the communicator was aborted by another operation; make a new one");
  return TILEPOST_OK;
}

tilepost_result_t RunState::finish_in_time(cudaStream_t stream, const std::string& what) {
  const tilepost_result_t result = wait_for_stream(stream, traits.deadline_seconds, [this] {
    return comm_aborted->load() ? check_usable() : transports_.check_async();
  });
  return judge_wait(result, what);
}

tilepost_result_t RunState::judge_wait(tilepost_result_t result, const std::string& what) {
  if (result != TILEPOST_TIMEOUT) return result;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", traits.deadline_seconds);
  abort(TILEPOST_TIMEOUT, "rank " + std::to_string(traits.rank) + ": " + what + " after " +
                              seconds + " s: a rank did not arrive, or failed in this call");
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
  std::optional<RunInFlight> started;
  tilepost_result_t result = find_in_flight(busy, started);
  if (result == TILEPOST_OK) result = transports_.check_async();
  // When the process ends, abort() could end no run any more, and CUDA must not be called.
  if (result != TILEPOST_OK && is_unloaded()) return result;
  // All ranks find too many rows by themselves, some of them perhaps after another one has aborted.
  if (const std::string rows = explainer_.too_many_rows(); !rows.empty()) {
    abort(TILEPOST_INVALID_ARGUMENT, rows);
  } else if (result != TILEPOST_OK) {
    abort(result, "rank " + std::to_string(traits.rank) + ": " + tilepost_last_error());
  } else if ((busy && comm_aborted->load()) || (others_aborted && others_aborted->load())) {
    abort(TILEPOST_ABORTED, "rank " + std::to_string(traits.rank) +
                                ": another operation of the communicator has failed");
  } else if (const std::string other = explainer_.device_difference(started); !other.empty()) {
    abort(TILEPOST_INVALID_ARGUMENT, other);
  } else if (const std::string calls = explainer_.other_calls(false); !calls.empty()) {
    abort(TILEPOST_INVALID_ARGUMENT, calls);
  } else if (const std::string text = explain_given_up(started); !text.empty()) {
    abort(TILEPOST_TIMEOUT, text);
  } else if (started && is_late(*started)) {
    abort(TILEPOST_TIMEOUT, explainer_.late(*started));
  }
  if (failure.is_set()) return failure.report();
  return busy ? TILEPOST_IN_PROGRESS : TILEPOST_OK;
}

// Sets `started` to the oldest run that the device has begun and not finished.
tilepost_result_t RunState::find_in_flight(bool& busy, std::optional<RunInFlight>& started) {
  std::optional<RunTracker::Oldest> oldest;
  TILEPOST_TRY(tracker.observe(oldest));
  busy = oldest.has_value();
  if (oldest && oldest->started) started = RunInFlight{kEager, oldest->run, oldest->since};
  if (!started && captured) find_replay(started);
  busy = busy || started;
  return TILEPOST_OK;
}

void RunState::find_replay(std::optional<RunInFlight>& started) {
  const uint32_t ended = load(page()->replays_ended);
  const uint32_t begun = load(page()->replays_begun);
  if (begun == ended) {
    if (says_replay_) traits.board->end_replay(traits.range);
    says_replay_ = false;
    replay_seen_.reset();
    return;
  }
  started = RunInFlight{kCaptured, load(page()->replayed), replay_since_};
  if (begun == replay_seen_) return;
  replay_seen_ = begun;
  started->since = replay_since_ = Clock::now();
  if (traits.board == nullptr) return;
  // On the board the number of a replay is never 0. The page's number may be 0, because it counts
  // modulo 2^32.
  constexpr uint64_t kFirst = uint64_t{1} << 32;
  traits.board->say_replay(
      kFirst + begun, ledger.of_captured(static_cast<size_t>(started->run)).call, traits.range);
  says_replay_ = true;
}

bool RunState::is_late(const RunInFlight& run) const {
  const std::chrono::duration<double> elapsed = Clock::now() - run.since;
  return traits.deadline_seconds > 0 && elapsed.count() > traits.deadline_seconds;
}

// Text about a waiter that has given up by the device's clock. It is empty if none has.
std::string RunState::explain_given_up(const std::optional<RunInFlight>& started) {
  if (std::string text = explainer_.given_up(); !text.empty()) return text;
  return explainer_.gave_up_on_others() ? explainer_.late(started.value_or(latest())) : "";
}

// The run that an error names if a wait gave up before the run was seen to begin. A kernel that
// is a whole run counts its replay only after its first wait.
RunInFlight RunState::latest() const {
  if (captured && !tracker.has_any()) return {kCaptured, load(page()->replayed), Clock::now()};
  return {kEager, ledger.runs(), Clock::now()};
}

// Runs of other operations that share this operation's memory are queued behind the run that
// failed. When that run is released they no longer wait for anything. So their failure must be
// recorded before the release, or a run that ends soon after would pass for good.
void RunState::abort(tilepost_result_t result, const std::string& reason) {
  std::call_once(abort_once_, [&] {
    failure.record(result, reason);
    if (others_aborted) others_aborted->store(true);
    release_waits();
    transports_.abort();
  });
}

// Waiters that poll look at the abort word. A stream waits for a value, so its counter gets the
// value that the last run waits for. Earlier runs wait for lower values. A GEMM whose input arrives
// waits for a value too, and the run that failed may not be counted yet. So the counters of
// arrivals are set far beyond any run's value (waiter.h).
void RunState::release_waits() {
  store(page()->abort, 1);
  if (!traits.stream_waits && !ledger.arrivals()) return;
  std::vector<uint32_t> values = ledger.sums();
  if (ledger.arrivals())
    for (uint32_t& value : values) value += kReleased;
  counters.write(kEager, values);
  if (ledger.arrivals() && captured)
    counters.write(kCaptured, std::vector<uint32_t>(traits.most_groups, kReleased));
}

// Two threads may run out of memory at the same time.
void RunState::record_no_memory() noexcept {
  const std::lock_guard lock(observe_mutex_);
  if (!failure.is_set()) failure.record(TILEPOST_OUT_OF_MEMORY, std::move(no_memory_));
}

// Ending the runs may need memory too. Recording the failure needs none, nor does storing the word
// that releases the device.
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

// Replays begin without a call of the runtime. So once a run has been captured the watchdog does
// not sleep.
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
    const bool late = traits.deadline_seconds > 0 && elapsed.count() > traits.deadline_seconds;
    if (result == TILEPOST_IN_PROGRESS && late && !has_started()) {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%g", traits.deadline_seconds);
      abort(TILEPOST_TIMEOUT, "rank " + std::to_string(traits.rank) +
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
