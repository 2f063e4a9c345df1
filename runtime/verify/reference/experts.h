// The reference of runs whose rows are divided among experts. It is one product for each expert,
// and of operations that combine gate and up a product of all rows of B, which is then combined.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/verify/reference/reference.h"

namespace tilepost::verify {

// Draws which rows each expert has in a run: [experts] the row behind an expert's last. All rows
// belong to experts. In some runs most experts have no rows, and in some one expert has all.
std::vector<int32_t> expert_ends(const Problem& problem, int64_t rows, uint64_t seed, int run,
                                 int rank);

// Splits a job into jobs of one expert each, whose sums and bounds are those of B's rows. `compute`
// computes such a job. `ends` is that of expert_ends().
template <class Compute>
void reference_of_experts(const ReferenceJob& job, const std::vector<int32_t>& ends,
                          const Compute& compute);

// Computes elements of the output from the sums of gate and up, for `rows` rows of B's rows.
// Sets job.sum and job.bound.
void combine_parts(const ReferenceJob& job, const std::vector<float>& sums,
                   const std::vector<float>& bounds);

// The problem of which an expert's product is a part, before gate and up are combined.
Problem problem_of_parts(const Problem& problem);

template <class Compute>
void reference_of_experts(const ReferenceJob& job, const std::vector<int32_t>& ends,
                          const Compute& compute) {
  const Problem& problem = job.problem;
  const bool parts = combines_gate(problem.epilogue);
  for (int64_t first = 0, behind = 0; first < job.num_rows; first = behind) {
    int expert = 0;
    while (ends[expert] <= job.rows[first]) ++expert;
    for (behind = first; behind < job.num_rows && job.rows[behind] < ends[expert];) ++behind;
    ReferenceJob own = job;
    own.expert = expert;
    own.rows = job.rows + first;
    own.num_rows = behind - first;
    own.sum = job.sum + first * problem.n;
    own.bound = job.bound + first * problem.n;
    if (!parts) {
      compute(own);
      continue;
    }
    ReferenceJob both = own;
    both.problem = problem_of_parts(problem);
    both.weights.last = both.weights.absolute = 0;  // only what is combined is rounded
    both.weights.slope = 1;
    both.weights.activation = 0;
    std::vector<float> sums(static_cast<size_t>(own.num_rows * both.problem.n)),
        bounds(sums.size());
    both.sum = sums.data();
    both.bound = bounds.data();
    compute(both);
    combine_parts(own, sums, bounds);
  }
}

}  // namespace tilepost::verify
