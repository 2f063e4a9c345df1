// Ranks without rows, which may pass null operands, and runs in which no rank has rows.
#include "tests/catch.h"
#include "tests/host/variants.h"

namespace {

std::string synchronize(const Ops& ops, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    if (tilepost_op_synchronize(ops[rank]) != TILEPOST_OK) return tilepost_last_error();
  return "";
}

// Makes a run in which ranks have up to `m` rows.
std::string run_rows(const Problem& problem, const Ops& ops, int64_t m, Spread spread,
                     std::mt19937_64& random) {
  PatternRun run(problem, m, spread, true, random);
  run.use_nulls();
  std::string wrong = run.route(ops);
  if (wrong.empty()) wrong = run.start(ops);
  if (wrong.empty()) wrong = synchronize(ops, problem.ranks);
  return wrong.empty() ? run.compare() : wrong;
}

tilepost_result_t run_nothing(tilepost_op_t op) {
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  return tilepost_op_run_with(op, &operands, nullptr);
}

// Makes a run without rows on every rank.
std::string run_nothing(const Ops& ops, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    if (run_nothing(ops[rank]) != TILEPOST_OK) return tilepost_last_error();
  return synchronize(ops, ranks);
}

}  // namespace

TEST_CASE("ranks without rows pass null, in every pattern and by every way") {
  const int ranks = GENERATE(2, 4);
  std::mt19937_64 random(ranks);
  uint64_t seed = ranks;
  for (const Variant& variant : all_variants()) {
    Problem problem = make(variant, ranks, ++seed);
    problem.any_m = true;
    problem.m = 40;
    problem.n = 20;
    problem.k = 5;
    INFO(describe(problem));
    const Program program(problem);
    const Comms comms(ranks);
    const Ops ops(comms, program.get(), ranks);
    for (const int64_t m : {1, 0, 3, 0, 0, 40, 2}) {
      INFO("a run of " << m << " rows");
      if (m > 0 || problem.routed())
        REQUIRE(run_rows(problem, ops, m, kSpreads[random() % 3], random) == "");
      else
        REQUIRE(run_nothing(ops, ranks) == "");
    }
  }
}

TEST_CASE("null is refused where there are rows") {
  Problem problem;
  problem.pattern = TILEPOST_ALL_GATHER_GEMM;
  problem.any_m = true;
  const Program program(problem);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  std::vector<uint16_t> memory(64 * 64 + 8);
  void* const good = Aligned(memory).data();
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.b = operands.out = good;
  operands.m = 1;  // rank 1 has no share of one row
  CHECK(tilepost_op_run_with(ops[0], &operands, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("a is null, but this rank has rows of it"));
  operands.b = nullptr;
  CHECK(tilepost_op_run_with(ops[1], &operands, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("b is null"));
}

TEST_CASE("a rank without rows is told from one that has some") {
  const int empty = GENERATE(0, 1);
  Problem problem;
  problem.any_m = true;
  problem.access = GENERATE(TILEPOST_ACCESS_MESSAGES, TILEPOST_ACCESS_READ, TILEPOST_ACCESS_TILES);
  if (problem.access == TILEPOST_ACCESS_TILES) problem.shots = TILEPOST_ONE_SHOT;
  std::mt19937_64 random(8);
  PatternRun run(problem, 16, Spread::random, true, random);
  const Program program(problem);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  REQUIRE(run_nothing(ops[empty]) == TILEPOST_OK);
  static_cast<void>(run.start(ops, 1 - empty));
  CHECK(tilepost_op_synchronize(ops[1 - empty]) != TILEPOST_OK);
  CHECK_THAT(tilepost_last_error(), Catch::Contains("run 1 of 'hand_woven': m is ") &&
                                        Catch::Contains("0 on rank " + std::to_string(empty)) &&
                                        Catch::Contains("pass the same m on every rank"));
}

TEST_CASE("in plans for one number of rows 0 is that number, and so is TILEPOST_PLANNED_M") {
  Problem problem;
  problem.any_m = GENERATE(false, true);
  const int64_t m = GENERATE(int64_t{0}, int64_t{TILEPOST_PLANNED_M});
  problem.ranks = 1;
  std::mt19937_64 random(1);
  Data data(problem, false, random);
  const Program program(problem);
  const Comms comms(1);
  const Ops ops(comms, program.get(), 1);
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = data.a[0].data();
  operands.b = data.b[0].data();
  operands.out = data.out[0].data();
  operands.m = m;
  const reference::Matrix before = data.out[0];
  REQUIRE(tilepost_op_run_with(ops[0], &operands, nullptr) == TILEPOST_OK);
  REQUIRE(tilepost_op_synchronize(ops[0]) == TILEPOST_OK);
  if (problem.any_m && m == 0)
    CHECK(data.out[0] == before);
  else
    CHECK(data.compare(program) == "");
}
