// What a program must satisfy before the host target runs it.
#pragma once

#include "tilepost/tilepost.h"

namespace tilepost {

// Finds the program's plan for the host target and checks it against a communicator of `world`
// ranks. TILEPOST_UNSUPPORTED: there is none, or it asks for what this target does not do.
// TILEPOST_INVALID_ARGUMENT: it contradicts itself or the communicator.
tilepost_result_t check_host_program(const tilepost_program_t& program, int world,
                                     const tilepost_plan_t*& checked);

}  // namespace tilepost
