// How ranks that share memory (runtime/cuda/shared/memory.h) order their accesses to it, without
// the host.
//
// A run begins when every rank has ended the run before. From then on the places that ranks have
// stored to and pulled from may be written again. During the run, a rank that has data for others
// announces the data to all ranks, and a rank that reads the data waits for the announcement. The
// number of the run and the values that counters have to reach are not in kernels' arguments but on
// the device. So a captured run replays like any other run, mixed with eager runs.
//
// Kernels that are whole runs (tilepost_exchange_t) begin and end their runs themselves, in
// tilepost/device/meeting.cuh. They use the same numbers, lines and words
// (tilepost/internal/exchange_words.h).
//
// A flag holds run * kGroupsPerRun + group + 1 of the latest announcement. It grows from run to
// run, modulo 2^32, and is compared by signed distance (epoch.h). The source rank writes the flag,
// in the order of a stream. The rank that reads the flag writes it too, when it ends a run. This
// keeps a flag that is unused for long from falling so far behind that its signed distance is
// wrong.
//
// A wait that takes long writes so to the page (runtime/cuda/watch/watch_page.h). A wait that gives
// up stays for up to a second more, unless the host stores the abort word, so that the watchdog
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

// The value of a flag when `group` of `run` is announced.
__host__ __device__ constexpr uint32_t flag_value(uint32_t run, int group) {
  return run * kGroupsPerRun + static_cast<uint32_t>(group) + 1;
}
// The last value of a run: later than all of its announcements, and earlier than the next run's.
__host__ __device__ constexpr uint32_t last_flag_value(uint32_t run) {
  return (run + 1) * kGroupsPerRun - 1;
}

// Words at the beginning of shared memory, TILEPOST_COUNTER_STRIDE apart:
// - flags, by kind, lane and source rank
// - the number of runs that each rank has ended
// - the number of runs that each rank has begun: larger for good if a run was given up
// - counters, which the kernels of all ranks raise (TILEPOST_ACCESS_WRITE): one for each group, and
//   where needed another for each group (tasks.h, shared_counters)
//
// The line with the number of runs begun also has the RunWords of the last two of these runs
// (tilepost/internal/exchange_words.h). Each word has the number of its run, so the words may come
// in any order.
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

// The arguments of every kernel below, passed by value. Pointers are device pointers.
struct SharedFlags {
  uint32_t* of[kMostPeers];  // by rank: the rank's flags and counters, at the addresses that this
                             // rank uses
  int rank, ranks;
  uint32_t* run;       // this rank's number of runs begun
  uint32_t* kind;      // this rank's: the kind of the last run (tilepost_exchange_t::kind)
  uint32_t* given_up;  // this rank's: not 0 after a wait has given up
  uint32_t* expected;  // this rank's, [2][counters]: the value of each counter when all of the run
                       // has arrived; both halves are equal unless a kernel counts runs itself
  int counters;        // the number of counters
  uint32_t* half;      // this rank's: which half of `expected` is valid if they differ
  uint32_t* done;      // this rank's, by group, TILEPOST_COUNTER_STRIDE apart: how many chunks the
                       // run's tasks have finished; null if nothing waits for them
  uint32_t* arrived;   // this rank's flags of parts (tilepost_exchange_t)
  int parts;           // the number of parts that have flags
  uint64_t deadline_ns;  // the deadline of every wait, in nanoseconds; 0 if there is none
  WatchPage* page;
};

// Loads the kernels before any kernel waits, since loading may have to wait for running kernels.
cudaError_t preload_flags();

// The facts about a run that begins: by how much counters grow, and what all ranks must have in
// common.
struct RunBeginning {
  const uint32_t* targets;  // [counters] device memory; null if no counter grows
  int counters;
  RunWords words;
  ReplayBeginning replay = {};  // is marked before anything is waited for
};

// Waits until every rank, this one too, has ended the run before. Then counts this run: run += 1,
// and for each of the beginning's counters expected += targets[counter] and, where tasks count,
// done = 0. The expected values of other counters are carried over. Sends the words of this run to
// every rank.
cudaError_t launch_shared_begin(const SharedFlags& flags, const RunBeginning& beginning,
                                cudaStream_t stream);

// Announces to every other rank that the results of earlier work in the stream may be read.
cudaError_t launch_announce(const SharedFlags& flags, Flag flag, int lane, int group,
                            cudaStream_t stream);

// Announces like launch_announce(), and waits until every rank whose bit is set in `sources` has
// announced `group`. Later work in the stream sees what these ranks had stored.
cudaError_t launch_announce_and_wait(const SharedFlags& flags, Flag flag, int lane, int group,
                                     uint64_t sources, cudaStream_t stream);

// Waits until all ranks have stored their tiles of `group` that this rank owns. Then sets the
// page's `stored`.
cudaError_t launch_wait_stored(const SharedFlags& flags, int group, cudaStream_t stream);

// Waits until this rank's tasks of `group`, which have `chunks` chunks, are done. Later work in the
// stream sees their results. Then sets the page's `stored`, because the group's tiles are stored
// too.
cudaError_t launch_wait_added(const SharedFlags& flags, int group, uint32_t chunks,
                              cudaStream_t stream);

// Announces to every rank that this rank has ended the run: it has finished all accesses to the
// others' memory, and its own memory may be written again. First waits until every rank has begun
// the run, and gives up the run if a rank has begun another one. The page then names that rank
// (RunDifference). The end of a run that was given up is not announced, because work of the run
// that is left in the streams may still access the others' memory.
// `captured`: the end of the replay is marked too.
cudaError_t launch_shared_end(const SharedFlags& flags, bool captured, cudaStream_t stream);

// Records on this rank that all ranks have ended its last run, as far as this rank's memory is
// concerned. Requires that this run was a kernel that is a whole run, because such a kernel leaves
// the report of its end to the next run. No run may be under way in that memory.
cudaError_t launch_settle(const SharedFlags& flags, cudaStream_t stream);

// Waits on the host until every rank has ended all runs that it has begun, and as many runs as this
// rank. Returns false if that does not happen within `seconds`. Other ranks may then still use this
// rank's memory, which must not be freed.
bool wait_until_all_ended(const SharedFlags& flags, double seconds);

}  // namespace tilepost::cuda
