// Where a kernel did something else than it should, in words: position, tile, element, value.
#pragma once

#include <string>
#include <vector>

#include "runtime/verify/audit/workbench.h"

namespace tilepost::verify {

// Runs the CTAs from position `first` on again, which is known to go wrong.
std::string describe_position(Workbench& bench, const tilepost_plan_t& plan,
                              const Schedule& schedule, int64_t first);

// What `kernel` did wrong to memories, counters and operands as they are; "" if nothing is.
std::string describe_memory(Workbench& bench, const Look& look, const std::string& kernel);

// What differs in the first memory, and in the counters, from what the schedule makes of the plain
// kernel's memory; "" if nothing does.
std::string describe_difference(Workbench& bench, const tilepost_plan_t& plan,
                                const Schedule& schedule, const std::vector<unsigned char>& plain);

}  // namespace tilepost::verify
