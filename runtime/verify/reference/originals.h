// What stands for a reference where only the kernel knows what it computes: the products of all
// ranks as the kernel gives them when its author launches it, and the pattern's sum of them.
#pragma once

#include <vector>

#include "runtime/verify/reference/reference.h"

namespace tilepost::verify {

// By rank: the rows that are checked, of n elements each.
using Originals = std::vector<std::vector<float>>;

// Adds up ranks first_rank .. end_rank - 1 for elements [begin, end) into sum and bound, which are
// those of element 0. The parts are rounded numbers already: of a sum over ranks the bound is the
// rounding to the output's type at each of its steps, of one rank's product it is 0.
void add_originals(const Problem& problem, const ErrorWeights& weights, const Originals& originals,
                   int first_rank, int end_rank, int64_t begin, int64_t end, float* sum,
                   float* bound);

}  // namespace tilepost::verify
