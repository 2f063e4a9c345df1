// Plans of random specs.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost::test {

// The plans of specs that can be planned, at least `count` of them: every pattern and kind of
// architecture, with transports, consumers, types and layouts as they come.
std::vector<Plan> random_plans(uint64_t seed, size_t count);

}  // namespace tilepost::test
