#include "tests/runtime/fake_ranks.h"

#include <chrono>
#include <thread>

#include "runtime/cuda/watch/epoch.h"
#include "tests/runtime/bf16.h"
#include "tests/runtime/fakes.h"

namespace fakes::ranks {

using namespace tilepost;
using namespace tilepost::cuda;

namespace {

constexpr std::chrono::microseconds kPoll{20};
constexpr std::chrono::seconds kStay{1};

uint32_t* own(const SharedFlags& flags) {
  return flags.of[flags.rank];
}

// A wait that has given up stays until the host writes `abort`, but no longer than kStay.
void stay(const SharedFlags& flags) {
  const auto end = std::chrono::steady_clock::now() + kStay;
  while (load(flags.page->abort) == 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kPoll);
}

bool give_up(const SharedFlags& flags) {
  store(*flags.given_up, 1);
  return false;
}

// `is_here(value)` says whether the word has come so far, and `seen(value)` what is then told.
template <class IsHere, class Seen>
bool wait(const SharedFlags& flags, const uint32_t* word, uint32_t target, SharedWait& place,
          int group, const IsHere& is_here, const Seen& seen) {
  if (load(*flags.given_up) != 0) return false;
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds deadline(flags.deadline_ns);
  while (!is_here(load(*word))) {
    if (load(flags.page->abort) != 0) return give_up(flags);
    if (deadline.count() > 0 && std::chrono::steady_clock::now() - begin > deadline) {
      place.group = static_cast<uint32_t>(group);
      place.seen = seen(load(*word));
      place.wanted = target;
      store(place.state, kGaveUp);
      stay(flags);
      return give_up(flags);
    }
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

bool wait(const SharedFlags& flags, const uint32_t* word, uint32_t target, SharedWait& place,
          int group) {
  return wait(
      flags, word, target, place, group, [=](uint32_t value) { return reached(value, target); },
      [](uint32_t value) { return value; });
}

}  // namespace

void expect(const SharedFlags& flags, const RunBeginning& beginning) {
  for (int i = 0; i < flags.counters; ++i) {
    uint32_t count = flags.expected[*flags.half * flags.counters + i];
    if (beginning.targets != nullptr && i < beginning.counters) count += beginning.targets[i];
    for (const int parity : {0, 1}) flags.expected[parity * flags.counters + i] = count;
  }
}

void tell_run(uint32_t* line, uint32_t run, const RunWords& words) {
  store(line[0], run);
  auto* const told = reinterpret_cast<uint64_t*>(line + run_words_at(run));
  const uint32_t values[] = {words.m, words.schedule, words.plan, words.output};
  for (int i = 0; i < kRunWords; ++i)
    __atomic_store_n(told + i, run_word(run, values[i]), __ATOMIC_RELEASE);
}

bool is_common_run(const SharedFlags& flags) {
  const auto told = [&](int rank) {
    const auto* words = reinterpret_cast<const uint64_t*>(
        own(flags) + begun_word(rank, flags.ranks) + run_words_at(*flags.run));
    uint32_t values[kRunWords];
    for (int i = 0; i < kRunWords; ++i) {
      uint64_t word = 0;
      do word = __atomic_load_n(words + i, __ATOMIC_ACQUIRE);
      while (static_cast<uint32_t>(word) != *flags.run);
      values[i] = static_cast<uint32_t>(word >> 32);
    }
    return RunWords{values[0], values[1], values[2], values[3]};
  };
  for (int rank = 0; rank < flags.ranks; ++rank) {
    if (told(rank).same_as(told(flags.rank))) continue;
    flags.page->difference = {0, static_cast<uint32_t>(rank), told(flags.rank), told(rank)};
    store(flags.page->difference.found, 1);
    return give_up(flags);
  }
  return true;
}

void begin_replay(WatchPage* page, const ReplayBeginning& replay) {
  if (!replay.counts) return;
  for (int group = 0; group < replay.groups; ++group)
    replay.counters[group * TILEPOST_COUNTER_STRIDE] = 0;
  page->replayed = replay.which;
  page->progress[kCaptured] = 0;
  page->replays_begun = world().replay.value_or(page->replays_begun + 1);
}

// Begins a run. If the last run was one kernel, begin() first announces that it has ended.
cudaError_t begin(const SharedFlags& flags, const RunBeginning& beginning) {
  const bool exchanged = (*flags.kind & TILEPOST_EXCHANGES) != 0 && load(*flags.given_up) == 0;
  for (int rank = 0; exchanged && rank < flags.ranks; ++rank)
    store(flags.of[rank][ended_word(flags.rank, flags.ranks)], *flags.run);
  for (int rank = 0; rank < flags.ranks && !world().begins_early; ++rank)
    wait(flags, own(flags) + ended_word(rank, flags.ranks), *flags.run,
         flags.page->shared[ended_wait(rank)], 0);
  expect(flags, beginning);
  ++*flags.run;
  *flags.kind = beginning.words.plan & ~TILEPOST_EXCHANGES;
  for (int rank = 0; rank < flags.ranks; ++rank) {
    if (flags.parts > 0 && rank < TILEPOST_MOST_EXCHANGING)
      store(*flag_to_renew(flags.arrived, flags.parts, *flags.run, rank), *flags.run - 1);
    tell_run(flags.of[rank] + begun_word(flags.rank, flags.ranks), *flags.run, beginning.words);
  }
  store(flags.page->stored, 0);
  for (int g = 0; flags.done != nullptr && g < beginning.counters; ++g)
    store(flags.done[g * TILEPOST_COUNTER_STRIDE], 0);
  return cudaSuccess;
}

cudaError_t announce(const SharedFlags& flags, Flag flag, int lane, int group) {
  if (load(*flags.given_up) != 0) return cudaSuccess;
  for (int rank = 0; rank < flags.ranks; ++rank)
    if (rank != flags.rank)
      store(flags.of[rank][flag_word(flag, lane, flags.rank, flags.ranks)],
            flag_value(*flags.run, group));
  return cudaSuccess;
}

cudaError_t announce_and_wait(const SharedFlags& flags, Flag flag, int lane, int group,
                              uint64_t sources) {
  announce(flags, flag, lane, group);
  return wait_announced(flags, flag, lane, group, sources);
}

cudaError_t wait_announced(const SharedFlags& flags, Flag flag, int lane, int group,
                           uint64_t sources) {
  for (int rank = 0; rank < flags.ranks; ++rank)
    if ((sources >> rank & 1) != 0)
      wait(flags, own(flags) + flag_word(flag, lane, rank, flags.ranks),
           flag_value(*flags.run, group), flags.page->shared[flag_wait(flag, lane, rank)], group);
  return cudaSuccess;
}

cudaError_t wait_stored(const SharedFlags& flags, int group) {
  if (wait(flags, own(flags) + counter_word(group, flags.ranks), flags.expected[group],
           flags.page->shared[stored_wait(group)], group))
    store(flags.page->stored, static_cast<uint32_t>(group) + 1);
  return cudaSuccess;
}

cudaError_t wait_added(const SharedFlags& flags, int group, uint32_t chunks) {
  if (wait(flags, flags.done + group * TILEPOST_COUNTER_STRIDE, chunks,
           flags.page->shared[added_wait(group)], group))
    store(flags.page->stored, static_cast<uint32_t>(group) + 1);
  return cudaSuccess;
}

bool wait_for_run(const SharedFlags& flags, const uint32_t* flag, uint32_t run) {
  return wait(
      flags, flag, run, flags.page->shared[stored_wait(0)], 0,
      [run](uint32_t value) { return value == run; }, [run](uint32_t) { return run - 1; });
}

void post(const PostArguments& post) {
  const std::lock_guard lock(world().mutex);
  for (int i = 0; i <= post.behind; ++i) post.counter[i * TILEPOST_COUNTER_STRIDE] = post.value;
  *post.progress = post.progress_value;
  if (world().on_post) world().on_post();
}

cudaError_t end(const SharedFlags& flags) {
  if (load(flags.page->abort) != 0 || load(*flags.given_up) != 0) return cudaSuccess;
  for (int rank = 0; rank < flags.ranks; ++rank)
    if (!wait(flags, own(flags) + begun_word(rank, flags.ranks), *flags.run,
              flags.page->shared[begun_wait(rank)], 0))
      return cudaSuccess;
  if (!is_common_run(flags)) return cudaSuccess;
  for (int i = 0; i < kFlags * kMostLanes * flags.ranks; ++i)
    store(own(flags)[i * TILEPOST_COUNTER_STRIDE], last_flag_value(*flags.run));
  for (int rank = 0; rank < flags.ranks; ++rank)
    store(flags.of[rank][ended_word(flags.rank, flags.ranks)], *flags.run);
  return cudaSuccess;
}

cudaError_t sum(const SumArguments& arguments) {
  for (int64_t i = 0; i < arguments.count; ++i) {
    float total = 0;
    for (int part = 0; part < arguments.num_parts; ++part)
      total += bf16::read(arguments.parts[part], i);
    bf16::write(arguments.out, i, total);
    if (arguments.sums != nullptr) bf16::write(arguments.sums, i, total);
    if (arguments.clear != nullptr) bf16::write(arguments.clear, i, 0);
  }
  return cudaSuccess;
}

}  // namespace fakes::ranks
