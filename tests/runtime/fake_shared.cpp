// The kernels of shared_words.h and sum.h as the host sees them. The other ranks do what this one
// does, at the same time, and say so in this rank's words; with collectives_hang they do no more.
#include "runtime/cuda/epoch.h"
#include "runtime/cuda/shared_words.h"
#include "runtime/cuda/sum.h"
#include "tests/runtime/fake_ranks.h"
#include "tests/runtime/fakes.h"

using namespace fakes;

namespace tilepost::cuda {
namespace {

cudaError_t launched(const std::string& line) {
  return call(line) ? cudaErrorLaunchFailure : cudaSuccess;
}

uint32_t* own(const SharedWords& words) {
  return words.words[words.rank];
}

// Whether the word has reached the target; if not, the stream hangs until it has, or the host says
// abort, and the record says what for.
bool wait(const SharedWords& words, fakes::Stream& stream, const uint32_t* word, uint32_t target,
          SharedWait& place, int group) {
  if (reached(*word, target)) return true;
  place = {world().waits_give_up ? kGaveUp : kWaiting, static_cast<uint32_t>(group), *word, target};
  stream.hang = {true, [word, target, record = words.record] {
                   return load(record->abort) != 0 || reached(load(*word), target);
                 }};
  return false;
}

std::string text_of(Flag flag, int lane, int group) {
  return std::string(flag == Flag::block ? " block" : " sums") + " lane " + std::to_string(lane) +
         " group " + std::to_string(group);
}

void announce(const SharedWords& words, Flag flag, int lane, uint32_t value) {
  for (int rank = 0; rank < words.ranks; ++rank) {
    if (rank == words.rank) continue;
    words.words[rank][flag_word(flag, lane, words.rank, words.ranks)] = value;
    if (!world().collectives_hang) own(words)[flag_word(flag, lane, rank, words.ranks)] = value;
  }
}

void wait_announced(const SharedWords& words, Flag flag, int lane, int group, uint64_t sources,
                    fakes::Stream& stream) {
  for (int rank = 0; rank < words.ranks; ++rank)
    if (rank != words.rank && (sources >> rank & 1) != 0)
      wait(words, stream, own(words) + flag_word(flag, lane, rank, words.ranks),
           flag_value(*words.run, group), words.record->shared[flag_wait(flag, lane, rank)], group);
}

}  // namespace

cudaError_t preload_shared_kernels() {
  return launched("preload_shared_kernels");
}
cudaError_t preload_sum(tilepost_dtype_t) {
  return launched("preload_sum");
}

cudaError_t launch_shared_begin(const SharedWords& words, const uint32_t* targets, int groups,
                                cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("shared_begin " + s.name);
  if (error == cudaSuccess && world().threads) return ranks::begin(words, targets, groups);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds()) return error;
  for (int rank = 0; rank < words.ranks; ++rank)
    if (rank != words.rank)
      wait(words, s, own(words) + ended_word(rank, words.ranks), *words.run,
           words.record->shared[ended_wait(rank)], 0);
  if (s.hang.holds()) return cudaSuccess;
  ++*words.run;
  for (int rank = 0; rank < words.ranks; ++rank) {
    words.words[rank][begun_word(words.rank, words.ranks)] = *words.run;
    own(words)[begun_word(rank, words.ranks)] = *words.run;
  }
  words.record->stored = 0;
  for (int g = 0; g < groups; ++g) {
    if (targets != nullptr) words.expected[g] += targets[g];
    if (words.done != nullptr) words.done[g * TILEPOST_COUNTER_STRIDE] = 0;
  }
  return cudaSuccess;
}

cudaError_t launch_announce(const SharedWords& words, Flag flag, int lane, int group,
                            cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("announce " + s.name + text_of(flag, lane, group));
  if (error == cudaSuccess && world().threads) return ranks::announce(words, flag, lane, group);
  const std::lock_guard lock(world().mutex);
  if (error == cudaSuccess && !s.hang.holds())
    announce(words, flag, lane, flag_value(*words.run, group));
  return error;
}

cudaError_t launch_announce_and_wait(const SharedWords& words, Flag flag, int lane, int group,
                                     uint64_t sources, cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("announce_and_wait " + s.name + text_of(flag, lane, group) +
                                     " sources " + std::to_string(sources));
  if (error == cudaSuccess && world().threads)
    return ranks::announce_and_wait(words, flag, lane, group, sources);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds()) return error;
  announce(words, flag, lane, flag_value(*words.run, group));
  wait_announced(words, flag, lane, group, sources, s);
  return cudaSuccess;
}

cudaError_t launch_wait_announced(const SharedWords& words, Flag flag, int lane, int group,
                                  uint64_t sources, cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("wait_announced " + s.name + text_of(flag, lane, group) +
                                     " sources " + std::to_string(sources));
  if (error == cudaSuccess && world().threads)
    return ranks::wait_announced(words, flag, lane, group, sources);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds()) return error;
  wait_announced(words, flag, lane, group, sources, s);
  return cudaSuccess;
}

cudaError_t launch_wait_stored(const SharedWords& words, int group, cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("wait_stored " + s.name + " group " + std::to_string(group));
  if (error == cudaSuccess && world().threads) return ranks::wait_stored(words, group);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds()) return error;
  if (wait(words, s, own(words) + counter_word(group, words.ranks), words.expected[group],
           words.record->shared[stored_wait(group)], group))
    words.record->stored = static_cast<uint32_t>(group) + 1;
  return cudaSuccess;
}

cudaError_t launch_wait_added(const SharedWords& words, int group, uint32_t chunks,
                              cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("wait_added " + s.name + " group " + std::to_string(group) +
                                     " chunks " + std::to_string(chunks));
  if (error == cudaSuccess && world().threads) return ranks::wait_added(words, group, chunks);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds()) return error;
  if (wait(words, s, words.done + group * TILEPOST_COUNTER_STRIDE, chunks,
           words.record->shared[added_wait(group)], group))
    words.record->stored = static_cast<uint32_t>(group) + 1;
  return cudaSuccess;
}

cudaError_t launch_shared_end(const SharedWords& words, cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("shared_end " + s.name);
  if (error == cudaSuccess && world().threads && !s.hang.holds()) return ranks::end(words);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds() || load(words.record->abort) != 0) return error;
  for (int i = 0; i < kFlags * kMostLanes * words.ranks; ++i)
    own(words)[i * TILEPOST_COUNTER_STRIDE] = last_flag_value(*words.run);
  for (int rank = 0; rank < words.ranks; ++rank) {
    words.words[rank][ended_word(words.rank, words.ranks)] = *words.run;
    if (!world().collectives_hang) own(words)[ended_word(rank, words.ranks)] = *words.run;
  }
  return cudaSuccess;
}

cudaError_t launch_sum(const SumArguments& arguments, tilepost_dtype_t, cudaStream_t stream) {
  if (world().threads) ranks::sum(arguments);
  const std::lock_guard lock(world().mutex);
  world().sums.push_back({{arguments.parts, arguments.parts + arguments.num_parts},
                          arguments.out,
                          arguments.sums,
                          arguments.clear,
                          arguments.count});
  return launched("sum " + stream_of(stream).name + " parts " +
                  std::to_string(arguments.num_parts) + " count " +
                  std::to_string(arguments.count));
}

}  // namespace tilepost::cuda
