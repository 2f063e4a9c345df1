// What `tilepost explain` says of plans that each serve a range of m.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// The plans of a program that share the runs of one architecture and operation with `first`, in
// their order.
std::vector<const Plan*> ranges_with(const std::vector<Plan>& plans, const Plan& first);

// Ranges, kernels, transports and predicted times, and the memory of all together. Lines have at
// most 120 columns.
std::string explain_ranges(const std::vector<const Plan*>& plans);

}  // namespace tilepost
