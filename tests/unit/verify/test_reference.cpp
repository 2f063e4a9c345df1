// The reference against sums written here, and the rounding bound against real rounding.
#include "runtime/verify/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/verify/run/world.h"
#include "tests/catch.h"
#include "tilepost/numeric.h"

using namespace tilepost::verify;

namespace {

struct Result {
  std::vector<float> sum, bound;
};

Result host_reference(const Problem& problem, DataKind kind, std::vector<int64_t> rows) {
  const size_t elements = rows.size() * problem.n;
  Result result{std::vector<float>(elements), std::vector<float>(elements)};
  open_world(1)->device(0).reference({problem, distribution_of(kind, problem),
                                      error_weights(kind, problem), 9, 2, 0, problem.summed(),
                                      rows.data(), static_cast<int64_t>(rows.size()),
                                      result.sum.data(), result.bound.data()});
  return result;
}

double value(const Problem& problem, DataKind kind, int rank, Matrix matrix, int64_t index) {
  return value_at(distribution_of(kind, problem), stream_of(9, 2, rank, matrix), index);
}

double partial(const Problem& problem, DataKind kind, int rank, int64_t row, int64_t col) {
  double sum = 0;
  for (int64_t k = 0; k < problem.k; ++k)
    sum += value(problem, kind, rank, Matrix::a, row * problem.k + k) *
           value(problem, kind, rank, Matrix::b, col * problem.k + k);
  return sum;
}

float rounded(double value, tilepost_dtype_t type) {
  const auto single = static_cast<float>(value);
  return type == TILEPOST_BF16 ? tilepost::to_float(tilepost::to_bf16(single))
                               : tilepost::to_float(tilepost::to_f16(single));
}

}  // namespace

TEST_CASE("the reference is the sum over ranks of the products") {
  const DataKind kind = GENERATE(DataKind::exact, DataKind::random);
  const Problem problem{13, 9, GENERATE(1, 7, 300), 3, TILEPOST_BF16, TILEPOST_BF16};
  const std::vector<int64_t> rows{0, 4, 5, 12};
  const Result result = host_reference(problem, kind, rows);
  for (size_t i = 0; i < rows.size(); ++i)
    for (int64_t col = 0; col < problem.n; ++col) {
      double expected = 0;
      for (int rank = 0; rank < problem.ranks; ++rank)
        expected += partial(problem, kind, rank, rows[i], col);
      const float got = result.sum[i * problem.n + col];
      if (kind == DataKind::exact)
        CHECK(got == expected);
      else
        CHECK(got == Approx(expected).margin(1e-5));
      CHECK((kind == DataKind::random) == (result.bound[i * problem.n + col] > 0));
    }
}

// Sums as the runtime may make them: fp32 on each rank, a rounding on each rank and at each hop, in
// any order.
TEST_CASE("rounded sums stay within the bound, and not by orders of magnitude") {
  const tilepost_dtype_t type = GENERATE(TILEPOST_BF16, TILEPOST_F16);
  const Problem problem{6, 40, 500, 8, type, type};
  const Result result = host_reference(problem, DataKind::random, {0, 1, 2, 3, 4, 5});
  double worst = 0;
  for (int64_t row = 0; row < problem.m; ++row)
    for (int64_t col = 0; col < problem.n; ++col) {
      float sum = 0;
      for (int rank = 0; rank < problem.ranks; ++rank) {
        float products = 0;
        for (int64_t k = 0; k < problem.k; ++k)
          products += static_cast<float>(
              value(problem, DataKind::random, rank, Matrix::a, row * problem.k + k) *
              value(problem, DataKind::random, rank, Matrix::b, col * problem.k + k));
        sum = rounded(double{sum} + rounded(products, type), type);
      }
      const int64_t at = row * problem.n + col;
      const double ratio = std::fabs(double{sum} - result.sum[at]) / result.bound[at];
      CHECK(ratio <= 1);
      worst = std::max(worst, ratio);
    }
  CHECK(worst > 0.01);
}

TEST_CASE("a 16-bit accumulator leaves the bound") {
  const Problem problem{6, 40, 2000, 2, TILEPOST_BF16, TILEPOST_BF16};
  const Result result = host_reference(problem, DataKind::random, {0, 1, 2, 3, 4, 5});
  int outside = 0;
  for (int64_t row = 0; row < problem.m; ++row)
    for (int64_t col = 0; col < problem.n; ++col) {
      float total = 0;
      for (int rank = 0; rank < problem.ranks; ++rank) {
        float sum = 0;
        for (int64_t k = 0; k < problem.k; ++k)
          sum = rounded(
              sum + value(problem, DataKind::random, rank, Matrix::a, row * problem.k + k) *
                        value(problem, DataKind::random, rank, Matrix::b, col * problem.k + k),
              TILEPOST_BF16);
        total = rounded(double{total} + sum, TILEPOST_BF16);
      }
      const int64_t at = row * problem.n + col;
      outside += std::fabs(total - result.sum[at]) > result.bound[at];
    }
  CHECK(outside > 20);
}

TEST_CASE("rows are all checked until that costs too much") {
  const Problem problem{1000, 10, 10, 2, TILEPOST_BF16, TILEPOST_BF16};
  const std::vector<int64_t> all = rows_to_check(problem, problem.m, 1e6, 1);
  REQUIRE(all.size() == 1000);
  CHECK(all.front() == 0);
  CHECK(all.back() == 999);
  const std::vector<int64_t> some = rows_to_check(problem, problem.m, 20000, 1);
  REQUIRE(some.size() == 100);
  CHECK(std::is_sorted(some.begin(), some.end()));
  CHECK(some.front() == 0);
  CHECK(some.back() == 999);
  CHECK(rows_to_check(problem, problem.m, 20000, 2) != some);
  CHECK(rows_to_check(problem, problem.m, 1, 2) == std::vector<int64_t>{0, 999});
  CHECK(rows_to_check({1, 10, 10, 2, TILEPOST_BF16, TILEPOST_BF16}, 1, 1, 2).size() == 1);
}
