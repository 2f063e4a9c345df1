#include "tests/runtime/fake_ranks.h"

#include <chrono>
#include <thread>

#include "runtime/cuda/epoch.h"
#include "tests/runtime/bf16.h"

namespace fakes::ranks {

using namespace tilepost::cuda;

namespace {

constexpr std::chrono::microseconds kPoll{20};
constexpr std::chrono::seconds kStay{1};

uint32_t* own(const SharedWords& words) {
  return words.words[words.rank];
}

// A wait that gave up stays until the host says abort, for a while.
void stay(const SharedWords& words) {
  const auto end = std::chrono::steady_clock::now() + kStay;
  while (load(words.record->abort) == 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kPoll);
}

bool give_up(const SharedWords& words) {
  store(*words.given_up, 1);
  return false;
}

bool wait(const SharedWords& words, const uint32_t* word, uint32_t target, SharedWait& place,
          int group) {
  if (load(*words.given_up) != 0) return false;
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds deadline(words.deadline_ns);
  while (!reached(load(*word), target)) {
    if (load(words.record->abort) != 0) return give_up(words);
    if (deadline.count() > 0 && std::chrono::steady_clock::now() - begin > deadline) {
      place.group = static_cast<uint32_t>(group);
      place.seen = load(*word);
      place.wanted = target;
      store(place.state, kGaveUp);
      stay(words);
      return give_up(words);
    }
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

}  // namespace

cudaError_t begin(const SharedWords& words, const uint32_t* targets, int groups) {
  for (int rank = 0; rank < words.ranks; ++rank)
    wait(words, own(words) + ended_word(rank, words.ranks), *words.run,
         words.record->shared[ended_wait(rank)], 0);
  ++*words.run;
  for (int rank = 0; rank < words.ranks; ++rank)
    store(words.words[rank][begun_word(words.rank, words.ranks)], *words.run);
  store(words.record->stored, 0);
  for (int g = 0; g < groups; ++g) {
    if (targets != nullptr) words.expected[g] += targets[g];
    if (words.done != nullptr) store(words.done[g * TILEPOST_COUNTER_STRIDE], 0);
  }
  return cudaSuccess;
}

cudaError_t announce(const SharedWords& words, Flag flag, int lane, int group) {
  if (load(*words.given_up) != 0) return cudaSuccess;
  for (int rank = 0; rank < words.ranks; ++rank)
    if (rank != words.rank)
      store(words.words[rank][flag_word(flag, lane, words.rank, words.ranks)],
            flag_value(*words.run, group));
  return cudaSuccess;
}

cudaError_t announce_and_wait(const SharedWords& words, Flag flag, int lane, int group,
                              uint64_t sources) {
  announce(words, flag, lane, group);
  return wait_announced(words, flag, lane, group, sources);
}

cudaError_t wait_announced(const SharedWords& words, Flag flag, int lane, int group,
                           uint64_t sources) {
  for (int rank = 0; rank < words.ranks; ++rank)
    if ((sources >> rank & 1) != 0)
      wait(words, own(words) + flag_word(flag, lane, rank, words.ranks),
           flag_value(*words.run, group), words.record->shared[flag_wait(flag, lane, rank)], group);
  return cudaSuccess;
}

cudaError_t wait_stored(const SharedWords& words, int group) {
  if (wait(words, own(words) + counter_word(group, words.ranks), words.expected[group],
           words.record->shared[stored_wait(group)], group))
    store(words.record->stored, static_cast<uint32_t>(group) + 1);
  return cudaSuccess;
}

cudaError_t wait_added(const SharedWords& words, int group, uint32_t chunks) {
  if (wait(words, words.done + group * TILEPOST_COUNTER_STRIDE, chunks,
           words.record->shared[added_wait(group)], group))
    store(words.record->stored, static_cast<uint32_t>(group) + 1);
  return cudaSuccess;
}

cudaError_t end(const SharedWords& words) {
  if (load(words.record->abort) != 0 || load(*words.given_up) != 0) return cudaSuccess;
  for (int i = 0; i < kFlags * kMostLanes * words.ranks; ++i)
    store(own(words)[i * TILEPOST_COUNTER_STRIDE], last_flag_value(*words.run));
  for (int rank = 0; rank < words.ranks; ++rank)
    store(words.words[rank][ended_word(words.rank, words.ranks)], *words.run);
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
