// Each kernel is one small block with a thread for every other rank, so that all ranks are served
// at once.
//
// A kernel that announces comes, in its stream, behind the wait that acquired the announced tiles,
// or behind the kernel or copy that made what is announced, whose results it sees (CUDA C++
// Programming Guide, Streams). Its st.release.sys hands on all that its thread has observed,
// whatever wrote it, because causality order is transitive (PTX ISA 8.9.5, Causality Order). The
// other rank's ld.acquire.sys reads the value, or a later one by the same thread or in its stream.
// This completes the pattern (8.8, Release and Acquire Patterns). Work that follows in the other
// rank's stream comes after the acquire. The scope is the system, because the two ranks are on
// different GPUs, and copy engines are no threads of either.
#include <cuda_runtime.h>

#include "runtime/cuda/device/kernel_launch.cuh"
#include "runtime/cuda/shared/flags.cuh"
#include "runtime/cuda/watch/replay.cuh"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = kMostPeers;
constexpr int kThreadsOfReplay = 32;  // a warp beside the others

__device__ __forceinline__ bool is_other(const SharedFlags& flags, int rank) {
  return rank < flags.ranks && rank != flags.rank;
}

__device__ __forceinline__ volatile uint64_t* run_words(uint32_t* line, uint32_t run) {
  return reinterpret_cast<volatile uint64_t*>(line + run_words_at(run));
}

// A kernel that is a whole run does not report its own end. The kernel that begins the next run
// reports it here. Like end_kernel, this also keeps flags from falling behind the number of runs.
__device__ __forceinline__ void end_exchange(const SharedFlags& flags, uint32_t run) {
  const int rank = threadIdx.x;
  if ((*flags.kind & TILEPOST_EXCHANGES) == 0) return;  // this is the same for all threads
  volatile uint32_t* own = own_flags(flags);
  for (int i = threadIdx.x; i < kFlags * kMostLanes * flags.ranks; i += kThreads)
    own[i * TILEPOST_COUNTER_STRIDE] = last_flag_value(run);
  __syncthreads();
  if (rank < flags.ranks && !is_given_up(flags))
    ptx::store_release_sys(flags.of[rank] + ended_word(flags.rank, flags.ranks), run);
}

__device__ __forceinline__ void expect_run(const SharedFlags& flags,
                                           const RunBeginning& beginning) {
  const uint32_t* const before = flags.expected + *flags.half * flags.counters;
  for (int i = threadIdx.x; i < flags.counters; i += kThreads) {
    const bool grows = beginning.targets != nullptr && i < beginning.counters;
    const uint32_t count = before[i] + (grows ? beginning.targets[i] : 0);
    flags.expected[i] = flags.expected[flags.counters + i] = count;
  }
}

// Waits until all ranks have ended the run before. It waits for this rank too, because this rank
// announces its end on another stream. The barrier puts the waits before the counting (PTX ISA,
// barrier), and lets all threads read the old number before it changes. The values that counters
// have to reach are kept twice, for kernels that count runs themselves
// (tilepost/device/whole_run.cuh). After this kernel both copies are equal, for all other kernels.
//
// No other kernel touches the counts of finished chunks while this kernel sets them to zero. All
// chunks of the run before were counted before that run's end. The end comes behind the kernel
// whose tasks they are, or behind a wait that saw the last of them. All waits for the chunks came
// before the end, too. The release of that end has been acquired (PTX ISA 8.9.5). This run's tasks
// and waits come behind this kernel in their streams (CUDA C++ Programming Guide, Streams).
//
// The words that describe the run are sent after the number of runs begun, so that nothing waits
// for the words. Each word also has the run's number, in one access of 64 bits (PTX ISA 8.2.1,
// Scalar Data-types), which is relaxed and of system scope (st, .volatile).
//
// The host has to see a replay before it waits. A warp of its own marks it, so that the others do
// not wait until the host's memory has been written.
__global__ void __launch_bounds__(kThreads + kThreadsOfReplay)
    begin_kernel(const __grid_constant__ SharedFlags flags, const RunBeginning beginning) {
  const int rank = threadIdx.x;
  if (rank >= kThreads) return begin_replay(flags.page, beginning.replay, rank - kThreads);
  const uint32_t run = *flags.run;
  end_exchange(flags, run);
  if (rank < flags.ranks)
    wait_for(flags, own_flags(flags) + ended_word(rank, flags.ranks), run,
             flags.page->shared + ended_wait(rank), 0);
  __syncthreads();
  if (rank == 0) {
    *flags.run = run + 1;
    *flags.kind = beginning.words.plan & ~TILEPOST_EXCHANGES;
  }
  if (rank < flags.ranks) {
    if (flags.parts > 0 && rank < TILEPOST_MOST_EXCHANGING)
      *static_cast<volatile uint32_t*>(flag_to_renew(flags.arrived, flags.parts, run + 1, rank)) =
          run;
    uint32_t* const line = flags.of[rank] + begun_word(flags.rank, flags.ranks);
    ptx::store_release_sys(line, run + 1);
    volatile uint64_t* const words = run_words(line, run + 1);
    words[0] = run_word(run + 1, beginning.words.m);
    words[1] = run_word(run + 1, beginning.words.schedule);
    words[2] = run_word(run + 1, beginning.words.plan);
    words[3] = run_word(run + 1, beginning.words.output);
  }
  expect_run(flags, beginning);
  for (int i = threadIdx.x; flags.done != nullptr && i < beginning.counters; i += kThreads)
    flags.done[i * TILEPOST_COUNTER_STRIDE] = 0;
}

struct Announcement {
  Flag flag;
  int lane, group;
  uint64_t sources;  // a bit for each rank for which the kernel waits
};

__global__ void __launch_bounds__(kThreads)
    announce_kernel(const __grid_constant__ SharedFlags flags, const Announcement what) {
  const int rank = threadIdx.x;
  if (!is_other(flags, rank)) return;
  const uint32_t value = flag_value(*flags.run, what.group);
  const auto flag_of = [&](int source) {
    return flag_word(what.flag, what.lane, source, flags.ranks);
  };
  if (!is_given_up(flags)) ptx::store_release_sys(flags.of[rank] + flag_of(flags.rank), value);
  if ((what.sources >> rank & 1) != 0)
    wait_for(flags, own_flags(flags) + flag_of(rank), value,
             flags.page->shared + flag_wait(what.flag, what.lane, rank), what.group);
}

// The store threads of all ranks' kernels raise the counter with red.release.sys, after their
// tiles' stores are complete. Reading the sum observes all of the chain (PTX ISA 8.9.2, Observation
// Order).
__global__ void stored_kernel(const __grid_constant__ SharedFlags flags, int group) {
  if (wait_for(flags, own_flags(flags) + counter_word(group, flags.ranks), flags.expected[group],
               flags.page->shared + stored_wait(group), group))
    publish(&flags.page->stored, static_cast<uint32_t>(group) + 1);
}

// The helper warps of this rank's kernel raise the count with red.release.sys, each after its
// chunks' stores are complete (cp.async.bulk.wait_group). Reading the sum observes all of the chain
// (PTX ISA 8.9.2, Observation Order). Tasks begin when their tiles are stored, or need no tiles.
__global__ void added_kernel(const __grid_constant__ SharedFlags flags, int group,
                             uint32_t chunks) {
  if (wait_for(flags, flags.done + group * TILEPOST_COUNTER_STRIDE, chunks,
               flags.page->shared + added_wait(group), group))
    publish(&flags.page->stored, static_cast<uint32_t>(group) + 1);
}

// Whether all words of the run that `rank` has begun are here and are those of run `run`. Reads
// them into `words`. The loads do not wait for each other.
__device__ __forceinline__ bool see_run_words(const SharedFlags& flags, int rank, uint32_t run,
                                              RunWords& words) {
  const volatile uint64_t* const line =
      run_words(own_flags(flags) + begun_word(rank, flags.ranks), run);
  const uint64_t found[kRunWords] = {line[0], line[1], line[2], line[3]};
  const auto of_run = [run](uint64_t word) { return static_cast<uint32_t>(word) == run; };
  const auto value = [](uint64_t word) { return static_cast<uint32_t>(word >> 32); };
  words = {value(found[0]), value(found[1]), value(found[2]), value(found[3])};
  return of_run(found[0]) & of_run(found[1]) & of_run(found[2]) & of_run(found[3]);
}

// Waits for the words of a rank that has announced that it has begun the run, and reads them. Its
// words are on their way or here. They are not the next run's words, because that rank does not
// begin the next run before this rank has ended this one. But a rank that has given up the run
// releases the runs behind it, and their words overwrite these. Returns false if the host stored
// the abort word, or the deadline passed, before the words came. After the deadline the host gets
// the same report as for a rank that did not begin the run.
__device__ bool read_run_words(const SharedFlags& flags, int rank, uint32_t run, RunWords& words) {
  const PollEnd end = poll_until([&] { return see_run_words(flags, rank, run, words); },
                                 flags.deadline_ns, flags.page, [] {});
  if (end == PollEnd::late) {
    tell_host(flags.page->shared + begun_wait(rank), kGaveUp, 0, run - 1, run);
    stay_for_host(flags.page);
  }
  return end == PollEnd::reached;
}

// Whether all ranks have begun the same run as this rank. Each thread looks at one rank. If several
// ranks differ, the first of them is reported to the host. This waits for no rank for which the
// beginning of the next run would not wait: a rank that has not begun the run has not ended it.
__device__ bool is_common_run(const SharedFlags& flags, uint32_t run) {
  __shared__ uint32_t differs[kMostPeers];
  const int rank = threadIdx.x;
  RunWords own{}, theirs{};
  bool known = true;
  differs[rank] = 0;
  if (rank < flags.ranks) {
    known = wait_for(flags, own_flags(flags) + begun_word(rank, flags.ranks), run,
                     flags.page->shared + begun_wait(rank), 0) &&
            read_run_words(flags, flags.rank, run, own) && read_run_words(flags, rank, run, theirs);
    differs[rank] = known && !own.same_as(theirs) ? 1 : 0;
  }
  if (__syncthreads_and(known && differs[rank] == 0)) return true;
  bool first = differs[rank] != 0;
  for (int other = 0; other < rank; ++other) first &= differs[other] == 0;
  if (first) {
    RunDifference& told = flags.page->difference;
    told.rank = static_cast<uint32_t>(rank);
    told.own = own;
    told.theirs = theirs;
    publish(&told.found, 1);
  }
  *static_cast<volatile uint32_t*>(flags.given_up) = 1;
  return false;
}

// Whether nothing was given up, and all ranks' words are here and equal. Nearly every run finds
// this. The next run waits for this kernel, so no load here waits for another load.
__device__ bool is_plain_end(const SharedFlags& flags, uint32_t run) {
  const int rank = threadIdx.x;
  const uint32_t given_up = *static_cast<const volatile uint32_t*>(flags.given_up);
  const uint32_t abort = rank == 0 ? ptx::load_relaxed_sys(&flags.page->abort) : 0;
  bool same = true;
  if (rank < flags.ranks) {
    RunWords own{}, theirs{};
    const bool own_here = see_run_words(flags, flags.rank, run, own);
    same = see_run_words(flags, rank, run, theirs) & own_here & own.same_as(theirs);
  }
  return __syncthreads_and(same && given_up == 0 && abort == 0) != 0;
}

// All reads and copies of this rank precede this kernel in the stream. The barrier puts the stores
// of the flags before the releases (PTX ISA, barrier; 8.9.5). No rank announces anything of the
// next run before it has acquired these releases, so no newer flag is overwritten. Volatile stores
// are relaxed stores of system scope (PTX ISA, st). A run that was given up never ends, because its
// kernel may still store into the other ranks' memory, and nothing waits for that kernel any more.
__device__ void end_run(const SharedFlags& flags) {
  const int rank = threadIdx.x;
  const uint32_t run = *flags.run;
  if (!is_plain_end(flags, run)) {
    __shared__ bool over;
    if (rank == 0) over = is_given_up(flags) || ptx::load_relaxed_sys(&flags.page->abort) != 0;
    __syncthreads();
    if (over || !is_common_run(flags, run)) return;
  }
  volatile uint32_t* own = own_flags(flags);
  for (int i = threadIdx.x; i < kFlags * kMostLanes * flags.ranks; i += kThreads)
    own[i * TILEPOST_COUNTER_STRIDE] = last_flag_value(run);
  __syncthreads();
  if (rank < flags.ranks)
    ptx::store_release_sys(flags.of[rank] + ended_word(flags.rank, flags.ranks), run);
  if (rank == 0) publish(&flags.page->stored, 0);
}

__global__ void __launch_bounds__(kThreads)
    end_kernel(const __grid_constant__ SharedFlags flags, bool captured) {
  const bool marks = captured && threadIdx.x == 0;
  const uint32_t begun = marks ? replays_begun(flags.page) : 0;
  end_run(flags);
  if (marks) end_replay(flags.page, begun);
}

// A kernel that is a whole run has waited for all that the other ranks' kernels of this run store
// on this rank: their words, and their flags or lines of every part, or what they add to its
// counters. After that those kernels store nothing more in this rank's memory, so for this rank
// they have ended. Nothing is announced to the other ranks, because their memory may be gone.
__global__ void __launch_bounds__(kThreads)
    settle_kernel(const __grid_constant__ SharedFlags flags) {
  const int rank = threadIdx.x;
  if (rank < flags.ranks && (*flags.kind & TILEPOST_EXCHANGES) != 0 && !is_given_up(flags))
    *static_cast<volatile uint32_t*>(own_flags(flags) + ended_word(rank, flags.ranks)) = *flags.run;
}

cudaError_t launch_announcement(const SharedFlags& flags, const Announcement& what,
                                cudaStream_t stream) {
  return launch_kernel(announce_kernel, 1, kThreads, stream, flags, what);
}

}  // namespace

cudaError_t preload_flags() {
  for (const void* kernel :
       {reinterpret_cast<const void*>(begin_kernel), reinterpret_cast<const void*>(announce_kernel),
        reinterpret_cast<const void*>(stored_kernel), reinterpret_cast<const void*>(added_kernel),
        reinterpret_cast<const void*>(end_kernel), reinterpret_cast<const void*>(settle_kernel)})
    if (const auto error = preload_beside_gemm(kernel); error != cudaSuccess) return error;
  return cudaSuccess;
}

cudaError_t launch_shared_begin(const SharedFlags& flags, const RunBeginning& beginning,
                                cudaStream_t stream) {
  const int threads = kThreads + (beginning.replay.counts ? kThreadsOfReplay : 0);
  return launch_kernel(begin_kernel, 1, threads, stream, flags, beginning);
}

cudaError_t launch_announce(const SharedFlags& flags, Flag flag, int lane, int group,
                            cudaStream_t stream) {
  return launch_announcement(flags, {flag, lane, group, 0}, stream);
}

cudaError_t launch_announce_and_wait(const SharedFlags& flags, Flag flag, int lane, int group,
                                     uint64_t sources, cudaStream_t stream) {
  return launch_announcement(flags, {flag, lane, group, sources}, stream);
}

cudaError_t launch_wait_stored(const SharedFlags& flags, int group, cudaStream_t stream) {
  return launch_kernel(stored_kernel, 1, 1, stream, flags, group);
}

cudaError_t launch_wait_added(const SharedFlags& flags, int group, uint32_t chunks,
                              cudaStream_t stream) {
  return launch_kernel(added_kernel, 1, 1, stream, flags, group, chunks);
}

cudaError_t launch_settle(const SharedFlags& flags, cudaStream_t stream) {
  return launch_kernel(settle_kernel, 1, kThreads, stream, flags);
}

cudaError_t launch_shared_end(const SharedFlags& flags, bool captured, cudaStream_t stream) {
  return launch_kernel(end_kernel, 1, kThreads, stream, flags, captured);
}

}  // namespace tilepost::cuda
