// What ranks must have in common to run an operation together.
#pragma once

#include <cstdint>

#include "tilepost/plan.h"

namespace tilepost {

// FNV-1a over everything in a plan that decides what its ranks exchange: the problem, the schedule,
// by what runs with other numbers of rows choose theirs, and who moves what. Not over the kernel,
// which may be another one on another GPU.
uint64_t hash_plan(const tilepost_plan_t& plan);

}  // namespace tilepost
