// Ranks without rows, which may pass null operands, and runs in which no rank has rows.
#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using ranks::Ranks;
using ranks::Way;
using sample::enqueued;
using sample::Lines;

namespace {

constexpr int kCount = 5;

// Every pattern by several ways. With small m some ranks have nothing to do.
const std::vector<Way> kWays = {ranks::copies(kAllReduce),
                                ranks::copies(kReduceScatter),
                                ranks::copies(kAllToAll),
                                ranks::copies(kAllGather),
                                ranks::copies_beside(kAllGather),
                                ranks::stores(kReduceScatter),
                                ranks::tasks(kAllToAll),
                                ranks::tasks(kAllGather),
                                ranks::whole(kReduceScatter),
                                ranks::fuses(),
                                ranks::pushed_rows(),
                                ranks::launches(kAllToAllGemm),
                                ranks::launches(kAllGather)};

// Sets to null the operands that `rank` neither reads nor writes in a run of `m` rows.
void drop_unused(const tilepost_plan_t& plan, int rank, tilepost_run_operands_t& operands) {
  const tilepost::PatternRow& row = tilepost::row_of(plan);
  const int64_t share = (operands.m + plan.ranks - 1) / plan.ranks;
  const bool has_share = rank * share < operands.m;
  if (row.moves_input() && !row.routes() && !has_share) operands.a = nullptr;
  if (row.input_is_routed() && !has_share) operands.b = nullptr;
  if ((row.product_leaves() || row.input_is_routed()) && !has_share) operands.out = nullptr;
}

}  // namespace

TEST_CASE_METHOD(Team, "ranks without rows pass null, by every way") {
  const Way way = GENERATE(from_range(kWays));
  CAPTURE(way);
  ranks::use(program, way, kCount, 61);
  program.plan.any_m = 1;
  Ranks& all = create(kCount);
  all.on_start = [&](int rank, tilepost_run_operands_t& operands) {
    drop_unused(program.plan, rank, operands);
  };
  for (const int64_t m : {1, 2, 61, 3, 6}) all.run(2, m);
  check();
}

TEST_CASE_METHOD(Operation, "a run without rows does nothing, eager and captured") {
  program.plan.any_m = 1;
  create();
  REQUIRE(run(200) == TILEPOST_OK);
  fakes::world().reset_calls();
  tilepost_run_operands_t nothing{};
  nothing.struct_size = sizeof nothing;
  REQUIRE(run_with(nothing) == TILEPOST_OK);
  CHECK(enqueued() == Lines{"cudaEventRecord user", "cudaEventRecord user"});
  fakes::world().reset_calls();
  {
    const fakes::Capture capture(user);
    REQUIRE(run_with(nothing) == TILEPOST_OK);
  }
  CHECK(enqueued().empty());
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  CHECK(run() == TILEPOST_OK);
  CHECK(run_captured(200) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  nothing.m = 1;
  CHECK(run_with(nothing) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("a is null, but this rank has rows of it"));
}

TEST_CASE_METHOD(Operation, "every call of a run without rows can fail, and the next one goes on") {
  program.plan.any_m = 1;
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    op.program.plan.any_m = 1;
    op.create();
    failing.attempt([&] { return op.run(0); });
    CHECK(op.run(100) == TILEPOST_OK);
    CHECK(tilepost_op_synchronize(op.setup.op) == TILEPOST_OK);
  });
}
