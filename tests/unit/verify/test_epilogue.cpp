// The reference's epilogue against formulas written here; its bounds against fp32 and the tensor
// cores' accumulators; and checks that must fail where an operation is missing.
#include "runtime/verify/reference/epilogue.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/map/tile_map.h"
#include "runtime/verify/check_program.h"
#include "tests/catch.h"
#include "tests/host/hand_woven.h"
#include "tilepost/host/epilogue.h"

using namespace tilepost::verify;
namespace epilogue = tilepost::epilogue;

namespace {

constexpr uint64_t kSeed = 9;
constexpr int kRun = 2;

struct Result {
  std::vector<float> sum, bound;
};

Result host_reference(const Problem& problem, DataKind kind, int first_rank, int end_rank) {
  std::vector<int64_t> rows(problem.m);
  for (int64_t row = 0; row < problem.m; ++row) rows[row] = row;
  const size_t elements = static_cast<size_t>(problem.m * problem.n);
  Result result{std::vector<float>(elements), std::vector<float>(elements)};
  open_world(1)->device(0).reference(
      {problem, distribution_of(kind, problem), error_weights(kind, problem), kSeed, kRun,
       first_rank, end_rank, rows.data(), problem.m, result.sum.data(), result.bound.data()});
  return result;
}

// The operands of one rank in a run.
struct Operands {
  Problem problem;
  DataKind kind;
  int rank;

  uint64_t stream(Matrix matrix) const { return stream_of(kSeed, kRun, rank, matrix); }
  Distribution data() const { return distribution_of(kind, problem); }
  double a(int64_t row, int64_t k) const {
    return value_at(data(), stream(Matrix::a), row * problem.k + k);
  }
  double b(int64_t k, int64_t col) const {
    const bool nn = problem.operands == TILEPOST_NN;
    return value_at(data(), stream(Matrix::b), nn ? k * problem.n + col : col * problem.k + k);
  }
  double scale_a(int64_t i) const { return scale_at(data(), stream(Matrix::scale_a), i); }
  double scale_b(int64_t i) const { return scale_at(data(), stream(Matrix::scale_b), i); }
  double bias(int64_t i) const { return value_at(addends(data()), stream(Matrix::bias), i); }
  double residual(int64_t i) const {
    return value_at(addends(data()), stream(Matrix::residual), i);
  }
  double products(int64_t row, int64_t col) const {
    double sum = 0;
    for (int64_t k = 0; k < problem.k; ++k) sum += a(row, k) * b(k, col);
    return sum;
  }
};

double expected(const Operands& operands, int64_t row, int64_t col) {
  const int ops = operands.problem.epilogue;
  double x = operands.products(row, col);
  if (ops & TILEPOST_SCALE) x *= operands.scale_a(0) * operands.scale_b(0);
  if (ops & TILEPOST_SCALE_ROWS) x *= operands.scale_a(row);
  if (ops & TILEPOST_SCALE_COLUMNS) x *= operands.scale_b(col);
  if ((ops & TILEPOST_BIAS) && (operands.problem.pattern == TILEPOST_GEMM || operands.rank == 0))
    x += operands.bias(col);
  if (ops & TILEPOST_GELU) x = x / 2 * std::erfc(-x / std::sqrt(2.0));
  if (ops & TILEPOST_SILU) x = x / (1 + std::exp(-x));
  if (ops & TILEPOST_RESIDUAL) x += operands.residual(row * operands.problem.n + col);
  return x;
}

Problem gemm_problem(int epilogue_ops, int64_t k = 70) {
  Problem problem{13, 9, k, 3, TILEPOST_BF16, TILEPOST_BF16, TILEPOST_GEMM};
  problem.epilogue = epilogue_ops;
  return problem;
}

constexpr int kEpilogues[] = {0,
                              TILEPOST_SCALE,
                              TILEPOST_SCALE_ROWS,
                              TILEPOST_SCALE_COLUMNS | TILEPOST_BIAS,
                              TILEPOST_BIAS | TILEPOST_GELU,
                              TILEPOST_SCALE | TILEPOST_SILU | TILEPOST_RESIDUAL,
                              TILEPOST_SCALE_ROWS | TILEPOST_SCALE_COLUMNS | TILEPOST_BIAS |
                                  TILEPOST_GELU | TILEPOST_RESIDUAL};

// The tensor cores' accumulator for e4m3. The sum so far and 32 products are aligned to the largest
// of them and cut off `bits` bits below it. Today's GPUs have 13 bits.
float add_cut_off(float sum, const std::vector<double>& products, int bits) {
  double largest = std::fabs(sum);
  for (const double product : products) largest = std::max(largest, std::fabs(product));
  if (largest == 0) return 0;
  const double unit = std::ldexp(1.0, std::ilogb(largest) - bits);
  double total = std::trunc(sum / unit);
  for (const double product : products) total += std::trunc(product / unit);
  return static_cast<float>(total * unit);
}

float tensor_core_sum(const Operands& operands, int64_t row, int64_t col, int64_t run, int bits) {
  float total = 0, sum = 0;
  for (int64_t k = 0; k < operands.problem.k; k += 32) {
    std::vector<double> products;
    for (int64_t i = k; i < std::min(k + 32, operands.problem.k); ++i)
      products.push_back(operands.a(row, i) * operands.b(i, col));
    sum = add_cut_off(sum, products, bits);
    if ((k + 32) % run != 0) continue;
    total += sum;
    sum = 0;
  }
  return total + sum;
}

struct Spread {
  double worst = 0;
  int outside = 0;
};

// How the accumulator's sums spread within the bound for `accumulate`.
Spread spread_of(tilepost_accumulate_t accumulate, int64_t k, int64_t run, int bits = 13) {
  Problem problem{12, 40, k, 1, TILEPOST_E4M3, TILEPOST_F16, TILEPOST_GEMM};
  problem.accumulate = accumulate;
  const Operands operands{problem, DataKind::random, 0};
  const Result result = host_reference(problem, DataKind::random, 0, 1);
  Spread spread;
  for (int64_t row = 0; row < problem.m; ++row)
    for (int64_t col = 0; col < problem.n; ++col) {
      const float got =
          tilepost::to_float(tilepost::to_f16(tensor_core_sum(operands, row, col, run, bits)));
      const int64_t at = row * problem.n + col;
      const double ratio = std::fabs(double{got} - result.sum[at]) / result.bound[at];
      spread.worst = std::max(spread.worst, ratio);
      spread.outside += ratio > 1;
    }
  return spread;
}

// Checks a program whose plan has an epilogue but whose kernel has none.
std::vector<CheckResult> check_without_epilogue(int ops, tilepost_operands_t operands) {
  constexpr int kTileM = 8, kTileN = 16;
  const int32_t cuts[] = {4};
  tilepost_plan_t plan{};
  plan.pattern = TILEPOST_GEMM;
  plan.ranks = 2;
  plan.k = 70;
  plan.epilogue = ops;
  plan.operands = operands;
  plan.map = {29, 50, kTileM, kTileN, 1,    2, 1, TILEPOST_PANEL, TILEPOST_DIVISION_ROWS,
              1,  0,  0,      1,      cuts, 0, 0};
  const tilepost::TileMap map = tilepost::build_tile_map(plan.map);
  plan.map_hash = tilepost::hash_tile_map(map);
  plan.transport = TILEPOST_TRANSPORT_NONE;
  plan.groups = map.groups.data();
  plan.kernel.name = "hand_woven";
  plan.kernel.launch = TILEPOST_LAUNCH_HOST;
  plan.kernel.host_function = hand_woven::kernel<tilepost::Layout::panel, kTileM, kTileN,
                                                 tilepost::Bf16, hand_woven::Fault::none>;
  const tilepost_program_t program = {TILEPOST_ABI_VERSION, "hand", 1, &plan};
  const auto world = open_world(plan.ranks);
  return check_program(program, plan, *world, {}, 1, nullptr, [](int) {});
}

}  // namespace

TEST_CASE("each rank's reference is its own product, put through the epilogue") {
  const DataKind kind = GENERATE(DataKind::exact, DataKind::random);
  for (const int ops : kEpilogues)
    for (const tilepost_operands_t layout : {TILEPOST_TN, TILEPOST_NN}) {
      Problem problem = gemm_problem(ops);
      problem.operands = layout;
      const int rank = 1;
      const Result result = host_reference(problem, kind, rank, rank + 1);
      CAPTURE(ops, static_cast<int>(layout));
      for (int64_t at = 0; at < problem.m * problem.n; ++at) {
        const double want = expected({problem, kind, rank}, at / problem.n, at % problem.n);
        REQUIRE(result.sum[at] == Approx(want).margin(1e-4));
        REQUIRE((result.bound[at] == 0) == (kind == DataKind::exact && problem.linear()));
      }
    }
}

TEST_CASE("where ranks are summed each has its scales, and rank 0 the bias") {
  const DataKind kind = GENERATE(DataKind::exact, DataKind::random);
  Problem problem = gemm_problem(TILEPOST_SCALE_ROWS | TILEPOST_SCALE_COLUMNS | TILEPOST_BIAS);
  problem.pattern = TILEPOST_GEMM_ALL_REDUCE;
  const Result result = host_reference(problem, kind, 0, problem.ranks);
  for (int64_t at = 0; at < problem.m * problem.n; ++at) {
    double want = 0;
    for (int rank = 0; rank < problem.ranks; ++rank)
      want += expected({problem, kind, rank}, at / problem.n, at % problem.n);
    REQUIRE(result.sum[at] == Approx(want).margin(1e-4));
  }
}

// All partial results are exact in the output type, for any order of products, ranks and
// operations.
TEST_CASE("exact data with a linear epilogue stays within the exact integers") {
  for (const tilepost_dtype_t output : {TILEPOST_BF16, TILEPOST_F16})
    for (const tilepost_dtype_t input : {TILEPOST_BF16, TILEPOST_E4M3})
      for (const int64_t k : {1, 5, 40, 3000}) {
        Problem problem = gemm_problem(
            TILEPOST_SCALE_ROWS | TILEPOST_SCALE_COLUMNS | TILEPOST_BIAS | TILEPOST_RESIDUAL, k);
        problem.input = input, problem.output = output;
        const Operands operands{problem, DataKind::exact, 0};
        for (int64_t row = 0; row < problem.m; ++row)
          for (int64_t col = 0; col < problem.n; ++col) {
            double magnitude = 0;
            for (int64_t i = 0; i < k; ++i)
              magnitude += std::fabs(operands.a(row, i) * operands.b(i, col));
            magnitude *= operands.scale_a(row) * operands.scale_b(col);
            magnitude +=
                std::fabs(operands.bias(col)) + std::fabs(operands.residual(row * problem.n + col));
            REQUIRE(magnitude <= exact_limit(output));
          }
      }
}

// Uses fp32 throughout, one rounding at the end, and the product's own operations.
TEST_CASE("an epilogue in fp32 stays within the bound") {
  for (const int ops : kEpilogues)
    for (const DataKind kind : {DataKind::exact, DataKind::random}) {
      const Problem problem = gemm_problem(ops, 300);
      const Operands operands{problem, kind, 0};
      const Result result = host_reference(problem, kind, 0, 1);
      double worst = 0;
      for (int64_t at = 0; at < problem.m * problem.n; ++at) {
        const int64_t row = at / problem.n, col = at % problem.n;
        float x = 0;
        for (int64_t k = 0; k < problem.k; ++k)
          x += static_cast<float>(operands.a(row, k) * operands.b(k, col));
        if (ops & TILEPOST_SCALE)
          x *= static_cast<float>(operands.scale_a(0)) * static_cast<float>(operands.scale_b(0));
        if (ops & TILEPOST_SCALE_ROWS) x *= static_cast<float>(operands.scale_a(row));
        if (ops & TILEPOST_SCALE_COLUMNS) x *= static_cast<float>(operands.scale_b(col));
        if (ops & TILEPOST_BIAS) x += static_cast<float>(operands.bias(col));
        if (ops & TILEPOST_GELU) x = epilogue::gelu(x);
        if (ops & TILEPOST_SILU) x = epilogue::silu(x);
        if (ops & TILEPOST_RESIDUAL) x += static_cast<float>(operands.residual(at));
        const double error =
            std::fabs(double{tilepost::to_float(tilepost::to_bf16(x))} - result.sum[at]);
        REQUIRE(error <= result.bound[at]);
        if (error > 0) worst = std::max(worst, error / result.bound[at]);
      }
      CAPTURE(ops);
      CHECK((worst > 0.05) == !(kind == DataKind::exact && problem.linear()));
    }
}

TEST_CASE("gelu and silu are no steeper than the bounds take them to be") {
  const auto steepest = [](float (*function)(float)) {
    double most = 0;
    for (double x = -20; x < 20; x += 1e-2)
      most = std::max(most, std::fabs(double{function(static_cast<float>(x + 1e-2))} -
                                      function(static_cast<float>(x))) /
                                1e-2);
    return most;
  };
  CHECK(steepest(epilogue::gelu) < 1.13);
  CHECK(steepest(epilogue::silu) < 1.1);
}

TEST_CASE("the tensor cores' e4m3 sums stay within their bounds, with room") {
  for (const int64_t k : {16, 64, 500, 2000, 8000}) {
    CAPTURE(k);
    CHECK(spread_of(TILEPOST_FAST, k, k * 2).worst < 0.5);
    CHECK(spread_of(TILEPOST_PRECISE, k, 128).worst < 0.7);
  }
}

TEST_CASE("accumulators of fewer bits leave the bounds") {
  CHECK(spread_of(TILEPOST_FAST, 2000, 4000, 7).outside > 20);
  CHECK(spread_of(TILEPOST_PRECISE, 2000, 128, 7).outside > 20);
  CHECK(spread_of(TILEPOST_PRECISE, 8000, 16000, 10).outside > 20);
}

TEST_CASE("an operation that is left out is found") {
  for (const int ops : {TILEPOST_SCALE, TILEPOST_SCALE_ROWS, TILEPOST_SCALE_COLUMNS, TILEPOST_BIAS,
                        TILEPOST_GELU, TILEPOST_SILU, TILEPOST_RESIDUAL}) {
    CAPTURE(ops);
    const auto results = check_without_epilogue(ops, TILEPOST_TN);
    REQUIRE(results.size() == 1);
    CHECK_FALSE(results[0].ok);
    CHECK_THAT(results[0].text, Catch::Contains("first difference at"));
  }
  CHECK(check_without_epilogue(0, TILEPOST_TN).size() == 2);
}

TEST_CASE("the wrong layout of B is found") {
  const auto results = check_without_epilogue(0, TILEPOST_NN);
  REQUIRE(results.size() == 1);
  CHECK_FALSE(results[0].ok);
}
