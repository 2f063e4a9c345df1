// The memory that an operation of a plan allocates on every rank, on the device and pinned on the
// host, apart from counters and tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

struct PlannedMemory {
  const char* name;  // as runtime/map/steps.h calls it: "slots"
  int64_t bytes;     // of the rank that needs most
  const char*
      shared;  // how other ranks reach it: "shared", "window", "pinned" if it is the host's;
               // "" if they do not
};

// All memory of that kind, in the order in which data passes through it. Empty where the kernel
// stores straight into the caller's memory. A route may need more at run time (received).
std::vector<PlannedMemory> planned_memory(const Plan& plan);

// "128.0 MiB slots, 32.0 MiB sums shared with the other ranks, on every rank".
std::string describe_memory(const Plan& plan);

}  // namespace tilepost
