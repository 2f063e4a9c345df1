// The audit of a kernel of the user's own: what it stores and counts, position by position, and
// whether the woven kernel gives the bits of the plain one.
#pragma once

#include <functional>

#include "runtime/harness/plain_launch.h"
#include "runtime/verify/check_result.h"
#include "runtime/verify/run/world.h"

namespace tilepost::verify {

// One result for each check, up to the first that fails:
// footprint: every position of the plan's schedule alone changes all of its tile's place and
//   nothing else, and raises its group's counter as the plan says; where there are too many
//   positions, a sample.
// bits: under the plan's schedule and three random ones each tile has the bits that the plain
//   kernel gives it.
// Both are done at the plan's m and, where m is known at run time only, at m = 1 too.
std::vector<CheckResult> audit_kernel(const harness::PlainLaunch& plain,
                                      const tilepost_plan_t& plan, World& world, uint64_t seed,
                                      const std::function<void(int)>& alive);

}  // namespace tilepost::verify
