// The reference of runs that sum the rows of tokens (grouped_gemm_combine). Rows of the reference
// are those of all ranks' tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/verify/reference/experts.h"
#include "runtime/verify/reference/shape.h"

namespace tilepost::verify {

// The weights of the routes of `rank` in a run, [count]: small whole numbers where results are to
// be exact, and otherwise fractions.
std::vector<float> weights_of_routes(DataKind kind, uint64_t seed, int run, int rank, size_t count);

// How many times the sum of one product the sum of a token may have, where results are to be exact.
int most_of_token(int top);

// The rows of one rank that tokens of a job have: for each the row of the rank, the token's place
// among the job's rows, and the weight. They come in the order in which they are summed.
struct TokenRows {
  std::vector<int64_t> rows, places;
  std::vector<float> weights;
};
TokenRows token_rows_of(const ReferenceJob& job, const RunShape& shape, int rank);

// The problem of which a rank's rows are the product.
Problem problem_of_rows(const Problem& problem);

// Adds a rank's rows to the sums of tokens: `rows` has the rows, `sums` and `bounds` [rows, n] what
// they are. The rank's sum of a token is rounded before ranks are added up.
void add_token_rows(const ReferenceJob& job, const RunShape& shape, int rank, const TokenRows& rows,
                    const std::vector<float>& sums, const std::vector<float>& bounds,
                    std::vector<double>& total, std::vector<double>& error);

// Sets job.sum and job.bound for job.rows, which are tokens of all ranks. `compute` computes the
// product of one rank and expert.
template <class Compute>
void reference_of_tokens(const ReferenceJob& job, const RunShape& shape, const Compute& compute) {
  const auto elements = static_cast<size_t>(job.num_rows * job.problem.n);
  std::vector<double> total(elements), error(elements);
  for (int rank = 0; rank < job.problem.ranks; ++rank) {
    const TokenRows rows = token_rows_of(job, shape, rank);
    std::vector<float> sums(rows.rows.size() * static_cast<size_t>(job.problem.n)),
        bounds(sums.size());
    ReferenceJob of_rank = job;
    of_rank.problem = problem_of_rows(job.problem);
    of_rank.weights = error_weights(job.distribution.kind, of_rank.problem);
    of_rank.first_rank = rank;
    of_rank.end_rank = rank + 1;
    of_rank.rows = rows.rows.data();
    of_rank.num_rows = static_cast<int64_t>(rows.rows.size());
    of_rank.sum = sums.data();
    of_rank.bound = bounds.data();
    reference_of_experts(of_rank, shape.ends(rank), compute);
    add_token_rows(job, shape, rank, rows, sums, bounds, total, error);
  }
  for (size_t at = 0; at < elements; ++at) {
    job.sum[at] = static_cast<float>(total[at]);
    job.bound[at] = static_cast<float>(error[at]);
  }
}

}  // namespace tilepost::verify
