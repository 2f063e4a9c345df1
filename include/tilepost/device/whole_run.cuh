// A kernel that is a whole run (tilepost_plan_t::whole_run) and stores tiles in their owners'
// memory, or pushes rows of A. No kernel in front of it waits until other ranks' memory may be
// written, and none behind it says that the run has ended.
//
// The kernel loads and multiplies at once. The helper warp of CTA 0 announces to every rank that
// this rank has begun the run. That also means that everything in front of the run has ended: reads
// by this rank's kernels of memory that others store into, and whatever the caller has done with
// its outputs. A store thread waits, before its first store, for this announcement of all ranks.
// The next run announces the end of this one, as where kernels exchange tiles (meeting.cuh).
//
// The values that counters have to reach are kept twice. All CTAs read the half that the last run
// has left, while one CTA writes the other half for the next run. docs/internals/whole-runs.md has
// the proof.
#ifndef TILEPOST_DEVICE_WHOLE_RUN_CUH
#define TILEPOST_DEVICE_WHOLE_RUN_CUH

#include <cstdint>

#include "tilepost/device/meeting.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/tasks.cuh"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// Whether this run is a whole run. A plan may have runs in sequence too.
__device__ __forceinline__ bool is_whole_run(const tilepost_view_t& view) {
  return view.exchange.ranks != 0;
}

// Which half of the values that counters have to reach is valid when the kernel begins.
__device__ __forceinline__ uint32_t half_of_expected(const tilepost_exchange_t& exchange) {
  return *static_cast<const volatile uint32_t*>(exchange.run + kHalfWord);
}

// Called by each thread that has read the run: in each CTA those that store, or load rows of A that
// arrive, and one thread of the helper warp. The last of them makes the other half of the counts
// valid for the next kernel.
__device__ __forceinline__ void count_whole_run(const tilepost_exchange_t& exchange, uint32_t run,
                                                int storers) {
  const bool last = count_reader(exchange, run, gridDim.x * static_cast<uint32_t>(storers + 1));
  if (last) exchange.run[kHalfWord] ^= 1;
}

// ---- Waiting
//
// Every function that is called here is inlined: a call takes more registers than the kernel leaves
// the warps that move data. So these waits do not call look_up. They look at the host's word alone,
// and the host watches the run.

// One thread. Polls until has_come() is true. Returns false if the run was given up, and notes that
// for kernels behind this one.
template <class HasCome>
__device__ __forceinline__ bool await_quietly(const tilepost_exchange_t& exchange,
                                              HasCome has_come) {
  constexpr unsigned kPollNanoseconds = 32;
  constexpr int kPollsPerCheck = 1 << 15;  // the abort word lies in the host's memory
  for (int polls = 1; !has_come(); ++polls) {
    if (polls % kPollsPerCheck == 0 && ptx::load_relaxed_sys(exchange.abort) != 0) {
      give_up(exchange);
      return false;
    }
    ptx::sleep_ns(kPollNanoseconds);
  }
  return true;
}

// As await_quietly(), until a count of runs has reached `run`. Counts grow. Acquires what was
// released with the count.
__device__ __forceinline__ bool await_count(const tilepost_exchange_t& exchange,
                                            const uint32_t* count, uint32_t run) {
  const bool came = await_quietly(
      exchange, [&] { return static_cast<int32_t>(ptx::load_relaxed_sys(count) - run) >= 0; });
  if (came) ptx::load_acquire_sys(count);
  return came;
}

// A thread for each rank. Waits until that rank has begun the run, and compares the words that
// describe the run. If the two runs are not the same, the host gets the words of both ranks. A
// separate kernel that begins that rank's run stores the words behind "begun", so they may still be
// under way.
__device__ __forceinline__ void meet_rank(const tilepost_exchange_t& exchange, uint32_t run,
                                          int rank) {
  uint32_t* const line = exchange_line(exchange, exchange.begun, exchange.rank, rank);
  if (!await_count(exchange, line, run)) return;
  const volatile uint64_t* const words = words_of_run(line, run);
  bool same = true;
#pragma unroll 1
  for (int i = 0; i < kRunWords; ++i) {
    uint64_t word = 0;
    const auto has_come = [&] {
      word = words[i];
      return static_cast<uint32_t>(word) == run;
    };
    if (!await_quietly(exchange, has_come)) return;
    same &= static_cast<uint32_t>(word >> 32) == exchange.words[i];
  }
  // The first thread to find a difference reports it.
  if (same || atomicExch(exchange.given_up, 1) != 0) return;
  volatile uint32_t* const told = exchange.difference;
  told[1] = static_cast<uint32_t>(rank);
#pragma unroll 1
  for (int i = 0; i < kRunWords; ++i) {
    told[2 + i] = exchange.words[i];
    told[2 + kRunWords + i] = static_cast<uint32_t>(words[i] >> 32);
  }
  __threadfence_system();
  told[0] = 1;
}

// ---- A thread that stores

// Waits until all ranks have begun this run; behind a run of another kind, first until all ranks
// have ended that run. The thread may not store if a run was given up: nothing is known of the
// other ranks then, and nothing is stored in their memory.
__device__ __forceinline__ TileStores await_owners(const tilepost_exchange_t& exchange,
                                                   int storers) {
  const RunRead read = read_run(exchange);
  bool may_store = !is_given_up(exchange);
#pragma unroll 1
  for (int rank = 0; may_store && rank < exchange.ranks; ++rank) {
    if (read.last_kind != exchange.kind)
      may_store = await_count(
          exchange, exchange_line(exchange, exchange.ended, exchange.rank, rank), read.run - 1);
    may_store = may_store &&
                await_count(exchange, exchange_line(exchange, exchange.begun, exchange.rank, rank),
                            read.run);
  }
  count_whole_run(exchange, read.run, storers);
  return {read.run, may_store};
}

// ---- The helper warp
//
// The warp keeps what it knows of the run in shared memory, beside the barriers of its tasks,
// because the tasks leave it no registers for that. It relies on the warp barriers that the tasks
// have anyway: with more of them ptxas runs out of registers.

// Where the notes lie, in bytes from the beginning of the warp's helper memory: the number of the
// run, which half of the counts is valid, which replay it is, and how many lanes know that
// everything has come.
constexpr int kRunNote = kTaskBarriers - 16, kHalfNote = kTaskBarriers - 12,
              kReplayNote = kTaskBarriers - 8, kLanesNote = kTaskBarriers - 4;
static_assert(kTaskBuffers * 8 <= kRunNote, "notes lie behind the barriers");

// What counters read when all of the run has come: the run's targets more than when all of the last
// run had come. `notes` is the address of the warp's notes.
struct CountsOfRun {
  const tilepost_exchange_t& exchange;
  uint32_t notes;

  __device__ uint32_t at(int counter) const {
    const uint32_t half = ptx::load_shared_word(notes + kHalfNote);
    return exchange.expected[half * exchange.counters + counter] + exchange.targets[counter];
  }
};

// All lanes. Writes, for the next run, what counters will have reached by the end of this one. The
// run's own counters begin at `first`.
__device__ __forceinline__ void expect_run(const tilepost_exchange_t& exchange, uint32_t half,
                                           int lane, int first = 0) {
  const uint32_t* const before = exchange.expected + half * exchange.counters;
  volatile uint32_t* const counts = exchange.expected + (half ^ 1) * exchange.counters;
#pragma unroll 1
  for (int i = lane; i < exchange.counters; i += 32) {
    const auto own = static_cast<uint32_t>(i - first);
    const bool grows = own < static_cast<uint32_t>(exchange.num_targets);
    counts[i] = before[i] + (grows ? exchange.targets[own] : 0);
  }
}

// Lane 0 notes the number of the run and the half.
__device__ __forceinline__ void note_run(uint32_t notes, uint32_t run, uint32_t half, int lane) {
  if (lane != 0) return;
  ptx::store_shared_word(notes + kRunNote, run);
  ptx::store_shared_word(notes + kHalfNote, half);
}

// All lanes. Begins the run. The warp of the first CTA also meets the other ranks, before it has
// anything else to do. The host sees a replay begin before the warp waits.
__device__ __forceinline__ void begin_whole_run(const tilepost_exchange_t& exchange,
                                                uint32_t notes) {
  const int lane = threadIdx.x % 32;
  const RunRead read = read_run(exchange);
  const uint32_t half = half_of_expected(exchange);
  note_run(notes, read.run, half, lane);
  if (blockIdx.x != 0) return;
  if (lane < exchange.ranks) tell_begun(exchange, read.run, read.last_kind, lane);
  expect_run(exchange, half, lane);
  if (lane == 0) {
    ptx::store_shared_word(notes + kReplayNote, begin_replay(exchange));
    ptx::store_shared_word(notes + kLanesNote, 0);
  }
  if (lane < exchange.ranks) meet_rank(exchange, read.run, lane);
}

// Lane 0 counts the helper warp as a reader. Called behind a barrier of the warp, by which all
// lanes have read the run.
__device__ __forceinline__ void count_helper(const tilepost_exchange_t& exchange, uint32_t notes,
                                             int storers) {
  if (threadIdx.x % 32 == 0)
    count_whole_run(exchange, ptx::load_shared_word(notes + kRunNote), storers);
}

// All lanes, when their tasks are done or given up; only lane 0's `through` counts. The host
// watches a replay until the kernel reports its end. The kernel may do so only when everything has
// come that other ranks store here. The tasks of this CTA may not have waited for all of that. So
// each lane of the first CTA waits for a part of it, and the last lane to finish reports the end.
__device__ __forceinline__ void end_whole_run(const tilepost_exchange_t& exchange,
                                              const tilepost_tasks_t& tasks, uint32_t notes,
                                              bool through) {
  const int lane = threadIdx.x % 32;
  if (lane == 0 && !through) give_up(exchange);
  if (blockIdx.x != 0 || exchange.replays == nullptr) return;
  const CountsOfRun expected{exchange, notes};
#pragma unroll 1
  for (int j = lane; j < tasks.count; j += 32)
    if (!wait_for_parts(tasks, expected, tasks.list[j].waits)) break;
  if (ptx::add_shared_word(notes + kLanesNote, 1) == 31)
    end_replay(exchange, ptx::load_shared_word(notes + kReplayNote));
}

// ---- Rows of A (kWaits)
//
// A rank pushes its rows as soon as its kernel has begun. It need not wait for the other ranks.
// There are two places where rows arrive, and two sets of counters for them, which runs use by the
// parity of their numbers. No kernel ends before all ranks have begun its run.
// docs/internals/whole-runs.md has the proof.

// The counters of a run's groups, and what each reads when its group has come.
template <int kGroups>
struct RowsOfRun {
  const tilepost_exchange_t& exchange;
  uint32_t run, half;

  __device__ int first() const { return (run & 1) * kGroups; }
  __device__ int counter_of(int group) const { return first() + group; }
  __device__ uint32_t at(int counter) const {
    return exchange.expected[half * exchange.counters + counter] +
           exchange.targets[counter - first()];
  }
};

constexpr int kLoaders = 1;  // threads of a CTA that load rows, and so read the run

// A thread that loads rows, before its first load. Reads the run.
__device__ __forceinline__ void open_rows(const tilepost_exchange_t& exchange, BulkLoads& loads) {
  loads.run = read_run(exchange).run;
  loads.half = half_of_expected(exchange);
  count_whole_run(exchange, loads.run, kLoaders);
}

// All lanes. Behind a run of another kind: waits until all ranks have ended that run, because they
// may still read where this rank pushes its rows to. Returns false to all lanes if the wait of one
// was given up.
//
// Each lane acquires what one rank has released with its end. The barrier of the warp comes behind
// all of these acquires and before what any lane stores, so it passes on to every lane what the
// others have acquired (PTX ISA, bar.warp.sync; 8.9.5: causality order is transitive). The proxy
// fence then puts that before the bulk copies of the lane that starts them (8.6, Proxies). The vote
// orders no memory (vote.sync), and need not: it stands behind the barrier, reads only registers,
// and no memory that a slower lane still reads is written between the two.
__device__ __forceinline__ bool await_other_kind(const tilepost_exchange_t& exchange,
                                                 const RunRead& read) {
  const int lane = threadIdx.x % 32;
  bool ended = !is_given_up(exchange);
  if (ended && read.last_kind != exchange.kind && lane < exchange.ranks)
    ended = await_count(exchange, exchange_line(exchange, exchange.ended, exchange.rank, lane),
                        read.run - 1);
  __syncwarp();
  ptx::fence_global_to_async();
  return __all_sync(0xFFFFFFFF, ended);
}

// All lanes of CTA 0's helper warp, when it has pushed its part. Waits until all ranks have begun
// the run: the kernel must not end before that. The host watches a replay until all rows are here.
template <int kGroups>
__device__ __forceinline__ void end_rows(const tilepost_exchange_t& exchange,
                                         const tilepost_tasks_t& tasks,
                                         const RowsOfRun<kGroups>& rows, uint32_t notes) {
  const int lane = threadIdx.x % 32;
  if (lane < exchange.ranks) meet_rank(exchange, rows.run, lane);
  if (exchange.replays == nullptr) return;
#pragma unroll 1
  for (int group = lane; group < kGroups; group += 32)
    if (!wait_for_parts(tasks, rows, rows.counter_of(group))) {
      give_up(exchange);
      break;
    }
  if (ptx::add_shared_word(notes + kLanesNote, 1) == 31)
    end_replay(exchange, ptx::load_shared_word(notes + kReplayNote));
}

// All lanes of the helper warp of each CTA. Does all that helper warps do in a whole run that moves
// rows of A. `scales` are those that move with the rows; null: there are none.
template <int kGroups, class View>
__device__ __forceinline__ void push_rows(const View& view, HelperMemory helper,
                                          const float* scales) {
  ptx::wait_for_previous_kernels();
  if (!is_whole_run(view)) return;
  const tilepost_exchange_t& exchange = view.exchange;
  const int lane = threadIdx.x % 32;
  const RunRead read = read_run(exchange);
  const RowsOfRun<kGroups> rows{exchange, read.run, half_of_expected(exchange)};
  if (blockIdx.x == 0) {
    if (lane < exchange.ranks) tell_begun(exchange, read.run, read.last_kind, lane);
    expect_run(exchange, rows.half, lane, rows.first());
    if (lane == 0) {
      ptx::store_shared_word(helper.address + kReplayNote, begin_replay(exchange));
      ptx::store_shared_word(helper.address + kLanesNote, 0);
    }
  }
  open_tasks(helper);
  if (lane == 0) count_whole_run(exchange, read.run, kLoaders);
  bool through = await_other_kind(exchange, read);
  const PlaceOfRun place{(read.run & 1) * exchange.slot_bytes, rows.first()};
  if (through && scales != nullptr) move_scales(view.tasks, scales, helper.bytes, place);
  if (through)
    through = do_tasks<kMoved, View::kTaskParts, true>(view.tasks, view.tasks.count, rows, helper,
                                                       place, scales);
  if (lane == 0 && !through) give_up(exchange);
  if (blockIdx.x == 0) end_rows(exchange, view.tasks, rows, helper.address);
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_WHOLE_RUN_CUH
