// Checks what ranks must have in common before they make an operation together. Ranks with
// different groups would wait for each other for ever, or take data that is not meant for them.
#pragma once

#include <cstdint>

#include "runtime/core/ranges.h"
#include "runtime/cuda/device/device.h"
#include "runtime/cuda/shared/peer_info.h"
#include "runtime/cuda/transport/comm.h"
#include "runtime/cuda/watch/run_board.h"

namespace tilepost::cuda {

// What a rank reports about itself. The numbers of all versions of the runtime begin alike, and
// there are equally many of them.
struct Standing {
  int64_t abi,
      version;     // TILEPOST_ABI_VERSION of the runtime, and its version: 10000 * major + 100 *
                   // minor + patch
  int64_t nccl;    // the value of ncclGetVersion
  int64_t result;  // tilepost_result_t of the checks that the rank made by itself
  int64_t sm;      // compute capability * 10
  int64_t share_memory;     // tilepost_options_t
  int64_t m, n, k, plan;    // of the first plan, and hash_plans; 0 if the rank has found no plan
  RunBoard::Address board;  // the board that rank 0 has made
  PeerInfo place;           // where the rank is, without its memory
};
constexpr size_t kStandingNumbers = sizeof(Standing) / sizeof(int64_t);
static_assert(sizeof(Standing) % sizeof(int64_t) == 0);

// What an operation is to be made of. `result`: the result of this rank's own checks. Their text is
// the thread's last error.
struct Proposal {
  const tilepost_program_t& program;
  const PlanRanges& plans;  // empty if no plan serves this GPU
  const tilepost_options_t& options;
  const DeviceInfo& device;
  tilepost_result_t result;
};

// The outputs of agree() besides its result.
struct Agreement {
  RunBoard board;        // the ranks of rank 0's host join it
  std::string warnings;  // not empty if such a rank could not join
};

// Returns TILEPOST_OK if all ranks' own checks have succeeded, all ranks report equal numbers, and
// each has a GPU of its own. Otherwise all ranks fail. They name the first rank that refused or
// that differs from rank 0, with both values. A rank whose own checks failed keeps its own error.
// Waits for the other ranks within the deadline of the options. Collective. Called before anything
// that depends on the plan.
tilepost_result_t agree(Communicator& comm, const Proposal& proposal, Agreement& agreement);

}  // namespace tilepost::cuda
