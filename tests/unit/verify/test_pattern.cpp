// The harness passes every pattern with its routes and numbers of rows. It catches errors in them:
// a tile in another's place, a row sent elsewhere, a wrong A.
#include "runtime/verify/check_program.h"
#include "runtime/verify/reference/norm.h"
#include "tests/catch.h"
#include "tests/host/problem.h"

#include <algorithm>
#include <cmath>

namespace verify = tilepost::verify;
using hand_woven::Fault;
using verify::CheckResult;

namespace {

std::vector<CheckResult> check(const Program& program, std::vector<int64_t> m = {}) {
  verify::HarnessOptions options;
  options.m = std::move(m);
  const tilepost_plan_t& plan = program.get().plans[0];
  const auto world = verify::open_world(plan.ranks);
  return verify::check_program(program.get(), plan, *world, options, 3, nullptr, [](int) {});
}

Problem make(tilepost_pattern_t pattern, tilepost_layout_t layout = TILEPOST_PANEL) {
  Problem problem;
  problem.pattern = pattern;
  problem.layout = layout;
  problem.ranks = 3;
  problem.m = 101;
  problem.n = 20;
  problem.k = 40;
  return problem;
}

// Calls the right kernel with the destinations of two rows exchanged.
template <bool kRouted>
void misrouting_kernel(const void* a, const void* b, void* c, tilepost_shape_t shape,
                       tilepost_epilogue_t epilogue, int worker, int workers,
                       tilepost_view_t view) {
  std::vector<int32_t> rows(view.row_map, view.row_map + shape.m);
  if (shape.m > 1) std::swap(rows[0], rows[1]);
  view.row_map = rows.data();
  hand_woven::kernel<tilepost::Layout::panel, Problem::kTileM, Problem::kTileN, tilepost::Bf16,
                     Fault::none, kRouted>(a, b, c, shape, epilogue, worker, workers, view);
}

// Calls the right kernel with two rows of A exchanged.
void reordering_kernel(const void* a, const void* b, void* c, tilepost_shape_t shape,
                       tilepost_epilogue_t epilogue, int worker, int workers,
                       tilepost_view_t view) {
  const auto* const rows = static_cast<const uint16_t*>(a);
  std::vector<uint16_t> input(rows, rows + int64_t{shape.m} * shape.lda);
  if (shape.m > 1) std::swap_ranges(input.begin(), input.begin() + shape.k, &input[shape.lda]);
  hand_woven::kernel<tilepost::Layout::panel, Problem::kTileM, Problem::kTileN, tilepost::Bf16,
                     Fault::none>(input.data(), b, c, shape, epilogue, worker, workers, view);
}

// Changes the gathered A after the product is right.
void spoiling_kernel(const void* a, const void* b, void* c, tilepost_shape_t shape,
                     tilepost_epilogue_t epilogue, int worker, int workers, tilepost_view_t view) {
  hand_woven::kernel<tilepost::Layout::panel, Problem::kTileM, Problem::kTileN, tilepost::Bf16,
                     Fault::none>(a, b, c, shape, epilogue, worker, workers, view);
  if (worker == 0) *static_cast<uint16_t*>(const_cast<void*>(a)) ^= 0x4000;
}

}  // namespace

TEST_CASE("every pattern passes, with its routes and numbers of rows") {
  const auto pattern =
      GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL,
               TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM);
  const auto layout = GENERATE(TILEPOST_PANEL, TILEPOST_TILE);
  const auto routing =
      GENERATE(TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS);
  const bool any_m = GENERATE(false, true);
  const tilepost::PatternRow& row = tilepost::row_of(pattern);
  if (!row.routes() && routing != TILEPOST_ROUTING_EVEN) return;
  if (layout == TILEPOST_TILE && !row.may_tile()) return;
  if (layout == TILEPOST_TILE && routing == TILEPOST_ROUTING_ROWS) return;
  Problem problem = make(pattern, layout);
  problem.routing = routing;
  problem.any_m = any_m;
  if (row.input_is_routed()) problem.most_received = GENERATE(0, 101, 150);
  const Program program(problem);
  const auto results = check(program);
  INFO(results.back().text);
  REQUIRE(results.size() == 2);
  CHECK(results[0].ok);
  CHECK(results[1].ok);
  const bool routed = routing != TILEPOST_ROUTING_EVEN;
  CHECK_THAT(results[0].text, Catch::Contains(any_m    ? ", 10 runs"
                                              : routed ? ", 8 runs"
                                                       : ", 3 runs"));
}

TEST_CASE("norms pass, and the sums that are kept") {
  Problem problem = make(GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER));
  problem.layout = GENERATE(TILEPOST_PANEL, TILEPOST_TILE);
  problem.consumer = GENERATE(TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM);
  const auto results = check(Program(problem));
  INFO(results.back().text);
  REQUIRE(results.size() == 2);
  CHECK(results[0].ok);
  CHECK(results[1].ok);
}

TEST_CASE("the numbers of rows that were asked for are those that are run") {
  Problem problem = make(TILEPOST_GEMM_REDUCE_SCATTER);
  problem.any_m = true;
  const auto results = check(Program(problem), {5, 101, 2, 64});
  REQUIRE(results.size() == 2);
  CHECK_THAT(results[0].text, Catch::Contains("exact: 3440 elements equal, 4 runs"));
}

TEST_CASE("a tile in another's place is caught in every pattern", "[races]") {
  Problem problem = make(GENERATE(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL));
  problem.layout = GENERATE(TILEPOST_PANEL, TILEPOST_TILE);
  problem.fault = Fault::swapped_rows;
  const auto results = check(Program(problem));
  CHECK_FALSE(results.back().ok);
  CHECK_THAT(results.back().text, Catch::Contains("first difference at ("));
}

TEST_CASE("a row of the product that is sent elsewhere is caught") {
  Problem problem = make(TILEPOST_GEMM_ALL_TO_ALL);
  problem.routing = TILEPOST_ROUTING_ROWS;
  Program program(problem);
  program.plan().kernel.host_function = misrouting_kernel<true>;
  const auto results = check(program);
  CHECK_FALSE(results.back().ok);
  CHECK_THAT(results.back().text, Catch::Contains("first difference at ("));
}

TEST_CASE("rows of A in another order are caught") {
  Problem problem = make(TILEPOST_ALL_TO_ALL_GEMM);
  problem.routing = GENERATE(TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS);
  problem.transport = TILEPOST_TRANSPORT_NONE;
  Program program(problem);
  program.plan().kernel.host_function = reordering_kernel;
  const auto results = check(program);
  CHECK_FALSE(results.back().ok);
  CHECK_THAT(results.back().text, Catch::Contains("first difference at ("));
}

TEST_CASE("a gathered A that differs is caught") {
  Problem problem = make(GENERATE(TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM));
  problem.transport = TILEPOST_TRANSPORT_NONE;
  Program program(problem);
  program.plan().kernel.host_function = spoiling_kernel;
  const auto results = check(program);
  CHECK_FALSE(results.back().ok);
  CHECK_THAT(results.back().text, Catch::Contains("run 1: the gathered A differs at (0, 0)"));
}

TEST_CASE("the reference of a norm: fp32 is within its bound, a wrong one is not") {
  verify::Problem problem{4, 67, 30, 1, TILEPOST_BF16, TILEPOST_BF16, TILEPOST_GEMM};
  problem.consumer = TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  const verify::DataKind kind = GENERATE(verify::DataKind::exact, verify::DataKind::random);
  const auto data = verify::distribution_of(kind, problem);
  const verify::RowSource source{5, 1, 0, nullptr};
  const auto element = [&](verify::Matrix matrix, int64_t index) {
    return verify::value_at(verify::addends(data), verify::stream_of(5, 1, 0, matrix), index);
  };
  verify::Expected expected{{0, 1, 2, 3}, {}, {}};
  std::vector<float> x;
  for (int i = 0; i < 4 * 67; ++i) x.push_back(static_cast<float>(i % 13 - 6));
  expected.sum = x;
  expected.bound.assign(x.size(), 0);
  verify::Expected kept = expected;
  verify::normalise(problem, data, source, 0, 4, expected, kept);
  const auto outside = [&](int row, int col, bool residual, float scale_error) {
    float squares = 0, value = 0;
    for (int i = 0; i < 67; ++i) {
      const int at = row * 67 + i;
      const float sum = x[at] + (residual ? element(verify::Matrix::norm_residual, at) : 0.0f);
      squares += sum * sum;
      if (i == col) value = sum;
    }
    const float y = value / std::sqrt(squares / 67 + verify::kNormEpsilon) * scale_error *
                    element(verify::Matrix::norm_weight, col);
    return std::fabs(y - expected.sum[row * 67 + col]) > expected.bound[row * 67 + col];
  };
  int good = 0, without_residual = 0, scaled = 0;
  for (int row = 0; row < 4; ++row)
    for (int col = 0; col < 67; ++col) {
      good += outside(row, col, true, 1.0f);
      without_residual += outside(row, col, false, 1.0f);
      scaled += outside(row, col, true, 1.02f);
    }
  CHECK(good == 0);
  CHECK(without_residual > 50);
  CHECK(scaled > 50);
}
