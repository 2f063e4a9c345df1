// The rules of a plan on which a runtime relies when it executes the plan. They are checked for
// every plan, whoever made it. The error for a broken rule has the value that was found and the
// value that was expected.
#pragma once

#include <cstdint>

#include "runtime/map/stored_value.h"
#include "tilepost/tilepost.h"

namespace tilepost {

// What a target supports.
struct PlanLimits {
  const char* target;            // "host", as in "the host target"
  tilepost_access_t last;        // the last access that the target knows; it knows all accesses
                                 // before this one
  int most_ranks;                // the most ranks of an operation
  int fewest_peers, most_peers;  // how many ranks may share memory
  int most_lanes;                // the most lanes of runs that share memory
  int64_t most_groups;           // the most groups of runs that share memory
};

// Checks `plan` of `program` against itself, the target and a communicator of `world` ranks. The
// plan's kernel.launch determines its target. TILEPOST_UNSUPPORTED: the plan has a value that this
// runtime does not know. TILEPOST_INVALID_ARGUMENT: the plan contradicts itself or the
// communicator, or exceeds a limit. The target itself checks what its device can do.
tilepost_result_t check_plan(const tilepost_program_t& program, const tilepost_plan_t& plan,
                             const PlanLimits& limits, int world);

// The part of check_plan that is about tokens which go to experts (routing/token_check.cpp). The
// rest holds.
tilepost_result_t check_tokens_of_plan(const char* name, const tilepost_plan_t& plan);

}  // namespace tilepost
