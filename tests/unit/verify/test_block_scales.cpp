// The reference with scales of blocks against sums written here, and wrong uses of scales, which
// its data must tell from the right one.
#include "runtime/verify/reference/block_scales.h"

#include <functional>
#include <vector>

#include "runtime/verify/run/world.h"
#include "tests/catch.h"

using namespace tilepost::verify;

namespace {

constexpr uint64_t kSeed = 9;
constexpr int kRun = 2;

Problem blocks_problem(tilepost_scales_order_t order) {
  Problem problem{13, 300, 400, 2, TILEPOST_E4M3, TILEPOST_BF16};
  problem.scales = TILEPOST_SCALES_BLOCKS;
  problem.scales_a = order;
  return problem;
}

std::vector<float> reference_of(const Problem& problem, DataKind kind) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < problem.m; ++row) rows.push_back(row);
  std::vector<float> sum(static_cast<size_t>(problem.m * problem.n)), bound(sum.size());
  open_world(1)->device(0).reference({problem, distribution_of(kind, problem),
                                      error_weights(kind, problem), kSeed, kRun, 0, problem.ranks,
                                      rows.data(), problem.m, sum.data(), bound.data()});
  return sum;
}

// One product of a kernel: which scales it takes, as indices of blocks along k, rows of A and
// blocks of B along n.
struct Scaled {
  int64_t block, row, of_b;
};
using Choice = std::function<Scaled(int64_t row, int64_t column, int64_t k)>;

Scaled right(int64_t row, int64_t column, int64_t k) {
  return {k / 128, row, column / 128};
}

// How many elements of the product, as a kernel with `choice` computes it from the operands that
// runs get, differ from the reference.
int count_wrong(const Problem& problem, DataKind kind, const Choice& choice) {
  const Distribution data = distribution_of(kind, problem);
  const std::vector<float> expected = reference_of(problem, kind);
  std::vector<double> sum(expected.size());
  const int64_t blocks = problem.blocks(), m = problem.m, n = problem.n;
  const bool columns = problem.scales_a == TILEPOST_SCALES_COLUMNS;
  const int64_t pitch = (m + 3) / 4 * 4, last_of_b = (n + 127) / 128 - 1;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const auto stream = [&](Matrix matrix) { return stream_of(kSeed, kRun, rank, matrix); };
    const std::vector<float> of_a = scales_of_a(problem, data, stream(Matrix::scale_a), m);
    for (int64_t i = 0; i < m * n; ++i)
      for (int64_t k = 0; k < problem.k; ++k) {
        const Scaled at = choice(i / n, i % n, k);
        const int64_t block = std::min(at.block, blocks - 1), row = at.row % m;
        const int64_t of_b = std::min(at.of_b, last_of_b) * blocks + block;
        sum[static_cast<size_t>(i)] +=
            static_cast<double>(value_at(data, stream(Matrix::a), i / n * problem.k + k)) *
            static_cast<double>(value_at(data, stream(Matrix::b), i % n * problem.k + k)) *
            static_cast<double>(of_a[columns ? block * pitch + row : row * blocks + block]) *
            static_cast<double>(scale_at(data, stream(Matrix::scale_b), of_b));
      }
  }
  int wrong = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    wrong += kind == DataKind::exact ? sum[i] != static_cast<double>(expected[i])
                                     : std::abs(sum[i] - static_cast<double>(expected[i])) > 1e-4;
  return wrong;
}

}  // namespace

TEST_CASE("the reference multiplies every element by the scale of its block") {
  const auto order = GENERATE(TILEPOST_SCALES_ROWS, TILEPOST_SCALES_COLUMNS);
  const auto kind = GENERATE(DataKind::exact, DataKind::random);
  CHECK(count_wrong(blocks_problem(order), kind, right) == 0);
}

TEST_CASE("exact data shows a wrong scale") {
  const Problem problem = blocks_problem(TILEPOST_SCALES_ROWS);
  const auto many_wrong = [&](const Choice& choice) {
    return count_wrong(problem, DataKind::exact, choice) > problem.m * problem.n / 8;
  };
  CHECK(many_wrong([](int64_t row, int64_t column, int64_t k) {
    return Scaled{k / 128 + 1, row, column / 128};  // of the next block along k
  }));
  CHECK(many_wrong([](int64_t row, int64_t column, int64_t k) {
    return Scaled{k / 256 * 2, row, column / 128};  // added every 256 products
  }));
  CHECK(many_wrong([](int64_t row, int64_t column, int64_t k) {
    return Scaled{k / 128, row + 8, column / 128};  // of another row of the thread
  }));
  CHECK(many_wrong([](int64_t row, int64_t column, int64_t k) {
    return Scaled{k / 128, row, column / 192};  // of the block in which a tile of 192 begins
  }));
  CHECK(many_wrong([&](int64_t row, int64_t column, int64_t k) {
    const int64_t at = k / 128 * problem.m + row;  // in the other order
    return Scaled{at % problem.blocks(), at / problem.blocks(), column / 128};
  }));
}

TEST_CASE("scales that are m contiguous have padding between blocks") {
  const Problem problem = blocks_problem(TILEPOST_SCALES_COLUMNS);
  const Distribution data = distribution_of(DataKind::exact, problem);
  const std::vector<float> scales = scales_of_a(problem, data, 5, 13);
  REQUIRE(scales.size() == 4 * 16);
  CHECK(scales[16 + 12] == scale_at(data, 5, 12 * 4 + 1));
  CHECK(scales[16 + 13] != scales[16 + 13]);
}
