// Operations whose kernels store tiles at the owners and are whole runs: what is launched, what
// other runs in the same memory find there, and who announces that a run has ended. Their results
// and errors are in test_shared_runs.cpp, test_shared_failures.cpp and test_common_run.cpp.
#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/one_kernel.h"
#include "tests/runtime/shared_team.h"
#include "tests/runtime/team.h"

using fakes::world;
using ranks::Ranks;
using ranks::whole;
using sample::count_calls;
using sample::Program;

TEST_CASE_METHOD(Team, "whole runs: an eager run is one kernel on the caller's stream") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll, kAllGather, kAllToAllGemm);
  CAPTURE(static_cast<int>(pattern));
  ranks::use(program, whole(pattern), 2, 61);
  Ranks& all = create(2);
  world().reset_calls();
  all.run(1);
  check();
  ranks::check_eager_run();
  CHECK(world().early_launches == 2);
}

TEST_CASE_METHOD(Team, "whole runs: a captured run is the kernel, which counts its replays") {
  program.plan.any_m = 1;
  ranks::use(program, whole(GENERATE(kReduceScatter, kAllGather)), 2, 61);
  Ranks& all = create(2);
  for (const int64_t m : {61, 16}) all.run(1, m);
  world().reset_calls();
  for (const int64_t m : {61, 16, 16}) all.run_captured(m);
  check();
  CHECK(count_calls("gemm ") == 3 * 2);
  for (const char* call : {"shared_", "replay_", "cudaMemset", "wait_"})
    CHECK(count_calls(call) == 0);
  ranks::check_third_replay();
}

TEST_CASE_METHOD(Team, "fused: every m is right, in graphs and beside other runs of its own") {
  const auto pattern = GENERATE(kReduceScatter, kAllReduce, kAllToAll);
  const int count = GENERATE(2, 3, 4, 8);
  CAPTURE(static_cast<int>(pattern), count);
  program.plan.any_m = 1;
  ranks::use(program, ranks::fuses(pattern), count, 61);
  Ranks& all = create(count);
  for (const int64_t m : {61, 60, 33, 17, 9, 5, 1}) all.run(2, m);
  for (const int64_t m : {61, 17, 61}) all.run_captured(m);
  for (const int64_t m : {1, 61}) all.run(2, m);
  check();
  world().reset_calls();
  all.run(1, 61);
  check();
  CHECK(world().early_launches == count);
}

TEST_CASE_METHOD(Team, "fused: slots, outputs and flags serve run after run") {
  const auto pattern = GENERATE(kReduceScatter, kAllReduce, kAllToAll);
  const int count = GENERATE(2, 4);
  CAPTURE(static_cast<int>(pattern), count);
  ranks::use(program, ranks::fuses(pattern), count, 61);
  create(count).run(60);
  check();
}

// A rank that has ended its run may begin the next one while others still add up what it has
// stored, because run_kernel takes some time. A tile that was stored too early would be in their
// sums.
TEST_CASE_METHOD(Team, "whole runs: slots that are there once are not written too early") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  const int count = GENERATE(2, 4);
  CAPTURE(static_cast<int>(pattern), count);
  ranks::use(program, whole(pattern), count, 61);
  create(count).run(60);
  check();
}

TEST_CASE_METHOD(Team, "whole runs: rows of A come in time whoever is ahead, run after run") {
  const auto pattern = GENERATE(kAllGather, kAllToAllGemm);
  const int count = GENERATE(2, 3, 4, 8);
  CAPTURE(static_cast<int>(pattern), count);
  program.plan.any_m = pattern == kAllGather ? 1 : 0;
  ranks::use(program, whole(pattern), count, 61);
  Ranks& all = create(count);
  all.run(40);
  for (const int64_t m : {60, 33, 9, 5, 1, 61})
    if (pattern == kAllGather) all.run(3, m);
  check();
}

TEST_CASE("whole runs: that a run has ended the next one tells, and who goes waits for nobody") {
  Program program;
  ranks::use(program, whole(kReduceScatter), 2, 61);
  ranks::check_end_is_told(program);
}

TEST_CASE_METHOD(SharedTeams, "whole runs: operations that share memory take turns at it") {
  struct Other {
    const char* name;
    Make make;
  };
  const Other other = GENERATE(
      Other{"tasks", by(ranks::tasks(kAllReduce))}, Other{"copies", by(ranks::copies(kAllReduce))},
      Other{"stores", by(ranks::stores(kReduceScatter))},
      Other{"pushed rows", by(ranks::pushed_rows())}, Other{"whole runs", by(whole(kAllToAll), 40)},
      Other{"whole runs of rows", by(whole(kAllGather))},
      Other{"one shot", exchange(TILEPOST_ONE_SHOT)},
      Other{"two shots", exchange(TILEPOST_TWO_SHOT)}, Other{"fused sums", by(ranks::fuses())},
      Other{"tiles in outputs", by(ranks::fuses(kAllToAll))});
  const auto way = GENERATE(whole(kAllReduce), whole(kReduceScatter), whole(kAllGather),
                            ranks::fuses(), ranks::fuses(kAllReduce));
  CAPTURE(other.name, way);
  add(room());
  Ranks* const teams[] = {&add(by(way)), &add(other.make)};
  REQUIRE(world().live_pools == 3);
  std::minstd_rand random(7);
  for (int round = 0; round < 4; ++round) {
    std::vector<Ranks::Turn> turns;
    for (int i = 0; i < 12; ++i) turns.push_back({teams[random() / 7 % 2], random() / 7 % 4 == 0});
    Ranks::take_turns(turns);
  }
  check();
}

// A kernel that is a whole run takes all SMs while it waits for the run before it to end. The
// kernel that announces this end might find no free SM if it were on another stream.
TEST_CASE_METHOD(SharedTeams,
                 "whole runs: what they wait for is in front of them in their stream") {
  Ranks& before = add(room());
  const auto ends_on = [](const std::string& stream) {
    return std::ranges::count_if(world().log, [&](const std::string& line) {
      return line.rfind("shared_end " + stream, 0) == 0;
    });
  };
  world().reset_calls();
  Ranks::take_turns({{&before}});
  CHECK(ends_on("own") == 3);
  // Making the first such operation waits until all ranks have announced the end.
  world().reset_calls();
  Ranks& alone = add(by(whole(kReduceScatter)));
  CHECK(count_calls("shared_begin own") == 3);
  CHECK(ends_on("own") == 3);
  world().reset_calls();
  Ranks::take_turns({{&before}, {&alone}, {&before}});
  CHECK(ends_on("user") == 6);
  CHECK(ends_on("own") == 0);
  check();
}
