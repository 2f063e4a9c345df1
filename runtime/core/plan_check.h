// The rules of a plan: what a runtime takes for granted of what it was given to execute. Whoever
// made the plan, a rule that it breaks is named, with the value that was found and what was
// expected.
#pragma once

#include <cstdint>
#include <cstring>

#include "tilepost/tilepost.h"

namespace tilepost {

// The integer that is in a field of an enumerated type. To load a value of the type that its
// enumerators do not span is undefined ([conv.lval], [dcl.enum]/8), and a plan that has not been
// checked may hold any.
template <class Enum>
int stored_value(const Enum& field) {
  static_assert(sizeof field == sizeof(int));
  int value;
  std::memcpy(&value, &field, sizeof value);
  return value;
}

// What a target has room for.
struct PlanLimits {
  const char* target;            // "host", as in "the host target"
  tilepost_access_t last;        // access that it knows, with all in front of it
  int most_ranks;                // of an operation
  int fewest_peers, most_peers;  // of ranks that share memory
  int most_lanes;                // of runs that share memory
  int64_t most_groups;           // of runs that share memory
};

// Checks `plan` of `program`, whose kernel.launch says for which target it is, against itself, the
// target and a communicator of `world` ranks. TILEPOST_UNSUPPORTED: it says something that this
// runtime does not know. TILEPOST_INVALID_ARGUMENT: it contradicts itself or the communicator, or
// exceeds a limit. What a device can do is the target's to check.
tilepost_result_t check_plan(const tilepost_program_t& program, const tilepost_plan_t& plan,
                             const PlanLimits& limits, int world);

}  // namespace tilepost
