// The checks of a program before the host target runs it.
#pragma once

#include "runtime/core/ranges.h"

namespace tilepost {

// Finds the program's plans for the host target and checks them against a communicator of `world`
// ranks. TILEPOST_UNSUPPORTED: there is no such plan, or this target does not support a plan.
// TILEPOST_INVALID_ARGUMENT: a plan contradicts itself, the communicator or another plan.
tilepost_result_t check_host_program(const tilepost_program_t& program, int world,
                                     PlanRanges& checked);

}  // namespace tilepost
