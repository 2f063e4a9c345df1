// The audit of a kernel of the user's own. It checks, position by position, what the kernel stores
// and which counters it raises. It also checks that the woven kernel gives the same bits as the
// plain one.
#pragma once

#include <functional>

#include "runtime/harness/plain_launch.h"
#include "runtime/verify/check_result.h"
#include "runtime/verify/run/world.h"

namespace tilepost::verify {

// Returns one result for each check, up to the first that fails:
//
// footprint: each position of the plan's schedule is computed alone. It must change all of its
//   tile's place and nothing else, and raise its group's counter as the plan says. If there are too
//   many positions, a sample is checked.
// bits: under the plan's schedule and under three random ones, each tile has the bits that the
//   plain kernel gives it.
//
// Both checks are done at the plan's m. If m is known only at run time, they are also done at m =
// 1.
std::vector<CheckResult> audit_kernel(const harness::PlainLaunch& plain,
                                      const tilepost_plan_t& plan, World& world, uint64_t seed,
                                      const std::function<void(int)>& alive);

}  // namespace tilepost::verify
