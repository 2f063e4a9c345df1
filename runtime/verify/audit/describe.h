// Describes where a kernel went wrong: position, tile, element, value.
#pragma once

#include <string>
#include <vector>

#include "runtime/verify/audit/workbench.h"

namespace tilepost::verify {

// Runs the CTAs from position `first` on again, which are known to go wrong, and describes what
// they do wrong.
std::string describe_position(Workbench& bench, const tilepost_plan_t& plan,
                              const Schedule& schedule, int64_t first);

// Describes what `kernel` did wrong, by the present memories, counters and operands. The text is ""
// if nothing is wrong.
std::string describe_memory(Workbench& bench, const Look& look, const std::string& kernel);

// Describes where the first memory, and the counters, differ from what the schedule and the plain
// kernel's memory require. The text is "" if they do not differ.
std::string describe_difference(Workbench& bench, const tilepost_plan_t& plan,
                                const Schedule& schedule, const std::vector<unsigned char>& plain);

}  // namespace tilepost::verify
