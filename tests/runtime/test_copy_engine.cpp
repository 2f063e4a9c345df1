// Transport copy_engine: by hand what one rank puts on the streams, and with ranks as threads that
// every element comes from where it should, in any number and mixture of runs.
#include "tests/catch.h"
#include "tests/runtime/ranks.h"

using Catch::Contains;
using fakes::world;
using order::Order;
using ranks::Ranks;
using sample::count_calls;
using sample::Program;
using sample::Setup;

namespace {

constexpr auto kRead = TILEPOST_ACCESS_READ;

}  // namespace

TEST_CASE("copy_engine: every rank gets what it should, run after run, captured or not") {
  const int count = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 7, 16, 61, 64);
  const auto pattern = GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                                TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM);
  const int stagger = GENERATE(0, 4);
  if (stagger > 0 && pattern == TILEPOST_ALL_GATHER_GEMM) return;
  CAPTURE(count, m, static_cast<int>(pattern), stagger);
  fakes::reset();
  {
    Program program;
    program.plan.map.stagger = stagger;
    ranks::use_shared(program, kRead, pattern, count, m);
    Ranks all(program, count);
    all.create();
    INFO(all.text());
    REQUIRE(all.all_ok());
    all.run_mixed();
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("copy_engine: parts are pulled when they are announced, and added when they are there") {
  const auto pattern = GENERATE(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_REDUCE);
  const bool all = pattern == TILEPOST_GEMM_ALL_REDUCE;
  const bool captured = GENERATE(false, true);
  CAPTURE(all, captured);
  fakes::reset();
  Program program;  // three ranks, 16 rows each, in three groups on two lanes
  ranks::use_shared(program, kRead, pattern, 3, 48);
  const Order order = ranks::order_of_run(program, captured);
  CHECK(order.all_before("shared_begin", "gemm"));
  CHECK(order.all_before("shared_begin", "wait"));
  REQUIRE(order.count("wait") == 3);
  REQUIRE(order.count("sum") == 3);
  REQUIRE(order.count("announce_and_wait") == (all ? 6 : 3));
  REQUIRE(order.count("cudaMemcpyAsync") == (all ? 12 : 6));
  const int announcements = all ? 2 : 1;  // of a group, each with two copies
  for (int g = 0; g < 3; ++g) {
    CAPTURE(g);
    const int announced = announcements * g;
    CHECK(order.before("wait", g, "announce_and_wait", announced));
    for (int copy = 2 * announced; copy < 2 * announced + 2; ++copy) {
      CHECK(order.before("announce_and_wait", announced, "cudaMemcpyAsync", copy));
      CHECK(order.before("cudaMemcpyAsync", copy, "sum", g));
      if (!all) continue;
      CHECK(order.before("sum", g, "announce_and_wait", announced + 1));
      CHECK(order.before("announce_and_wait", announced + 1, "cudaMemcpyAsync", copy + 2));
    }
    // From all peers at once.
    CHECK_FALSE(
        order.before("cudaMemcpyAsync", 2 * announced, "cudaMemcpyAsync", 2 * announced + 1));
  }
  // The lanes overlap.
  CHECK_FALSE(order.before("sum", 0, "announce_and_wait", announcements));
  for (const char* call : {"sum", "cudaMemcpyAsync", "wait"}) {
    CAPTURE(call);
    CHECK(order.all_before(call, "shared_end"));
    CHECK(order.joined(call));
  }
  // Nothing that is captured may be left behind.
  if (captured) CHECK(order.joined("shared_end"));
}

TEST_CASE("copy_engine: copies of an AllGather follow each other, and a post its own") {
  const bool captured = GENERATE(false, true);
  fakes::reset();
  Program program;  // 16 rows each: groups of the own ones, of 4, 4 and 8 of one other, and of 16
  ranks::use_shared(program, kRead, TILEPOST_ALL_GATHER_GEMM, 3, 48);
  const Order order = ranks::order_of_run(program, captured);
  REQUIRE(order.count("post") == 1 + 4);
  REQUIRE(order.count("cudaMemcpyAsync") == 1 + 4 + 1);  // own rows, groups, the caller's memory
  CHECK(order.all_before("shared_begin", "cudaMemcpyAsync"));
  CHECK(order.before("cudaMemcpyAsync", 0, "gemm", 0));
  CHECK(order.count("announce") == 4);
  CHECK(order.count("wait_announced") == 4);
  for (int copy = 1; copy < 5; ++copy) {
    CAPTURE(copy);
    // The others need nothing of each other before their rows are there.
    for (int group = 0; group < 4; ++group)
      CHECK_FALSE(order.before("wait_announced", group, "cudaMemcpyAsync", copy));
    CHECK(order.before("cudaMemcpyAsync", copy, "announce", copy - 1));
    CHECK(order.before("wait_announced", copy - 1, "post", copy));
    CHECK(order.before("cudaMemcpyAsync", copy, "cudaMemcpyAsync", 5));
    if (copy > 1) CHECK(order.before("cudaMemcpyAsync", copy - 1, "cudaMemcpyAsync", copy));
    if (copy > 1) CHECK_FALSE(order.before("post", copy - 1, "cudaMemcpyAsync", copy));
    CHECK(order.before("cudaMemcpyAsync", copy, "shared_end", 0));
  }
  CHECK(order.joined("cudaMemcpyAsync"));
  if (captured) CHECK(order.joined("shared_end"));
}

TEST_CASE(
    "copy_engine: a run that breaks off before it has begun changes nothing, later it ends all") {
  const bool capture = GENERATE(false, true);
  int calls = 0, broken_runs = 0;
  for (int n = 0; n <= calls; ++n) {
    fakes::reset();
    Program program;
    ranks::use_shared(program, kRead, TILEPOST_GEMM_ALL_REDUCE, 2, 16);
    Setup setup;
    // What is captured begins here at once: a capture that breaks off leaves a run begun, which the
    // end waits for.
    REQUIRE(setup.create(program, capture ? 0.1 : 0) == TILEPOST_OK);
    CUstream_st* user = fakes::user_stream("user");
    const tilepost_run_operands_t values = sample::operands();
    fakes::stream_of(user).capturing = capture;
    world().fails_on = std::this_thread::get_id();  // the watchdog calls when it likes
    world().reset_calls();
    world().fail_at = n;
    const auto result = tilepost_op_run_with(setup.op, &values, user);
    if (n == 0) calls = world().calls;
    INFO("call " << n << ": " << world().failed_call << ": " << tilepost_last_error());
    CHECK((result == TILEPOST_OK) == world().failed_call.empty());
    const bool begun =
        count_calls("shared_begin") > 0 && world().failed_call.rfind("shared_begin", 0) != 0;
    const bool broken = result != TILEPOST_OK && begun && !capture;
    broken_runs += broken;
    world().fail_at = 0;
    CHECK(tilepost_op_status(setup.op) == (broken ? result : TILEPOST_OK));
    CHECK(world().aborted_comms == (broken ? 1 : 0));
  }
  CHECK(calls > 30);
  CHECK((broken_runs > 20) == !capture);
}

TEST_CASE("copy_engine: what is shared counts as the operation's memory") {
  fakes::reset();
  Program program;
  ranks::use_shared(program, kRead, TILEPOST_GEMM_REDUCE_SCATTER, 2, 64);
  Setup setup;
  REQUIRE(setup.create(program) == TILEPOST_OK);
  tilepost_op_info_t info{};
  REQUIRE(tilepost_op_get_info(setup.op, &info) == TILEPOST_OK);
  CHECK(info.device_bytes > 2 * 2 * 64 * 24);  // the send buffer, and slots for all of it
  CHECK(info.out_elements == 32 * 24);
}

TEST_CASE("copy_engine: rows go where their route says, and a new route changes that") {
  const int count = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 13, 64);
  const auto routing = GENERATE(TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS);
  CAPTURE(count, m, static_cast<int>(routing));
  fakes::reset();
  {
    Program program;
    ranks::use_shared(program, kRead, TILEPOST_GEMM_ALL_TO_ALL, count, m, routing);
    Ranks all(program, count);
    all.create();
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      all.route(seed);
      all.run(2);
      all.run_captured();
    }
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("copy_engine: any number of rows in any order") {
  const auto pattern = GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                                TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM);
  CAPTURE(static_cast<int>(pattern));
  fakes::reset();
  {
    Program program;
    program.plan.any_m = 1;
    ranks::use_shared(program, kRead, pattern, 3, 61);
    Ranks all(program, 3);
    all.create();
    for (int64_t m = 1; m <= 61; m += 3) all.run(2, m);
    for (int64_t m = 61; m >= 1; m -= 5) all.run(1, m);
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("copy_engine: runs that do not overlap come in between, by NCCL") {
  const auto pattern = GENERATE(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER,
                                TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_ALL_GATHER_GEMM);
  CAPTURE(static_cast<int>(pattern));
  fakes::reset();
  {
    Program program;
    ranks::use_sequence_runs(program);
    ranks::use_shared(program, kRead, pattern, 3, 61);
    Ranks all(program, 3);
    all.create();
    for (int round = 0; round < 4; ++round) {
      all.run(2);
      // What NCCL moves is not moved here, so nothing is compared.
      world().reset_calls();
      all.run_unchecked(2, 5);
      CHECK(world().nccl.size() > 0);
      const bool in_place = pattern == TILEPOST_GEMM_ALL_REDUCE;
      CHECK(count_calls("shared_begin") == (in_place ? 0 : 3 * 2));
      CHECK(count_calls("shared_end") == count_calls("shared_begin"));
    }
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
    all.destroy();
  }
  CHECK(world().live() == 0);
}

TEST_CASE("copy_engine: a consumer reads the rows of an AllReduce where they come together") {
  fakes::reset();
  Program program;
  program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
  ranks::use_shared(program, kRead, TILEPOST_GEMM_ALL_REDUCE, 3, 61);
  Ranks all(program, 3);
  all.create();
  all.run(3);
  INFO(all.text());
  REQUIRE(all.all_ok());
  CHECK(all.normalised() == 3 * 3 * 61 * 24);
  CHECK(all.wrong() == 0);
}

TEST_CASE("copy_engine: two operations at a time have memory of their own") {
  fakes::reset();
  Program program;
  ranks::use_shared(program, kRead, TILEPOST_GEMM_REDUCE_SCATTER, 2, 64);
  Ranks all(program, 2);
  all.create();
  Ranks others(program, 2);
  others.create();
  for (int round = 0; round < 3; ++round) {
    all.run(2);
    others.run(1);
  }
  REQUIRE(all.all_ok());
  REQUIRE(others.all_ok());
  CHECK(all.wrong() + others.wrong() == 0);
}

TEST_CASE("copy_engine: making and destroying leaves nothing") {
  fakes::reset();
  for (int i = 0; i < 30; ++i) {
    Program program;
    ranks::use_shared(program, kRead, TILEPOST_GEMM_ALL_REDUCE, 2, 64);
    {
      Ranks all(program, 2);
      all.create();
      all.run(i % 2);
      REQUIRE(all.all_ok());
      all.destroy();
    }
    REQUIRE(world().live() == 0);
  }
}

TEST_CASE("copy_engine: a rank that does not come is named within the deadline") {
  fakes::reset();
  {
    Program program;
    ranks::use_shared(program, kRead, TILEPOST_GEMM_REDUCE_SCATTER, 3, 64);
    Ranks all(program, 3, 0.2);
    all.create();
    all.run(2);
    REQUIRE(all.all_ok());
    all.run_but(1);
    for (const int rank : {0, 2}) {
      CHECK(all.at(rank).result == TILEPOST_TIMEOUT);
      CHECK_THAT(all.at(rank).text, Contains("run 3") && Contains("rank 1 did not announce"));
    }
    CHECK(all.wrong() == 0);
  }
  // Whoever failed leaves what others may still read.
  CHECK(world().live() > 0);
}
