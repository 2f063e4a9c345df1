// all_gather_gemm: the GEMM is launched first. It waits for rows that the communication stream
// brings and posts.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using Catch::Contains;
using fakes::world;
using sample::count_calls;
using sample::enqueued;
using sample::Lines;
using sample::operands;
using sample::Program;
using sample::run_on;
using sample::Setup;

namespace {

constexpr double kDeadline = 0.2;

// 512 rows of 256 elements on two ranks: first this rank's share, then the other rank's in two
// parts.
void use_arrivals(Program& program) {
  program.use(TILEPOST_ALL_GATHER_GEMM, 2, TILEPOST_DIVISION_ARRIVALS, {0, 1, 2});
}

// The calls that gather the rows of a run, with posts of `value`.
Lines gathering(const std::string& stream, const std::string& value) {
  const Lines part{"group_start", "send " + stream + " 32768 peer 0",
                   "recv " + stream + " 32768 peer 0", "group_end"};
  Lines lines;
  const auto post = [&] {
    if (!value.empty()) lines.push_back("post " + stream + " " + value);
  };
  post();
  for (int g = 0; g < 2; ++g) {
    lines.insert(lines.end(), part.begin(), part.end());
    post();
  }
  return lines;
}

Lines whole_run(const std::string& value) {
  Lines lines{"cudaEventRecord user", "cudaEventRecord user", "cudaStreamWaitEvent own0",
              "gemm user x8 clusters"};
  for (const std::string& line : gathering("own0", value)) lines.push_back(line);
  for (const char* line :
       {"cudaEventRecord own0", "cudaStreamWaitEvent user", "cudaEventRecord user"})
    lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE_METHOD(
    Operation,
    "the GEMM goes out first, every group's steps are followed by a post, and it ends the run") {
  use_arrivals(program);
  create();
  for (int number = 1; number <= 3; ++number) {
    world().reset_calls();
    REQUIRE(run() == TILEPOST_OK);
    CHECK(enqueued() == whole_run(std::to_string(number)));
    CHECK(world().view.ready == static_cast<uint32_t>(number));
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  }
}

TEST_CASE_METHOD(
    Operation,
    "own rows are copied unless they lie in place already, and the GEMM reads what is gathered") {
  program.use_sm80();
  use_arrivals(program);
  create();
  tilepost_run_operands_t values = operands();
  run_logged(values);
  REQUIRE(world().copies.size() == 1);  // rank 1's rows come behind rank 0's
  CHECK(world().copies[0].to == static_cast<const char*>(world().a) + 256 * 256 * 2);
  CHECK(world().copies[0].bytes == 256 * 256 * 2);
  values.gathered = reinterpret_cast<void*>(0x4000000 * 9);
  run_logged(values);
  CHECK(world().a == values.gathered);
  CHECK(world().copies.size() == 1);
  values.a = static_cast<char*>(values.gathered) + 256 * 256 * 2;
  run_logged(values);
  CHECK(world().copies.empty());
}

TEST_CASE_METHOD(Operation, "the plan's lanes do not change the order of arrivals") {
  program.plan.comm_lanes = 2;
  use_arrivals(program);
  create();
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  for (const fakes::NcclCall& call : world().nccl) CHECK(call.comm == world().nccl[0].comm);
  CHECK(enqueued() == whole_run("1"));
}

TEST_CASE_METHOD(Operation, "without overlap the rows come first") {
  program.use(TILEPOST_ALL_GATHER_GEMM, 2, TILEPOST_DIVISION_ROWS, {4});
  program.use_sequence(4);
  create();
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(enqueued() == Lines{"cudaEventRecord user", "allgather user 65536", "gemm user x8 clusters",
                            "cudaEventRecord user"});
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation,
                 "where launches block, a GEMM that waits for what follows it is refused") {
  use_arrivals(program);
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  {
    Setup refused;
    CHECK(refused.create(program) == TILEPOST_UNSUPPORTED);
    CHECK_THAT(tilepost_last_error(), Contains("CUDA_LAUNCH_BLOCKING is '1'") && Contains("unset"));
  }
  {
    Program other;
    Setup unaffected;
    CHECK(unaffected.create(other) == TILEPOST_OK);
  }
  setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
  use_arrivals(program);
  CHECK(setup.create(program) == TILEPOST_OK);
  unsetenv("CUDA_LAUNCH_BLOCKING");
}

TEST_CASE_METHOD(Operation, "captured arrivals start from zero and wait for one") {
  use_arrivals(program);
  create();
  REQUIRE(run() == TILEPOST_OK);
  REQUIRE(run() == TILEPOST_OK);
  for (int round = 0; round < 2; ++round) {
    world().reset_calls();
    REQUIRE(run_captured() == TILEPOST_OK);
    CHECK(world().view.ready == 1);
    Lines expected{"cudaMemsetAsync user", "cudaEventRecord user", "cudaStreamWaitEvent own0",
                   "replay_begin own0", "gemm user x8 clusters"};
    for (const std::string& line : gathering("own0", "1")) expected.push_back(line);
    for (const char* line : {"cudaEventRecord own0", "cudaStreamWaitEvent user", "replay_end user",
                             "cudaEventRecord user"})
      expected.push_back(line);
    CHECK(enqueued() == sample::captured(expected));
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
    REQUIRE(run() == TILEPOST_OK);
  }
}

TEST_CASE_METHOD(Operation,
                 "the first run with a number of rows gathers once before its GEMM waits") {
  program.plan.any_m = 1;
  use_arrivals(program);
  create();
  const auto enqueued_before_gemm = [&](int64_t m) {
    world().reset_calls();
    REQUIRE(run(m) == TILEPOST_OK);
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
    size_t moved = 0;
    for (const std::string& line : world().log) {
      if (line.rfind("gemm", 0) == 0) break;
      moved += line.rfind("send", 0) == 0 || line.rfind("allgather", 0) == 0;
    }
    return moved;
  };
  CHECK(enqueued_before_gemm(512) == 0);  // because create() has run it
  CHECK(enqueued_before_gemm(300) > 0);
  CHECK(enqueued_before_gemm(300) == 0);
}

TEST_CASE_METHOD(Operation, "the first gathering of a number of rows is inside the deadline") {
  program.plan.any_m = 1;
  use_arrivals(program);
  create(kDeadline);
  world().collectives_hang = true;
  REQUIRE(run(300) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
}

TEST_CASE("creating runs what two ranks send each other for every group, whatever a rank's share") {
  // 510 rows on 4 ranks: shares of 128 rows, and 126 on the last rank.
  size_t groups[4] = {};
  for (int rank = 0; rank < 4; ++rank) {
    Operation op;
    op.program.plan.map.m = 510;
    op.program.plan.map.tile_m = 64;
    op.program.use(TILEPOST_ALL_GATHER_GEMM, 4, TILEPOST_DIVISION_ARRIVALS, {0, 1, 2});
    op.create(0, rank);
    groups[rank] = count_calls("group_start");
  }
  CHECK(groups[0] == 2);
  for (int rank = 1; rank < 4; ++rank) CHECK(groups[rank] == groups[0]);
}

TEST_CASE_METHOD(Operation, "a that overlaps gathered anywhere but at its own rows is refused") {
  use_arrivals(program);
  create();
  tilepost_run_operands_t values = operands();
  char* const all = static_cast<char*>(const_cast<void*>(values.a));
  const auto run_at = [&](const void* a) {
    values.a = a;
    values.gathered = all;
    return run_with(values);
  };
  constexpr int64_t kShareBytes = int64_t{256} * 256 * 2;
  CHECK(run_at(all + kShareBytes) == TILEPOST_OK);  // where rank 1's rows belong
  CHECK(run_at(all) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("a overlaps gathered") && Contains("row 256"));
  CHECK(run_at(all + kShareBytes + 512) == TILEPOST_INVALID_ARGUMENT);
  CHECK(run_at(all + 2 * kShareBytes) == TILEPOST_OK);
  values.gathered = values.out;
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("overlaps gathered at") && Contains("writes too"));
}

TEST_CASE_METHOD(Operation, "runs without overlap find their input ready") {
  program.use_any_m();
  use_arrivals(program);
  create();
  for (int round = 0; round < 3; ++round) {
    world().reset_calls();
    REQUIRE(run(100) == TILEPOST_OK);
    CHECK(count_calls("post") == 0);
    CHECK(world().nccl[0].stream == "user");
    CHECK_FALSE(fakes::stream_of(user).hang.holds());
    CHECK(world().view.ready == static_cast<uint32_t>(round));
    world().reset_calls();
    REQUIRE(run(512) == TILEPOST_OK);
    CHECK(count_calls("post") == 3);
    CHECK(world().view.ready == static_cast<uint32_t>(round) + 1);
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  }
}

// Numbers of runs are compared by signed distance. A counter that stays behind by 2^31 runs would
// seem to be ahead. So each run also posts for groups that it does not have.
TEST_CASE_METHOD(Operation, "a run posts for groups, too, that it does not have") {
  program.plan.any_m = 1;
  use_arrivals(program);
  create();
  for (const uint32_t number : {1u, 2u, 3u}) {
    const bool all = number == 2;
    world().reset_calls();
    REQUIRE(run(all ? 512 : 256) == TILEPOST_OK);
    CHECK(count_calls("post") == (all ? 3 : 2));
    for (int group = 0; group < 3; ++group)
      CHECK(world().view.counters[group * TILEPOST_COUNTER_STRIDE] == number);
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  }
}

TEST_CASE_METHOD(Operation,
                 "a rank that does not arrive: the GEMM is let go and the text says so") {
  use_arrivals(program);
  create(kDeadline);
  REQUIRE(run() == TILEPOST_OK);
  REQUIRE(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  world().collectives_hang = true;
  REQUIRE(run() == TILEPOST_OK);
  CHECK(fakes::stream_of(user).hang.holds());
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK(std::string(tilepost_last_error()) ==
        "rank 1: run 2: group 2 of 3 not finished after 0.2 s: its rows have not arrived: the "
        "AllGather did not finish: a rank did not arrive; if another communicator's collective "
        "runs beside it, plan with 'neighbours: true'");
  CHECK_FALSE(fakes::stream_of(user).hang.holds());
  CHECK(run() == TILEPOST_ABORTED);
}

TEST_CASE_METHOD(Operation, "a GEMM that has stopped is told from rows that did not arrive") {
  use_arrivals(program);
  create(kDeadline);
  world().gemm_stops = true;
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK_THAT(
      tilepost_last_error(),
      Contains("rank 1: run 1: all groups not finished after 0.2 s: their rows have arrived, "
               "but the GEMM has stopped"));
}

TEST_CASE_METHOD(Operation, "a GEMM that goes out while the runs are being ended is let go too") {
  use_arrivals(program);
  create(kDeadline);
  CUstream_st *first = fakes::user_stream("first"), *second = fakes::user_stream("second");
  world().collectives_hang = true;
  REQUIRE(run_on(setup, first) == TILEPOST_OK);
  // The watchdog ends the first run, while it does not know the second one yet.
  world().on_gemm = [] {
    const auto aborted = [] {
      const std::lock_guard lock(world().mutex);
      return world().aborted_comms > 0;
    };
    while (!aborted()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  CHECK(run_on(setup, second) == TILEPOST_TIMEOUT);
  CHECK(world().view.ready == 2);
  CHECK_FALSE(fakes::stream_of(second).hang.holds());
}

TEST_CASE("a run that breaks off after its GEMM lets it go") {
  int broken = 0;
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    use_arrivals(op.program);
    op.create();
    failing.attempt([&] { return op.run(); });
    INFO(failing.what());
    CHECK_FALSE(fakes::stream_of(op.user).hang.holds());
    broken += world().aborted_comms;
    CHECK(world().groups_begun == world().groups_ended);
  });
  CHECK(broken > 8);
}
