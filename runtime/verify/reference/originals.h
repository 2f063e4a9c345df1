// Replaces the reference if only the kernel knows what it computes: the products of all ranks as
// the kernel computes them when its author launches it, and the pattern's sum of these products.
#pragma once

#include <vector>

#include "runtime/verify/reference/reference.h"

namespace tilepost::verify {

// [ranks] the rows that are checked, with n elements each.
using Originals = std::vector<std::vector<float>>;

// Adds up elements [begin, end) of ranks first_rank .. end_rank - 1 into `sum` and `bound`, which
// point to element 0. The parts are rounded already. So the bound of a sum over ranks is the
// rounding to the output's type at each of its steps. The bound of one rank's product is 0.
void add_originals(const Problem& problem, const ErrorWeights& weights, const Originals& originals,
                   int first_rank, int end_rank, int64_t begin, int64_t end, float* sum,
                   float* bound);

}  // namespace tilepost::verify
