// The reference of quantised outputs against what kernels of the host target use, and wrong
// outputs, which the comparison must tell from right ones.
#include "runtime/verify/reference/quantised.h"

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "tests/catch.h"
#include "tilepost/host/block_scales.h"

using namespace tilepost::verify;

namespace {

constexpr int64_t kRows = 21, kN = 300, kBlocks = 3;

Problem quantised_problem(tilepost_scales_order_t order) {
  Problem problem{kRows, kN, 64, 1, TILEPOST_BF16, TILEPOST_BF16};
  problem.pattern = TILEPOST_GEMM;
  problem.quantised = true;
  problem.scales_out = order;
  return problem;
}

// Sums of which each block has a magnitude of its own, and some blocks none.
std::vector<float> sums(bool integers) {
  std::mt19937_64 random(5);
  std::vector<float> values(kRows * kN);
  for (int64_t i = 0; i < kRows * kN; ++i) {
    const int64_t block = i / kN * kBlocks + i % kN / 128;
    const auto most = static_cast<int>(block % 29 * 8);
    const int value = static_cast<int>(random() % 4096) % (2 * most + 1) - most;
    values[i] = static_cast<float>(value) * (integers ? 1.0f : 0.9137f);
  }
  return values;
}

struct Quantised {
  std::vector<unsigned char> out;
  std::vector<float> scales;
};

using Index = std::function<int64_t(int64_t row, int64_t block)>;

int64_t own(int64_t row, int64_t block) {
  return row * kBlocks + block;
}

// Quantises as a kernel does. `stored` says whose scale is stored for a block, `used` whose scale
// its elements are divided by.
Quantised quantise_all(const Problem& problem, const std::vector<float>& x, const Index& stored,
                       const Index& used) {
  Quantised result{std::vector<unsigned char>(x.size()),
                   std::vector<float>(static_cast<size_t>(count_scales_of_out(problem, kRows)),
                                      std::numeric_limits<float>::quiet_NaN())};
  const auto scale_of = [&](int64_t unit) {
    unit = (unit + kRows * kBlocks) % (kRows * kBlocks);
    const int64_t row = unit / kBlocks, first = unit % kBlocks * 128;
    return tilepost::scale_of_block(&x[row * kN + first],
                                    static_cast<int>(std::min<int64_t>(128, kN - first)));
  };
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t col = 0; col < kN; ++col) {
      const int64_t block = col / 128;
      result.scales[place_of_scale(problem, kRows, row, block)] = scale_of(stored(row, block));
      result.out[row * kN + col] =
          tilepost::quantise(x[row * kN + col], scale_of(used(row, block))).bits;
    }
  return result;
}

int64_t count_different(const Problem& problem, const std::vector<float>& x, float bound,
                        const Quantised& found) {
  RunList list;
  list.count = list.at_once = 1;
  const RunShape shape(problem, problem.m, Spread::even, 0);
  Expected expected;
  for (int64_t row = 0; row < kRows; ++row) expected.rows.push_back(row);
  expected.sum = x;
  expected.bound.assign(x.size(), bound);
  Comparison comparison;
  const OutputLayout layout(problem, shape, 0);
  tilepost_plan_t plan{};
  plan.pattern = problem.pattern;
  plan.map.m = kRows, plan.map.n = kN, plan.map.tile_m = plan.map.tile_n = 128;
  plan.map.cluster = plan.map.band = plan.map.ranks = plan.map.num_groups = 1;
  const int32_t cuts[] = {1};
  plan.map.cuts = cuts;
  plan.ranks = 1;
  compare_quantised(problem, {found.out.data(), layout, shape, 0}, found.scales, expected, 0,
                    TileIndex(plan, shape, 0), comparison);
  return comparison.different;
}

}  // namespace

TEST_CASE("what the reference expects is what kernels store, bit by bit") {
  const Problem problem =
      quantised_problem(GENERATE(TILEPOST_SCALES_ROWS, TILEPOST_SCALES_COLUMNS));
  const std::vector<float> x = sums(GENERATE(true, false));
  const Quantised right = quantise_all(problem, x, own, own);
  CHECK(count_different(problem, x, 0, right) == 0);
  CHECK(count_different(problem, x, 1, right) == 0);
  CHECK(written_padding(problem, kRows, right.scales).empty());
  Quantised padded = right;
  padded.scales.back() = 1;
  CHECK(written_padding(problem, kRows, padded.scales).empty() ==
        (problem.scales_out == TILEPOST_SCALES_ROWS));
}

TEST_CASE("a wrong scale shows, wherever it is used") {
  const Problem problem = quantised_problem(TILEPOST_SCALES_ROWS);
  const std::vector<float> x = sums(true);
  const auto next = [](int64_t row, int64_t block) { return own(row, (block + 1) % kBlocks); };
  const auto below = [](int64_t row, int64_t block) { return own(row + 8, block); };
  for (const Index& wrong : {Index(next), Index(below)}) {
    CHECK(count_different(problem, x, 0, quantise_all(problem, x, wrong, own)) > kRows);
    CHECK(count_different(problem, x, 0, quantise_all(problem, x, own, wrong)) > kRows);
    CHECK(count_different(problem, x, 0.5f, quantise_all(problem, x, wrong, own)) > kRows);
    CHECK(count_different(problem, x, 0.5f, quantise_all(problem, x, wrong, wrong)) > kRows);
  }
}

TEST_CASE("a sum of what was quantised before shows") {
  const Problem problem = quantised_problem(TILEPOST_SCALES_ROWS);
  const std::vector<float> x = sums(true);
  std::vector<float> parts(x), other(x);
  for (size_t i = 0; i < x.size(); ++i) parts[i] = std::floor(x[i] / 3), other[i] = x[i] - parts[i];
  std::vector<float> early(x.size());
  for (const std::vector<float>& part : {parts, other}) {
    const Quantised rounded = quantise_all(problem, part, own, own);
    for (size_t i = 0; i < x.size(); ++i)
      early[i] += value_of_e4m3(rounded.out[i]) * rounded.scales[i / kN * kBlocks + i % kN / 128];
  }
  CHECK(count_different(problem, x, 0, quantise_all(problem, early, own, own)) > kRows * 8);
}

TEST_CASE("scales of blocks that have no ordinary greatest magnitude") {
  const float least = std::ldexp(1.0f, -126), infinity = std::numeric_limits<float>::infinity();
  CHECK(tilepost::scale_of_block(0.0f) == 1);
  CHECK(tilepost::scale_of_block(448.0f) == 1);
  CHECK(tilepost::scale_of_block(least) == least);
  CHECK(tilepost::scale_of_block(infinity) == infinity);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float block[] = {3, nan, -7};
  const float scale = tilepost::scale_of_block(block, 3);
  CHECK(scale == 7.0f / 448);
  CHECK(tilepost::quantise(nan, scale).bits == 0x7f);
  CHECK(tilepost::quantise(-7, scale).bits == 0xfe);
  CHECK(tilepost::quantise(infinity, infinity).bits == 0x7f);
  CHECK(tilepost::quantise(5, infinity).bits == 0);
}
