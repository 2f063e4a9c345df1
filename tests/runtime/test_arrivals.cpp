// all_gather_gemm: the GEMM goes out first and waits for rows that the communication stream brings
// and posts.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/catch.h"
#include "tests/runtime/sample.h"

using Catch::Contains;
using fakes::world;
using sample::count_calls;
using sample::enqueued;
using sample::Lines;
using sample::operands;
using sample::Program;
using sample::run;
using sample::Setup;

namespace {

constexpr double kDeadline = 0.2;

// 512 rows of 256 on two ranks: the own share, then the other one in two parts.
void use_arrivals(Program& program) {
  program.use(TILEPOST_ALL_GATHER_GEMM, 2, TILEPOST_DIVISION_ARRIVALS, {0, 1, 2});
}

// The calls of a run's gathering, and of its posts with `value`.
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

TEST_CASE(
    "the GEMM goes out first, every group's steps are followed by a post, and it ends the run") {
  fakes::reset();
  Program program;
  use_arrivals(program);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  for (int number = 1; number <= 3; ++number) {
    world().reset_calls();
    REQUIRE(run(setup, user) == TILEPOST_OK);
    CHECK(enqueued() == whole_run(std::to_string(number)));
    CHECK(world().view.ready == static_cast<uint32_t>(number));
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  }
}

TEST_CASE(
    "own rows are copied unless they lie in place already, and the GEMM reads what is gathered") {
  fakes::reset();
  Program program;
  program.use_sm80();
  use_arrivals(program);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  tilepost_run_operands_t values = operands();
  const auto run_with = [&] {
    world().reset_calls();
    REQUIRE(tilepost_op_run_with(setup.op, &values, fakes::user_stream("user")) == TILEPOST_OK);
  };
  run_with();
  REQUIRE(world().copies.size() == 1);  // rank 1's rows follow rank 0's
  CHECK(world().copies[0].to == static_cast<const char*>(world().a) + 256 * 256 * 2);
  CHECK(world().copies[0].bytes == 256 * 256 * 2);
  values.gathered = reinterpret_cast<void*>(0x4000000 * 9);
  run_with();
  CHECK(world().a == values.gathered);
  CHECK(world().copies.size() == 1);
  values.a = static_cast<char*>(values.gathered) + 256 * 256 * 2;
  run_with();
  CHECK(world().copies.empty());
}

TEST_CASE("the plan's lanes do not change the order of arrivals") {
  fakes::reset();
  Program program;
  program.plan.comm_lanes = 2;
  use_arrivals(program);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  world().reset_calls();
  REQUIRE(run(setup, fakes::user_stream("user")) == TILEPOST_OK);
  for (const fakes::NcclCall& call : world().nccl) CHECK(call.comm == world().nccl[0].comm);
  CHECK(enqueued() == whole_run("1"));
}

TEST_CASE("without overlap the rows come first") {
  fakes::reset();
  Program program;
  program.use(TILEPOST_ALL_GATHER_GEMM, 2, TILEPOST_DIVISION_ROWS, {4});
  program.use_sequence(4);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  world().reset_calls();
  REQUIRE(run(setup, fakes::user_stream("user")) == TILEPOST_OK);
  CHECK(enqueued() == Lines{"cudaEventRecord user", "allgather user 65536", "gemm user x8 clusters",
                            "cudaEventRecord user"});
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE("where launches block, a GEMM that waits for what follows it is refused") {
  fakes::reset();
  Program program;
  use_arrivals(program);
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  {
    Setup setup;
    CHECK(setup.create(program) == TILEPOST_UNSUPPORTED);
    CHECK_THAT(tilepost_last_error(), Contains("CUDA_LAUNCH_BLOCKING is '1'") && Contains("unset"));
  }
  {
    Program other;
    Setup setup;
    CHECK(setup.create(other) == TILEPOST_OK);
  }
  setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
  Setup setup;
  use_arrivals(program);
  CHECK(setup.create(program) == TILEPOST_OK);
  unsetenv("CUDA_LAUNCH_BLOCKING");
}

TEST_CASE("captured arrivals start from zero and wait for one") {
  fakes::reset();
  Program program;
  use_arrivals(program);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  REQUIRE(run(setup, user) == TILEPOST_OK);
  REQUIRE(run(setup, user) == TILEPOST_OK);
  for (int round = 0; round < 2; ++round) {
    world().reset_calls();
    fakes::stream_of(user).capturing = true;
    REQUIRE(run(setup, user) == TILEPOST_OK);
    fakes::stream_of(user).capturing = false;
    for (fakes::Stream* stream : world().streams) stream->capturing = false;
    CHECK(world().view.ready == 1);
    Lines expected{"cudaMemsetAsync user", "cudaEventRecord user", "cudaStreamWaitEvent own0",
                   "replay_begin own0", "gemm user x8 clusters"};
    for (const std::string& line : gathering("own0", "1")) expected.push_back(line);
    for (const char* line : {"cudaEventRecord own0", "cudaStreamWaitEvent user", "replay_end user",
                             "cudaEventRecord user"})
      expected.push_back(line);
    CHECK(enqueued() == expected);
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
    REQUIRE(run(setup, user) == TILEPOST_OK);
  }
}

TEST_CASE("the first run with a number of rows gathers once before its GEMM waits") {
  fakes::reset();
  Program program;
  program.plan.any_m = 1;
  use_arrivals(program);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  const auto enqueued_before_gemm = [&](int64_t m) {
    world().reset_calls();
    REQUIRE(run(setup, user, m) == TILEPOST_OK);
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
    size_t moved = 0;
    for (const std::string& line : world().log) {
      if (line.rfind("gemm", 0) == 0) break;
      moved += line.rfind("send", 0) == 0 || line.rfind("allgather", 0) == 0;
    }
    return moved;
  };
  CHECK(enqueued_before_gemm(512) == 0);  // creating has done it
  CHECK(enqueued_before_gemm(300) > 0);
  CHECK(enqueued_before_gemm(300) == 0);
}

TEST_CASE("the first gathering of a number of rows is inside the deadline") {
  fakes::reset();
  Program program;
  program.plan.any_m = 1;
  use_arrivals(program);
  Setup setup;
  REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
  world().collectives_hang = true;
  REQUIRE(run(setup, fakes::user_stream("user"), 300) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
}

TEST_CASE("creating runs what two ranks send each other for every group, whatever a rank's share") {
  // 510 rows on 4 ranks: shares of 128 but for the last one's 126.
  size_t groups[4] = {};
  for (int rank = 0; rank < 4; ++rank) {
    fakes::reset();
    Program program;
    program.plan.map.m = 510;
    program.plan.map.tile_m = 64;
    program.use(TILEPOST_ALL_GATHER_GEMM, 4, TILEPOST_DIVISION_ARRIVALS, {0, 1, 2});
    Setup setup;
    REQUIRE(setup.create(program, 0, rank) == TILEPOST_OK);
    groups[rank] = count_calls("group_start");
  }
  CHECK(groups[0] == 2);
  for (int rank = 1; rank < 4; ++rank) CHECK(groups[rank] == groups[0]);
}

TEST_CASE("a that overlaps gathered anywhere but at its own rows is refused") {
  fakes::reset();
  Program program;
  use_arrivals(program);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  tilepost_run_operands_t values = operands();
  char* const all = static_cast<char*>(const_cast<void*>(values.a));
  const auto run_at = [&](const void* a) {
    values.a = a;
    values.gathered = all;
    return tilepost_op_run_with(setup.op, &values, user);
  };
  constexpr int64_t kShareBytes = int64_t{256} * 256 * 2;
  CHECK(run_at(all + kShareBytes) == TILEPOST_OK);  // rank 1's rows
  CHECK(run_at(all) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("a overlaps gathered") && Contains("row 256"));
  CHECK(run_at(all + kShareBytes + 512) == TILEPOST_INVALID_ARGUMENT);
  CHECK(run_at(all + 2 * kShareBytes) == TILEPOST_OK);
}

TEST_CASE("runs without overlap find their input ready") {
  fakes::reset();
  Program program;
  program.plan.any_m = 1;
  tilepost_model_t& model = program.plan.model;
  model.wave = model.sequence_wave = 10;
  model.latency = 100;
  model.sequence_ctas = 132;
  use_arrivals(program);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  for (int round = 0; round < 3; ++round) {
    world().reset_calls();
    REQUIRE(run(setup, user, 100) == TILEPOST_OK);
    CHECK(count_calls("post") == 0);
    CHECK(world().nccl[0].stream == "user");
    CHECK_FALSE(fakes::stream_of(user).hang.holds());
    CHECK(world().view.ready == static_cast<uint32_t>(round));
    world().reset_calls();
    REQUIRE(run(setup, user, 512) == TILEPOST_OK);
    CHECK(count_calls("post") == 3);
    CHECK(world().view.ready == static_cast<uint32_t>(round) + 1);
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  }
}

TEST_CASE("a rank that does not arrive: the GEMM is let go and the text says so") {
  fakes::reset();
  Program program;
  use_arrivals(program);
  {
    Setup setup;
    REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
    CUstream_st* user = fakes::user_stream("user");
    REQUIRE(run(setup, user) == TILEPOST_OK);
    REQUIRE(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
    world().collectives_hang = true;
    REQUIRE(run(setup, user) == TILEPOST_OK);
    CHECK(fakes::stream_of(user).hang.holds());
    CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
    CHECK(std::string(tilepost_last_error()) ==
          "rank 1: run 2: group 2 of 3 not finished after 0.2 s: its rows have not arrived: the "
          "AllGather did not finish: a rank did not arrive");
    CHECK_FALSE(fakes::stream_of(user).hang.holds());
    CHECK(run(setup, user) == TILEPOST_ABORTED);
  }
  CHECK(world().live() == 0);
}

TEST_CASE("a GEMM that has stopped is told from rows that did not arrive") {
  fakes::reset();
  Program program;
  use_arrivals(program);
  Setup setup;
  REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
  CUstream_st* user = fakes::user_stream("user");
  world().gemm_stops = true;
  REQUIRE(run(setup, user) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK_THAT(
      tilepost_last_error(),
      Contains("rank 1: run 1: all groups not finished after 0.2 s: their rows have arrived, "
               "but the GEMM has stopped"));
}

TEST_CASE("a GEMM that goes out while the runs are being ended is let go too") {
  fakes::reset();
  Program program;
  use_arrivals(program);
  Setup setup;
  REQUIRE(setup.create(program, kDeadline) == TILEPOST_OK);
  CUstream_st *first = fakes::user_stream("first"), *second = fakes::user_stream("second");
  world().collectives_hang = true;
  REQUIRE(run(setup, first) == TILEPOST_OK);
  // The watchdog ends the first run, and knows nothing of the second as yet.
  world().on_gemm = [] {
    const auto aborted = [] {
      const std::lock_guard lock(world().mutex);
      return world().aborted_comms > 0;
    };
    while (!aborted()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  CHECK(run(setup, second) == TILEPOST_TIMEOUT);
  CHECK(world().view.ready == 2);
  CHECK_FALSE(fakes::stream_of(second).hang.holds());
}

TEST_CASE("a run that breaks off after its GEMM lets it go") {
  int calls = 0, broken = 0;
  for (int n = 0; n <= calls; ++n) {
    fakes::reset();
    {
      Program program;
      use_arrivals(program);
      Setup setup;
      REQUIRE(setup.create(program) == TILEPOST_OK);
      CUstream_st* user = fakes::user_stream("user");
      world().reset_calls();
      world().fail_at = n;
      const auto result = run(setup, user);
      if (n == 0) calls = world().calls;
      INFO("call " << n << ": " << world().failed_call << ": " << tilepost_last_error());
      CHECK((result == TILEPOST_OK) == world().failed_call.empty());
      CHECK_FALSE(fakes::stream_of(user).hang.holds());
      broken += world().aborted_comms;
      CHECK(world().groups_begun == world().groups_ended);
    }
    REQUIRE(world().live() == 0);
  }
  CHECK(broken > 8);
}
