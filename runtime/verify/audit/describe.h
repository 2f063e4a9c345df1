// Says in words where a kernel did something else than it should: position, tile, element, value.
#pragma once

#include <string>
#include <vector>

#include "runtime/verify/audit/workbench.h"

namespace tilepost::verify {

// Runs the CTAs from position `first` on again, which are known to go wrong, and describes how.
std::string describe_position(Workbench& bench, const tilepost_plan_t& plan,
                              const Schedule& schedule, int64_t first);

// Describes what `kernel` did wrong, by the memories, counters and operands as they are now; "" if
// nothing is wrong.
std::string describe_memory(Workbench& bench, const Look& look, const std::string& kernel);

// Describes where the first memory, and the counters, differ from what the schedule makes of the
// plain kernel's memory; "" if they do not.
std::string describe_difference(Workbench& bench, const tilepost_plan_t& plan,
                                const Schedule& schedule, const std::vector<unsigned char>& plain);

}  // namespace tilepost::verify
