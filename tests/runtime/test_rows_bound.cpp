// Tokens that go to experts, where the plan is for fewer rows than a routing can ask for: what the
// device finds ends the operation. Stand-ins for CUDA and for the kernel that lists tile rows.
#include <utility>

#include "tests/catch.h"
#include "tests/runtime/fixture.h"
#include "tilepost/routing.h"

using Catch::Contains;
using fakes::world;

namespace {

// An operation of two ranks that is bound to a routing of 4 experts for each of them.
class Tokens : public Operation {
 public:
  static constexpr int kTop = 2;
  static constexpr int64_t kBound = 300;

  Tokens() {
    program.use(TILEPOST_DISPATCH_GROUPED_GEMM, 2, TILEPOST_DIVISION_ARRIVALS, {0, 1, 2});
    program.plan.experts = 4;
    program.plan.top = kTop;
    program.plan.most_rows = kBound;
  }
  ~Tokens() noexcept(false) { release(); }

  tilepost_result_t try_to_create() {
    tilepost_unique_id_t id{};
    REQUIRE(tilepost_comm_init(&id, 1, 2, &setup.comm) == TILEPOST_OK);
    tilepost_options_t options = tilepost_default_options();
    options.deadline_seconds = 0;
    REQUIRE(tilepost_routing_create(setup.comm, 8, kTop, 256, nullptr, &routing_) == TILEPOST_OK);
    options.routing = routing_;
    return tilepost_op_create(setup.comm, &program.program, &options, &setup.op);
  }
  void create() {
    const tilepost_result_t made = try_to_create();
    INFO(tilepost_last_error());
    REQUIRE(made == TILEPOST_OK);
  }
  void release() {
    tilepost_op_destroy(std::exchange(setup.op, nullptr));
    tilepost_routing_destroy(std::exchange(routing_, nullptr));
    setup.release();
  }
  // What the routing's kernel would write.
  void route(int rows_of_rank_0, int rows_of_rank_1) const {
    tilepost_routing_info_t tables{};
    REQUIRE(tilepost_routing_get_info(routing_, &tables) == TILEPOST_OK);
    auto* const rows = const_cast<int32_t*>(tables.rank_rows);
    rows[0] = rows_of_rank_0, rows[1] = rows_of_rank_1;
  }
  void check_ended(int rank, int rows) {
    leaves_memory();  // the routing's window, into which another rank may still store
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(),
               Contains("'sample': the routing gives rank " + std::to_string(rank) + " " +
                        std::to_string(rows) + " rows, and max_rows of the plan is 300"));
    CHECK(run() == TILEPOST_ABORTED);
    CHECK_THAT(tilepost_last_error(), Contains("max_rows of the plan is 300"));
  }

 private:
  tilepost_expert_routing_t routing_ = nullptr;
};

// The half behind it: rows of experts are summed by token, and the sums go home by messages.
class Sums : public Tokens {
 public:
  Sums() {
    program.use(TILEPOST_GROUPED_GEMM_COMBINE, 2, TILEPOST_DIVISION_SHARES, {1, 2});
    program.plan.experts = 4;
    program.plan.top = kTop;
    program.plan.most_rows = program.plan.map.m * kTop;
  }
};

}  // namespace

TEST_CASE_METHOD(Sums, "sums of tokens come behind the GEMM and before what sends them") {
  create();
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  CHECK(sample::count_calls("token_sums user ") == 1);
  CHECK(sample::count_calls("home_sums ") == 0);
}

TEST_CASE_METHOD(Sums, "a bound on rows is refused where messages would write the output") {
  program.plan.most_rows = kBound;
  CHECK(try_to_create() == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(), Contains("max_rows of the plan is 300") &&
                                        Contains("only transport 'peer' sums tokens"));
}

TEST_CASE_METHOD(Tokens, "a run with more rows than max_rows on any rank ends the operation") {
  create();
  route(kBound, kBound);
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  SECTION("on this rank") {
    route(kBound, kBound + 1);
    REQUIRE(run() == TILEPOST_OK);
    check_ended(1, kBound + 1);
  }
  SECTION("on another rank, which all ranks name") {
    route(kBound + 9, kBound + 1);
    REQUIRE(run() == TILEPOST_OK);
    check_ended(0, kBound + 9);
  }
  SECTION("in a replay of a graph") {
    route(kBound + 9, 0);
    REQUIRE(run_captured() == TILEPOST_OK);
    check_ended(0, kBound + 9);
  }
}

TEST_CASE_METHOD(Tokens, "where all rows that there can be have room, the device looks at none") {
  program.plan.most_rows = program.plan.map.m * kTop;
  create();
  route(100000, 100000);
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}
