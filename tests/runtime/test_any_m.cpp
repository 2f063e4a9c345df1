// Runs whose number of rows is known only at run time: what changes with the number, what is kept,
// and what is refused.
#include <chrono>
#include <thread>

#include "runtime/cuda/op/device_map.h"
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

// At most 512 rows. Runs with few rows are not worth overlapping.
void use_any_m(Program& program) {
  program.plan.any_m = 1;
  tilepost_model_t& model = program.plan.model;
  model.start = 5;
  model.wave = 100;
  model.latency = 5;
  model.per_byte = 0.001;
  model.sequence_wave = 99;
  model.sequence_latency = 5;
  model.sequence_per_byte = 0.001;
  model.sequence_ctas = 132;
}

// The targets of the waits in the log: 24 for "wait own0 24".
std::vector<uint32_t> targets() {
  std::vector<uint32_t> values;
  for (const std::string& line : world().log)
    if (line.rfind("wait ", 0) == 0)
      values.push_back(static_cast<uint32_t>(std::stoul(line.substr(line.rfind(' ')))));
  return values;
}

}  // namespace

TEST_CASE_METHOD(Operation, "a run has its own shape, grid, maps and collectives") {
  program.plan.any_m = 1;
  create();
  world().reset_calls();
  world().maps.clear();
  REQUIRE(run(200) == TILEPOST_OK);
  CHECK(world().shape.m == 200);
  CHECK(world().view.num_tiles == 4);
  CHECK_THAT(world().maps[0], Contains("256x200 box"));
  CHECK_THAT(world().maps[2], Contains("256x200 box"));
  REQUIRE(run(300) == TILEPOST_OK);  // with the same pointers
  REQUIRE(world().maps.size() == 6);
  CHECK_THAT(world().maps[3], Contains("256x300 box"));
  REQUIRE(run(200) == TILEPOST_OK);
  CHECK(world().maps.size() == 6);
  world().reset_calls();
  REQUIRE(run(200) == TILEPOST_OK);
  int64_t elements = 0;
  for (const fakes::NcclCall& call : world().nccl) elements += static_cast<int64_t>(call.count);
  CHECK(elements == 200 * 256);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "a run's targets are what runs before it have added, and its own") {
  program.plan.any_m = 1;  // there is no model, so every run overlaps
  create();
  const auto targets_of = [&](int64_t m) {
    world().reset_calls();
    REQUIRE(run(m) == TILEPOST_OK);
    return targets();
  };
  using Targets = std::vector<uint32_t>;
  CHECK(targets_of(TILEPOST_PLANNED_M) == Targets{8, 8});
  CHECK(targets_of(128) == Targets{8 + 8});  // one row of clusters: two positions of two columns
  CHECK(targets_of(512) == Targets{16 + 8, 8 + 8});
  CHECK(targets_of(1) == Targets{24 + 8});
  CHECK(targets_of(512) == Targets{32 + 8, 16 + 8});
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation,
                 "a run that is not worth overlapping has no waits, and its counters count") {
  use_any_m(program);
  create();
  world().reset_calls();
  REQUIRE(run(100) == TILEPOST_OK);
  CHECK(enqueued() == Lines{"cudaEventRecord user", "gemm user x4 clusters", "allreduce user 25600",
                            "cudaEventRecord user"});
  world().reset_calls();
  REQUIRE(run(512) == TILEPOST_OK);
  CHECK(targets() == std::vector<uint32_t>{16, 8});
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "the second run with a number of rows makes nothing") {
  program.plan.any_m = 1;
  if (GENERATE(false, true)) program.use_tiles(TILEPOST_CONSUMER_UNPERMUTE);
  create();
  for (const int64_t m : {1, 100, 300, 511, 512}) REQUIRE(run(m) == TILEPOST_OK);
  const int live = world().live();
  world().reset_calls();
  for (const int64_t m : {512, 511, 1, 300, 100, TILEPOST_PLANNED_M, 511})
    REQUIRE(run(m) == TILEPOST_OK);
  CHECK(world().live() == live);
  for (const char* call : {"cudaMalloc", "cudaHostAlloc", "cudaMemcpy", "cudaStreamSynchronize"})
    CHECK(count_calls(call) == 0);
}

TEST_CASE_METHOD(Operation, "no run allocates, whatever its number of rows") {
  program.plan.any_m = 1;
  create();
  world().reset_calls();
  for (int m = 1; m <= 511; ++m) REQUIRE(run(m) == TILEPOST_OK);
  for (const char* call : {"cudaMalloc", "cudaHostAlloc", "cudaFree"})
    CHECK(count_calls(call) == 0);
}

TEST_CASE_METHOD(Operation, "tables are bounded: what was used longest ago makes room") {
  program.plan.any_m = 1;
  const bool by_bytes = GENERATE(false, true);
  // Up to 128, 256, 384 and 512 rows make 2, 4, 6 and 8 tiles. Each tile takes 16 bytes in one
  // table and 4 bytes in another.
  const int64_t bytes = by_bytes ? 8 << 10 : 0;
  create_with(bytes);
  CHECK(info().device_bytes < (by_bytes ? 24 << 10 : 1 << 20));
  for (int m = 1; m <= 511; ++m) REQUIRE(run(m) == TILEPOST_OK);
  const auto uploads = [&](int64_t m) {
    world().reset_calls();
    REQUIRE(run(m) == TILEPOST_OK);
    return count_calls("cudaMemcpyAsync");
  };
  CHECK(uploads(512) == 0);
  CHECK(uploads(511) == 0);
  CHECK(uploads(by_bytes ? 495 : 260) == 0);
  CHECK(uploads(1) == 1);
  CHECK(uploads(1) == 0);
}

TEST_CASE_METHOD(Operation, "tables of runs in flight make no room before these have ended") {
  program.plan.any_m = 1;
  create_with(1);  // room for the largest number of rows, which is enough for three of these
  fakes::stream_of(user).hang = {true, {}};
  for (const int64_t m : {500, 400, 300}) REQUIRE(run(m) == TILEPOST_OK);
  std::thread device([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    fakes::release_all();
  });
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(run(450) == TILEPOST_OK);
  CHECK(std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(45));
  device.join();
}

TEST_CASE_METHOD(Operation, "tables that graphs hold make no room, and that is said") {
  program.plan.any_m = 1;
  create_with(1);
  for (const int64_t m : {500, 400, 300}) {
    REQUIRE(run(m) == TILEPOST_OK);
    REQUIRE(run_captured(m) == TILEPOST_OK);
  }
  CHECK(run(450) == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(),
             Contains("the tables of 450 rows") && Contains("tilepost_options_t::schedule_bytes"));
  CHECK(run(500) == TILEPOST_OK);
  CHECK(run(512) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "a new number of rows is not captured, a known one is kept") {
  program.plan.any_m = 1;
  create();
  const auto capture = [&](int64_t m) {
    world().reset_calls();
    return run_captured(m);
  };
  CHECK(capture(100) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("the first run with 100 rows") &&
                                        Contains("run once with it outside of the capture"));
  CHECK(enqueued().empty());
  REQUIRE(run(100) == TILEPOST_OK);
  CHECK(capture(100) == TILEPOST_OK);
  CHECK(capture(512) == TILEPOST_OK);
  CHECK(targets() == std::vector<uint32_t>{8, 8});  // counters start from zero in a replay
  for (int m = 101; m <= 511; ++m) REQUIRE(run(m) == TILEPOST_OK);
  CHECK(capture(100) == TILEPOST_OK);
  CHECK(capture(102) == TILEPOST_INVALID_ARGUMENT);  // the table of 102 rows was dropped for others
}

TEST_CASE_METHOD(Operation, "more captured numbers of rows than tables are refused") {
  program.plan.any_m = 1;
  create();
  const int most = static_cast<int>(tilepost::cuda::DeviceMaps::kMostKept);
  for (int m = 1; m <= most; ++m) {
    REQUIRE(run(m) == TILEPOST_OK);
    REQUIRE(run_captured(m) == TILEPOST_OK);
  }
  // Eager runs with other numbers still work, even with more of them than may be in flight.
  for (int m = most + 1; m <= most + 40; ++m) REQUIRE(run(m) == TILEPOST_OK);
  CHECK(run_captured(most + 40) == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(),
             Contains("222 numbers of rows") && Contains("second operation"));
  CHECK(run(7) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "a number of rows out of bounds is refused") {
  const bool any = GENERATE(false, true);
  program.plan.any_m = any ? 1 : 0;
  create();
  for (const int64_t m : {int64_t{-2}, int64_t{513}, int64_t{1} << 40}) {
    CHECK(run(m) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("512") && Contains(std::to_string(m)));
  }
  CHECK(run(100) == (any ? TILEPOST_OK : TILEPOST_INVALID_ARGUMENT));
  CHECK(run(512) == TILEPOST_OK);
}

TEST_CASE("every call of a first run can fail, and the next one goes on") {
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    op.program.plan.any_m = 1;
    op.create();
    failing.attempt([&] { return op.run(300); });
    INFO(failing.what());
    if (world().aborted_comms == 0) CHECK(op.run(300) == TILEPOST_OK);
  });
  CHECK(failing.calls() > 15);
}
