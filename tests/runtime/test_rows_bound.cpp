// Tokens that go to experts, where the plan is for fewer rows than a routing can ask for: what the
// device finds ends the operation. Stand-ins for CUDA and for the kernel that lists tile rows.
#include <string>

#include "tests/catch.h"
#include "tests/runtime/routed.h"

using Catch::Contains;
using fakes::world;

namespace {

class Tokens : public Routed {
 public:
  static constexpr int64_t kBound = 300;

  Tokens() {
    use_tokens(program, TILEPOST_DISPATCH_GROUPED_GEMM);
    program.plan.most_rows = kBound;
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
};

// The half behind it: rows of experts are summed by token, and the sums go home by messages.
class Sums : public Routed {
 public:
  Sums() { use_tokens(program, TILEPOST_GROUPED_GEMM_COMBINE); }
};

}  // namespace

TEST_CASE_METHOD(Sums, "sums of tokens come behind the GEMM and before what sends them") {
  create();
  CHECK(sample::count_calls("preload_token_sums") == 1);
  CHECK(sample::count_calls("preload_home_sums") == 0);
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  CHECK(sample::count_calls("token_sums user ") == 1);
  CHECK(sample::count_calls("home_sums ") == 0);
}

TEST_CASE_METHOD(Sums, "a bound on rows is refused where messages would write the output") {
  program.plan.most_rows = Tokens::kBound;
  CHECK(try_to_create(program.program) == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(), Contains("max_rows of the plan is 300") &&
                                        Contains("only transport 'peer' sums tokens"));
}

TEST_CASE_METHOD(Tokens, "a run with more rows than max_rows on any rank ends the operation") {
  create();
  give_rows(kBound, kBound);
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  SECTION("on this rank") {
    give_rows(kBound, kBound + 1);
    REQUIRE(run() == TILEPOST_OK);
    check_ended(1, kBound + 1);
  }
  SECTION("on another rank, which all ranks name") {
    give_rows(kBound + 9, kBound + 1);
    REQUIRE(run() == TILEPOST_OK);
    check_ended(0, kBound + 9);
  }
  SECTION("in a replay of a graph") {
    give_rows(kBound + 9, 0);
    REQUIRE(run_captured() == TILEPOST_OK);
    check_ended(0, kBound + 9);
  }
}

TEST_CASE_METHOD(Tokens, "where all rows that there can be have room, the device looks at none") {
  program.plan.most_rows = program.plan.map.m * kTop;
  create();
  give_rows(100000, 100000);
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}
