// The rules of a plan, on which a runtime relies when it executes the plan. They are checked
// whoever made the plan. The error for a broken rule has the value that was found and what was
// expected.
#pragma once

#include <cstdint>
#include <cstring>

#include "tilepost/tilepost.h"

namespace tilepost {

// The integer that is stored in a field of an enumerated type. To load a value that is outside the
// range of the type's enumerators is undefined ([conv.lval], [dcl.enum]/8), and a plan that has not
// been checked may hold any value.
template <class Enum>
int stored_value(const Enum& field) {
  static_assert(sizeof field == sizeof(int));
  int value;
  std::memcpy(&value, &field, sizeof value);
  return value;
}

// What a target supports.
struct PlanLimits {
  const char* target;            // "host", as in "the host target"
  tilepost_access_t last;        // the last access that it knows; it knows all before it
  int most_ranks;                // in an operation
  int fewest_peers, most_peers;  // numbers of ranks that may share memory
  int most_lanes;                // in runs that share memory
  int64_t most_groups;           // in runs that share memory
};

// Checks `plan` of `program` against itself, the target and a communicator of `world` ranks. Its
// kernel.launch says for which target it is. TILEPOST_UNSUPPORTED: the plan has a value that this
// runtime does not know. TILEPOST_INVALID_ARGUMENT: the plan contradicts itself or the
// communicator, or exceeds a limit. The target itself checks what its device can do.
tilepost_result_t check_plan(const tilepost_program_t& program, const tilepost_plan_t& plan,
                             const PlanLimits& limits, int world);

}  // namespace tilepost
