// Rows of A beside neighbours: the GEMM is launched once for each group, behind the collective that
// brings the group. No GEMM kernel waits.
#include <cstdlib>

#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using Catch::Contains;
using fakes::world;
using sample::count_calls;
using sample::enqueued;
using sample::Lines;
using sample::operands;
using sample::Program;
using sample::Setup;

namespace {

constexpr double kDeadline = 0.2;

// 512 rows of 256 elements on two ranks: first this rank's share, then the other rank's in two
// parts. Each launch has four positions: two tile rows of two columns, or one tile row that is
// padded to a cluster of two.
void use_launches(Program& program) {
  program.plan.neighbours = 1;
  program.use(TILEPOST_ALL_GATHER_GEMM, 2, TILEPOST_DIVISION_ARRIVALS, {0, 1, 2});
}

// The calls of a run from the fork on: the launch for this rank's rows, then the collective, post
// and launch of each group.
Lines launches(const std::string& post, const std::string& before_gemm = "") {
  Lines lines{"cudaStreamWaitEvent own0"};
  if (!before_gemm.empty()) lines.push_back(before_gemm);
  lines.insert(lines.end(), {"gemm user x4 clusters", "post own0 " + post});
  for (int group = 1; group <= 2; ++group)
    lines.insert(lines.end(), {"group_start", "send own0 32768 peer 0", "recv own0 32768 peer 0",
                               "group_end", "post own0 " + post, "cudaEventRecord own0",
                               "cudaStreamWaitEvent user", "gemm user x4 clusters"});
  lines.insert(lines.end(), {"cudaEventRecord own0", "cudaStreamWaitEvent user"});
  return lines;
}

}  // namespace

TEST_CASE_METHOD(Operation,
                 "every launch comes behind the post of its group, and they end the run") {
  use_launches(program);
  create();
  for (int number = 1; number <= 3; ++number) {
    world().reset_calls();
    REQUIRE(run() == TILEPOST_OK);
    Lines expected{"cudaEventRecord user", "cudaEventRecord user"};
    for (const std::string& line : launches(std::to_string(number))) expected.push_back(line);
    expected.push_back("cudaEventRecord user");
    CHECK(enqueued() == expected);
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  }
}

TEST_CASE_METHOD(Operation, "captured launches come behind their posts too") {
  use_launches(program);
  create();
  REQUIRE(run() == TILEPOST_OK);
  for (int round = 0; round < 2; ++round) {
    world().reset_calls();
    REQUIRE(run_captured() == TILEPOST_OK);
    Lines expected{"cudaMemsetAsync user", "cudaEventRecord user"};
    for (const std::string& line : launches("1", "replay_begin own0")) expected.push_back(line);
    for (const char* line : {"replay_end user", "cudaEventRecord user"}) expected.push_back(line);
    CHECK(enqueued() == sample::captured(expected));
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
    REQUIRE(run() == TILEPOST_OK);
  }
}

TEST_CASE_METHOD(Operation,
                 "each launch has the tiles of its group, and all of them each tile once") {
  use_launches(program);
  create();
  std::vector<tilepost_view_t> views;
  REQUIRE(run() == TILEPOST_OK);  // only the view of its last launch is kept
  views.push_back(world().view);
  world().on_gemm = [&] { views.push_back(world().view); };  // the view of the launch before
  REQUIRE(run() == TILEPOST_OK);
  views.push_back(world().view);
  REQUIRE(views.size() == 5);
  const tilepost_tile_t* const first = views[2].tiles;
  for (int group = 0; group < 3; ++group) {
    const tilepost_group_t& planned = program.map.groups[group];
    CHECK(views[2 + group].tiles ==
          first + (planned.first_tile - program.map.groups[0].first_tile));
    CHECK(views[2 + group].num_tiles == planned.num_tiles);
  }
  CHECK(views[0].tiles == views[4].tiles);
}

TEST_CASE_METHOD(Operation, "a group without tiles is brought and not launched") {
  // 100 rows are one tile row. It waits for the last of the other rank's 50 rows, so the group of
  // this rank's own rows has no tile.
  program.plan.any_m = 1;
  use_launches(program);
  create();
  REQUIRE(run(100) == TILEPOST_OK);
  world().reset_calls();
  REQUIRE(run(100) == TILEPOST_OK);
  CHECK(count_calls("gemm") == 1);
  CHECK(count_calls("post") > 1);
}

TEST_CASE_METHOD(Operation, "a number of rows that is new is gathered once: no GEMM waits for it") {
  program.plan.any_m = 1;
  use_launches(program);
  create();
  world().reset_calls();
  REQUIRE(run(300) == TILEPOST_OK);
  const int sends = count_calls("send");
  world().reset_calls();
  REQUIRE(run(300) == TILEPOST_OK);
  CHECK(count_calls("send") == sends);
}

TEST_CASE_METHOD(Operation, "runs of few rows gather first, and launch once") {
  program.use_any_m();
  use_launches(program);
  create();
  for (int round = 0; round < 3; ++round) {
    world().reset_calls();
    REQUIRE(run(100) == TILEPOST_OK);
    CHECK(count_calls("post") == 0);
    CHECK(count_calls("gemm") == 1);
    world().reset_calls();
    REQUIRE(run(512) == TILEPOST_OK);
    CHECK(count_calls("post") == 3);
    CHECK(count_calls("gemm") == 3);
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  }
}

TEST_CASE_METHOD(Operation, "the caller's memory for all rows is filled before the run ends") {
  program.use_sm80();
  use_launches(program);
  create();
  tilepost_run_operands_t values = operands();
  run_logged(values);
  REQUIRE(world().copies.size() == 1);  // this rank's rows, copied to where all rows come together
  values.gathered = reinterpret_cast<void*>(0x4000000 * 9);
  run_logged(values);
  CHECK(world().a == values.gathered);
}

TEST_CASE_METHOD(Operation,
                 "a rank that does not arrive: the launch behind it goes out in the end") {
  use_launches(program);
  create(kDeadline);
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK(std::string(tilepost_last_error()) ==
        "rank 1: run 1: group 2 of 3 not finished after 0.2 s: its rows have not arrived: the "
        "AllGather did not finish: a rank did not arrive");
  CHECK_FALSE(fakes::stream_of(user).hang.holds());
  CHECK(run() == TILEPOST_ABORTED);
}

TEST_CASE_METHOD(Operation, "launches may block: nothing that they wait for comes behind them") {
  use_launches(program);
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  CHECK(setup.create(program) == TILEPOST_OK);
  unsetenv("CUDA_LAUNCH_BLOCKING");
}

TEST_CASE("a run that breaks off between its launches ends the operation") {
  int broken = 0;
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    use_launches(op.program);
    op.create();
    failing.attempt([&] { return op.run(); });
    INFO(failing.what());
    CHECK_FALSE(fakes::stream_of(op.user).hang.holds());
    broken += world().aborted_comms;
    CHECK(world().groups_begun == world().groups_ended);
  });
  CHECK(broken > 8);
}
