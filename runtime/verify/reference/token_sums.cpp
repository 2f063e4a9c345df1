#include "runtime/verify/reference/token_sums.h"

#include <cmath>
#include <unordered_map>

namespace tilepost::verify {

std::vector<float> weights_of_routes(DataKind kind, uint64_t seed, int run, int rank,
                                     size_t count) {
  constexpr float kWhole[] = {1, -1, 2, 1};
  const uint64_t own =
      mix(seed ^ mix(static_cast<uint64_t>(run) << 8 | static_cast<uint64_t>(rank)));
  std::vector<float> weights;
  weights.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = mix(own + i);
    weights.push_back(kind == DataKind::exact
                          ? kWhole[bits % std::size(kWhole)]
                          : std::ldexp(static_cast<float>(1 + (bits & 0xFFFFFF)), -24));
  }
  return weights;
}

int most_of_token(int top) {
  constexpr int kMostWeight = 2;
  return top * kMostWeight;
}

// Rows of a rank ascend by expert, and within an expert by the position among the token's routes:
// for one token this is the order in which they are summed.
TokenRows token_rows_of(const ReferenceJob& job, const RunShape& shape, int rank) {
  std::unordered_map<int64_t, int64_t> places;
  for (int64_t i = 0; i < job.num_rows; ++i) places.emplace(job.rows[i], i);
  std::vector<std::vector<float>> weights;
  weights.reserve(static_cast<size_t>(job.problem.ranks));
  for (int source = 0; source < job.problem.ranks; ++source)
    weights.push_back(weights_of_routes(job.distribution.kind, job.seed, job.run, source,
                                        shape.ids(source).size()));
  TokenRows found;
  for (int64_t row = 0; row < shape.product_rows(rank); ++row) {
    const RunShape::Route route = shape.route_of(rank, row);
    const int64_t token = route.index / job.problem.top;
    const auto place = places.find(shape.own_begin(route.source) + token);
    if (place == places.end()) continue;
    found.rows.push_back(row);
    found.places.push_back(place->second);
    found.weights.push_back(weights[route.source][static_cast<size_t>(route.index)]);
  }
  return found;
}

Problem problem_of_rows(const Problem& problem) {
  Problem rows = problem;
  rows.pattern = TILEPOST_GROUPED_GEMM;
  rows.epilogue &= ~static_cast<int>(TILEPOST_RESIDUAL);
  return rows;
}

// A rank's sum errs by what its terms err by, by a rounding of 2^-24 for each of them, and by the
// rounding to the output's type, which `partial` counts together with that of the sum over ranks.
void add_token_rows(const ReferenceJob& job, const RunShape& shape, int rank, const TokenRows& rows,
                    const std::vector<float>& sums, const std::vector<float>& bounds,
                    std::vector<double>& total, std::vector<double>& error) {
  const int64_t n = job.problem.n;
  const ErrorWeights& w = job.weights;
  const bool rounds = w.absolute != 0;
  const double step = rounds ? std::ldexp(1.0 + job.problem.top, -23) : 0;
  std::vector<double> part(total.size()), wrong(total.size());
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const double weight = static_cast<double>(rows.weights[i]);
    for (int64_t col = 0; col < n; ++col) {
      const auto from = i * static_cast<size_t>(n) + static_cast<size_t>(col);
      const auto to = static_cast<size_t>(rows.places[i] * n + col);
      const double term = weight * static_cast<double>(sums[from]);
      part[to] += term;
      wrong[to] += std::fabs(weight) * static_cast<double>(bounds[from]) + step * std::fabs(term);
    }
  }
  const bool adds = (job.problem.epilogue & TILEPOST_RESIDUAL) != 0;
  const uint64_t residual = stream_of(job.seed, job.run, rank, Matrix::residual);
  for (int64_t i = 0; i < job.num_rows; ++i) {
    const int64_t own = job.rows[i] - shape.own_begin(rank);
    const bool at_home = adds && own >= 0 && own < shape.own_rows(rank);
    for (int64_t col = 0; col < n; ++col) {
      const auto at = static_cast<size_t>(i * n + col);
      if (at_home)
        part[at] +=
            static_cast<double>(value_at(addends(job.distribution), residual, own * n + col));
      total[at] += part[at];
      error[at] += wrong[at] + (static_cast<double>(w.partial) + step) * std::fabs(part[at]);
      if (rank == 0) error[at] += static_cast<double>(w.absolute);
    }
  }
}

}  // namespace tilepost::verify
