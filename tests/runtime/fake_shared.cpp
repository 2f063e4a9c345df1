// Stand-ins for the kernels of runtime/cuda/shared/flags.h, arrivals.h and sum.h. The other ranks
// do the same as this rank at the same time, and their flags appear in this rank's memory. With
// `collectives_hang` the other ranks do nothing more.
#include "runtime/cuda/shared/access_test.h"
#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/shared/sum.h"
#include "runtime/cuda/transport/arrivals.h"
#include "runtime/cuda/watch/epoch.h"
#include "tests/runtime/fake_ranks.h"
#include "tests/runtime/fakes.h"
#include "tilepost/internal/timeline_words.h"

using namespace fakes;

namespace tilepost::cuda {
namespace {

cudaError_t launched(const std::string& line) {
  return call(line) ? cudaErrorLaunchFailure : cudaSuccess;
}

uint32_t* own(const SharedFlags& flags) {
  return flags.of[flags.rank];
}

// Whether the word has reached the target. If not, the stream hangs until it has or until the host
// writes `abort`, and the page records what the stream waits for.
bool wait(const SharedFlags& flags, fakes::Stream& stream, const uint32_t* word, uint32_t target,
          SharedWait& place, int group) {
  if (reached(*word, target)) return true;
  place = {world().waits_give_up ? kGaveUp : kWaiting, static_cast<uint32_t>(group), *word, target};
  stream.hang = {true, [word, target, page = flags.page] {
                   return load(page->abort) != 0 || reached(load(*word), target);
                 }};
  return false;
}

std::string text_of(Flag flag, int lane, int group) {
  return std::string(flag == Flag::block ? " block" : " sums") + " lane " + std::to_string(lane) +
         " group " + std::to_string(group);
}

void announce(const SharedFlags& flags, Flag flag, int lane, uint32_t value) {
  for (int rank = 0; rank < flags.ranks; ++rank) {
    if (rank == flags.rank) continue;
    flags.of[rank][flag_word(flag, lane, flags.rank, flags.ranks)] = value;
    if (!world().collectives_hang) own(flags)[flag_word(flag, lane, rank, flags.ranks)] = value;
  }
}

void wait_announced(const SharedFlags& flags, Flag flag, int lane, int group, uint64_t sources,
                    fakes::Stream& stream) {
  for (int rank = 0; rank < flags.ranks; ++rank)
    if (rank != flags.rank && (sources >> rank & 1) != 0)
      wait(flags, stream, own(flags) + flag_word(flag, lane, rank, flags.ranks),
           flag_value(*flags.run, group), flags.page->shared[flag_wait(flag, lane, rank)], group);
}

std::string text_of(const ArrivalArguments& arguments) {
  std::string text = " groups " + std::to_string(arguments.first) + "+" +
                     std::to_string(arguments.count) + " sources";
  for (int i = 0; i < arguments.count; ++i) text += " " + std::to_string(arguments.sources[i]);
  return text;
}

void copy_own(const ArrivalArguments& arguments, int before) {
  for (const OwnRows& own : arguments.own)
    if (own.before == before) move_bytes(own.to, own.from, static_cast<size_t>(own.bytes));
}

void wait_alone(const SharedFlags& flags, const ArrivalArguments& arguments, int index,
                fakes::Stream& stream) {
  const std::lock_guard lock(world().mutex);
  wait_announced(flags, Flag::block, arguments.lane, arguments.first + index,
                 arguments.sources[index], stream);
}

// Goes on until the stream hangs.
void take_arrivals(const SharedFlags& flags, const ArrivalArguments& arguments,
                   fakes::Stream& stream) {
  for (int i = 0; i < arguments.count && !stream.hang.holds(); ++i) {
    const int group = arguments.first + i;
    if (world().threads)
      ranks::wait_announced(flags, Flag::block, arguments.lane, group, arguments.sources[i]);
    else
      wait_alone(flags, arguments, i, stream);
    if (stream.hang.holds()) return;
    copy_own(arguments, group);
    ranks::post(post_of(arguments, i));
    if (arguments.stamps != nullptr && arguments.sources[i] != 0)
      arguments.stamps[i * kTimelineStride + kStepsEnd] = fakes::tick();
  }
}

}  // namespace

cudaError_t preload_arrivals() {
  return launched("preload_arrivals");
}
cudaError_t preload_flags() {
  return launched("preload_flags");
}
cudaError_t preload_sum(tilepost_dtype_t) {
  return launched("preload_sum");
}

// With ranks as threads each rank writes to the others. Elsewhere this rank also writes here what
// the others would have written.
cudaError_t launch_access_test(const AccessTest& test, cudaStream_t stream) {
  const cudaError_t error = launched("access_test " + stream_of(stream).name);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess) return error;
  for (int rank = 0; rank < test.ranks; ++rank) {
    if (rank == test.rank) continue;
    const int source = world().threads ? test.rank : rank;
    uint32_t* const words = test.of[world().threads ? rank : test.rank];
    words[0] += added_by(1) - (world().additions_lost ? 1 : 0);
    if (!world().stores_lost) words[1 + source] = stored_by(source);
  }
  return cudaSuccess;
}

cudaError_t launch_shared_begin(const SharedFlags& flags, const RunBeginning& beginning,
                                cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const char* const replay = beginning.replay.counts ? " replay" : "";
  const cudaError_t error = launched("shared_begin " + s.name + replay);
  ranks::begin_replay(flags.page, beginning.replay);
  if (error == cudaSuccess && world().threads) return ranks::begin(flags, beginning);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds()) return error;
  for (int rank = 0; rank < flags.ranks; ++rank)
    if (rank != flags.rank)
      wait(flags, s, own(flags) + ended_word(rank, flags.ranks), *flags.run,
           flags.page->shared[ended_wait(rank)], 0);
  if (s.hang.holds()) return cudaSuccess;
  ranks::expect(flags, beginning);
  ++*flags.run;
  *flags.kind = beginning.words.plan & ~TILEPOST_EXCHANGES;
  // Writes to the others first. Where tests make their memory out of this rank's, the two overlap,
  // and what the others write here must remain.
  for (int rank = 0; rank < flags.ranks; ++rank)
    ranks::tell_run(flags.of[rank] + begun_word(flags.rank, flags.ranks), *flags.run,
                    beginning.words);
  for (int rank = 0; rank < flags.ranks; ++rank) {
    RunWords theirs = beginning.words;
    if (world().edit_run && rank != flags.rank) world().edit_run(rank, theirs);
    ranks::tell_run(own(flags) + begun_word(rank, flags.ranks), *flags.run, theirs);
  }
  flags.page->stored = 0;
  for (int g = 0; flags.done != nullptr && g < beginning.counters; ++g)
    flags.done[g * TILEPOST_COUNTER_STRIDE] = 0;
  return cudaSuccess;
}

cudaError_t launch_announce(const SharedFlags& flags, Flag flag, int lane, int group,
                            cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("announce " + s.name + text_of(flag, lane, group));
  if (error == cudaSuccess && world().threads) return ranks::announce(flags, flag, lane, group);
  const std::lock_guard lock(world().mutex);
  if (error == cudaSuccess && !s.hang.holds())
    announce(flags, flag, lane, flag_value(*flags.run, group));
  return error;
}

cudaError_t launch_announce_and_wait(const SharedFlags& flags, Flag flag, int lane, int group,
                                     uint64_t sources, cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("announce_and_wait " + s.name + text_of(flag, lane, group) +
                                     " sources " + std::to_string(sources));
  if (error == cudaSuccess && world().threads)
    return ranks::announce_and_wait(flags, flag, lane, group, sources);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds()) return error;
  announce(flags, flag, lane, flag_value(*flags.run, group));
  wait_announced(flags, flag, lane, group, sources, s);
  return cudaSuccess;
}

cudaError_t launch_arrivals(const SharedFlags& flags, const ArrivalArguments& arguments,
                            cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("arrivals " + s.name + text_of(arguments));
  const std::lock_guard lock(world().mutex);
  for (const OwnRows& own : arguments.own)
    if (own.bytes > 0) world().copies.push_back({own.from, own.to, static_cast<size_t>(own.bytes)});
  if (error != cudaSuccess) return error;
  s.late = [before = s.late, flags, arguments, &s] {
    if (before) before();
    take_arrivals(flags, arguments, s);
  };
  return cudaSuccess;
}

cudaError_t launch_wait_stored(const SharedFlags& flags, int group, cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("wait_stored " + s.name + " group " + std::to_string(group));
  if (error == cudaSuccess && world().threads) return ranks::wait_stored(flags, group);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds()) return error;
  if (wait(flags, s, own(flags) + counter_word(group, flags.ranks), flags.expected[group],
           flags.page->shared[stored_wait(group)], group))
    flags.page->stored = static_cast<uint32_t>(group) + 1;
  return cudaSuccess;
}

cudaError_t launch_wait_added(const SharedFlags& flags, int group, uint32_t chunks,
                              cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error = launched("wait_added " + s.name + " group " + std::to_string(group) +
                                     " chunks " + std::to_string(chunks));
  if (error == cudaSuccess && world().threads) return ranks::wait_added(flags, group, chunks);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds()) return error;
  if (wait(flags, s, flags.done + group * TILEPOST_COUNTER_STRIDE, chunks,
           flags.page->shared[added_wait(group)], group))
    flags.page->stored = static_cast<uint32_t>(group) + 1;
  return cudaSuccess;
}

cudaError_t launch_settle(const SharedFlags& flags, cudaStream_t stream) {
  const cudaError_t error = launched("settle " + stream_of(stream).name);
  const bool exchanged = (*flags.kind & TILEPOST_EXCHANGES) != 0 && load(*flags.given_up) == 0;
  for (int rank = 0; error == cudaSuccess && exchanged && rank < flags.ranks; ++rank)
    store(own(flags)[ended_word(rank, flags.ranks)], *flags.run);
  return error;
}

static cudaError_t end_shared(const SharedFlags& flags, const fakes::Stream& s, cudaError_t error) {
  if (error == cudaSuccess && world().threads && !s.hang.holds()) return ranks::end(flags);
  const std::lock_guard lock(world().mutex);
  if (error != cudaSuccess || s.hang.holds() || load(flags.page->abort) != 0) return error;
  if (!ranks::is_common_run(flags)) return error;
  for (int i = 0; i < kFlags * kMostLanes * flags.ranks; ++i)
    own(flags)[i * TILEPOST_COUNTER_STRIDE] = last_flag_value(*flags.run);
  for (int rank = 0; rank < flags.ranks; ++rank) {
    flags.of[rank][ended_word(flags.rank, flags.ranks)] = *flags.run;
    if (!world().collectives_hang) own(flags)[ended_word(rank, flags.ranks)] = *flags.run;
  }
  return cudaSuccess;
}

cudaError_t launch_shared_end(const SharedFlags& flags, bool captured, cudaStream_t stream) {
  fakes::Stream& s = stream_of(stream);
  const cudaError_t error =
      end_shared(flags, s, launched("shared_end " + s.name + (captured ? " replay" : "")));
  if (captured && !s.hang.holds()) flags.page->replays_ended = flags.page->replays_begun;
  return error;
}

cudaError_t launch_sum(const SumArguments& arguments, tilepost_dtype_t, cudaStream_t stream) {
  if (world().threads) ranks::sum(arguments);
  const std::lock_guard lock(world().mutex);
  // Parentheses, because in braces the two pointers would be the elements.
  world().sums.push_back(
      {std::vector<const void*>(arguments.parts, arguments.parts + arguments.num_parts),
       arguments.out, arguments.sums, arguments.clear, arguments.count});
  return launched("sum " + stream_of(stream).name + " parts " +
                  std::to_string(arguments.num_parts) + " count " +
                  std::to_string(arguments.count));
}

}  // namespace tilepost::cuda
