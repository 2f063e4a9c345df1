// How ranks that share memory (runtime/cuda/shared/memory.h) keep out of each other's way, without
// the host.
//
// A run begins when every rank has ended the run before. From then on the places that ranks have
// stored to and pulled from may be written again. During the run, a rank that has something to be
// read announces it to all ranks, and a rank that reads it waits for that. None of this is in a
// kernel's arguments: the number of the run and what counters have to reach are kept on the device,
// so that a captured run replays like any other, mixed with eager ones.
//
// Kernels that are whole runs (tilepost_exchange_t) begin and end their runs themselves: with the
// same numbers, lines and words (tilepost/internal/exchange_words.h), in
// tilepost/device/meeting.cuh.
//
// A flag holds run * kGroupsPerRun + group + 1 of the latest announcement. It grows from run to
// run, modulo 2^32, and is compared by signed distance (epoch.h). The source rank writes the flag,
// in the order of a stream. The flag's reader writes it too, when it ends a run: this keeps a flag
// that is not used for long from falling behind by more than signed distance can tell.
//
// A wait that takes long says so in the page (runtime/cuda/watch/watch_page.h). A wait that gives
// up stays where it is for up to a second more, unless the host says abort, so that the watchdog
// finds the run under way.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/cuda/shared/memory.h"
#include "runtime/cuda/watch/watch_page.h"
#include "tilepost/internal/exchange_words.h"
#include "tilepost/plan.h"

namespace tilepost::cuda {

constexpr uint32_t kGroupsPerRun = 4096;  // more than any plan's groups

// What a flag holds.
__host__ __device__ constexpr uint32_t flag_value(uint32_t run, int group) {
  return run * kGroupsPerRun + static_cast<uint32_t>(group) + 1;
}
// The last value of a run: later than all of its announcements, earlier than the next run's.
__host__ __device__ constexpr uint32_t last_flag_value(uint32_t run) {
  return (run + 1) * kGroupsPerRun - 1;
}

// Words at the beginning of shared memory, TILEPOST_COUNTER_STRIDE apart:
//   flags, by kind, lane and source rank;
//   the number of runs that each rank has ended;
//   the number of runs that each rank has begun: larger for good where a run was given up;
//   counters, which the kernels of all ranks raise (TILEPOST_ACCESS_WRITE): one for each group, and
//   where needed another for each group (tasks.h, shared_counters).
//
// The line of the number of runs begun also has the RunWords of the last two of these runs
// (tilepost/internal/exchange_words.h). Each word says which run it is of, so the words need no
// order among them.
__host__ __device__ constexpr int64_t flag_word(Flag flag, int lane, int source, int ranks) {
  return ((static_cast<int64_t>(flag) * kMostLanes + lane) * ranks + source) *
         TILEPOST_COUNTER_STRIDE;
}
__host__ __device__ constexpr int64_t ended_word(int source, int ranks) {
  return (int64_t{kFlags} * kMostLanes * ranks + source) * TILEPOST_COUNTER_STRIDE;
}
__host__ __device__ constexpr int64_t begun_word(int source, int ranks) {
  return ended_word(ranks + source, ranks);
}
__host__ __device__ constexpr int64_t counter_word(int counter, int ranks) {
  return ((int64_t{kFlags} * kMostLanes + 2) * ranks + counter) * TILEPOST_COUNTER_STRIDE;
}
constexpr int64_t shared_flags_bytes(int counters, int ranks) {
  return counter_word(counters, ranks) * static_cast<int64_t>(sizeof(uint32_t));
}

// What every kernel below works with. Passed by value; pointers are device pointers.
struct SharedFlags {
  uint32_t* of[kMostPeers];  // by rank: its flags and counters, as this rank addresses them
  int rank, ranks;
  uint32_t* run;       // this rank's: runs begun
  uint32_t* kind;      // this rank's: what the last of them was (tilepost_exchange_t::kind)
  uint32_t* given_up;  // this rank's: not 0 once a wait has ended without what it waited for
  uint32_t* expected;  // this rank's, [2][counters]: what a counter reads when all of the run is
                       // here; both halves are alike unless a kernel counts runs itself
  int counters;        // number of counters
  uint32_t* half;      // this rank's: which half of `expected` holds if they are not alike
  uint32_t* done;     // this rank's, by group, TILEPOST_COUNTER_STRIDE apart: chunks that the run's
                      // tasks have done; null where nothing waits for them
  uint32_t* arrived;  // this rank's: flags of parts (tilepost_exchange_t)
  int parts;          // number of parts that have flags
  uint64_t deadline_ns;  // of every wait, in nanoseconds; 0 = none
  WatchPage* page;
};

// Loads the kernels, so that none has to be loaded while something waits.
cudaError_t preload_flags();

// What a run that begins brings: by how much counters grow, and what all ranks must have in common.
struct RunBeginning {
  const uint32_t* targets;  // [counters] device memory; null: nothing grows
  int counters;
  RunWords words;
};

// Waits until every rank, this one too, has ended the run before, then counts this run: run += 1,
// and for each of the beginning's counters expected += targets[counter] and, where tasks count,
// done = 0. The expected values of other counters are carried over. Tells every rank what run this
// is.
cudaError_t launch_shared_begin(const SharedFlags& flags, const RunBeginning& beginning,
                                cudaStream_t stream);

// Tells every other rank that what precedes in the stream may be read.
cudaError_t launch_announce(const SharedFlags& flags, Flag flag, int lane, int group,
                            cudaStream_t stream);

// As launch_announce(), and waits until every rank whose bit is set in `sources` has announced
// `group`; what follows in the stream sees what they had stored.
cudaError_t launch_announce_and_wait(const SharedFlags& flags, Flag flag, int lane, int group,
                                     uint64_t sources, cudaStream_t stream);

// Waits until all ranks have stored their tiles of `group` that this rank owns. The page's `stored`
// then says so.
cudaError_t launch_wait_stored(const SharedFlags& flags, int group, cudaStream_t stream);

// Waits until this rank's tasks of `group`, which have `chunks` chunks, are done; what follows in
// the stream sees what they have made. The page's `stored` then says that the group's tiles are
// stored.
cudaError_t launch_wait_added(const SharedFlags& flags, int group, uint32_t chunks,
                              cudaStream_t stream);

// Tells every rank that this one has ended the run: it has done all it does with the others'
// memory, and needs nothing more in its own. First waits until every rank has begun the run, and
// gives the run up if a rank has begun another one; the page then says which (RunDifference). The
// end of a run that was given up is not told, because what is left of the run in the streams may
// still touch the others' memory.
cudaError_t launch_shared_end(const SharedFlags& flags, cudaStream_t stream);

// For when this rank's last run was a kernel that is a whole run: such a kernel leaves it to the
// next run to say that it has ended. Notes on this rank that all ranks have ended that run, as far
// as this rank's memory is concerned. No run may be under way in that memory.
cudaError_t launch_settle(const SharedFlags& flags, cudaStream_t stream);

// Waits on the host until every rank has ended what it has begun, and as many runs as this one.
// Returns false if that does not happen within `seconds`: other ranks may then still use this
// rank's memory, which must not be freed.
bool wait_until_all_ended(const SharedFlags& flags, double seconds);

}  // namespace tilepost::cuda
