// What ranks compare before they make an operation together. Ranks with different groups would wait
// for each other for ever, or take what is not meant for them.
#pragma once

#include <cstdint>

#include "runtime/core/ranges.h"
#include "runtime/cuda/device/device.h"
#include "runtime/cuda/shared/peer_info.h"
#include "runtime/cuda/transport/comm.h"
#include "runtime/cuda/watch/run_board.h"

namespace tilepost::cuda {

// What a rank says of itself. Runtimes of all versions begin with the same numbers, and tell
// equally many of them.
struct Standing {
  int64_t abi,
      version;     // of the runtime: TILEPOST_ABI_VERSION; 10000 * major + 100 * minor + patch
  int64_t nccl;    // as ncclGetVersion has it
  int64_t result;  // tilepost_result_t of what the rank checked by itself
  int64_t sm;      // compute capability * 10
  int64_t share_memory;     // tilepost_options_t
  int64_t m, n, k, plan;    // of the first plan, and hash_plans; 0 where the rank has found none
  RunBoard::Address board;  // that rank 0 has made
  PeerInfo place;           // without memory
};
constexpr size_t kStandingNumbers = sizeof(Standing) / sizeof(int64_t);
static_assert(sizeof(Standing) % sizeof(int64_t) == 0);

// What an operation is to be made of. `result`: of this rank's own checks, whose text is the
// thread's last error.
struct Proposal {
  const tilepost_program_t& program;
  const PlanRanges& plans;  // empty where none serves this GPU
  const tilepost_options_t& options;
  const DeviceInfo& device;
  tilepost_result_t result;
};

// What agreeing yields besides its result.
struct Agreement {
  RunBoard board;        // joined by the ranks of rank 0's host
  std::string warnings;  // where such a rank could not join
};

// TILEPOST_OK where all ranks' own checks have succeeded and all ranks say the same, each on a GPU
// of its own. Otherwise all ranks fail. They name the first rank that refused or is not like rank
// 0, with both values; a rank whose own checks failed keeps its own error. Waits for the other
// ranks within the deadline of the options. Collective. Comes before anything that depends on the
// plan.
tilepost_result_t agree(Communicator& comm, const Proposal& proposal, Agreement& agreement);

}  // namespace tilepost::cuda
