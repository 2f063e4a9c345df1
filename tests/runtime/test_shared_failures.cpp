// Transports whose ranks access each other's memory: runs that cannot end or break off, and their
// errors.
#include <algorithm>

#include "tests/catch.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using fakes::world;
using ranks::copies;
using ranks::pushed_rows;
using ranks::Ranks;
using ranks::stores;
using ranks::tasks;
using ranks::Way;
using ranks::whole;
using sample::count_calls;

namespace {

constexpr double kDeadline = 0.2;

// The errors of ranks 0 and 2 of three when rank 1 does not come to the third run.
struct Missing {
  Way way;
  int64_t m;
  const char *rank_0, *rank_2;
};
const char* const kTilesMissing =
    ": group 1 of 3: not all ranks' tiles were stored within 0.2 s: 6 signals are missing; "
    "rank 1 did not arrive";
const char* const kRowsMissing =
    ": group 2 of 4: not all ranks' rows were stored within 0.2 s: 1 signals are missing; "
    "rank 1 did not arrive";
// No rank stores before all ranks have begun the run.
const char* const kNotBegun =
    ": group 1 of 3: not all ranks' tiles were stored within 0.2 s: 18 signals are missing; "
    "rank 1 did not arrive";
const std::vector<Missing> kMissing = {
    {copies(kReduceScatter), 64, "rank 1 did not announce", "rank 1 did not announce"},
    {stores(kReduceScatter), 64, "group 1", "group 1"},
    {tasks(kAllReduce), 48, kTilesMissing, kTilesMissing},
    {tasks(kReduceScatter), 48, kTilesMissing, kTilesMissing},
    {tasks(kAllToAll), 48, kTilesMissing, kTilesMissing},
    {whole(kAllReduce), 48, kNotBegun, kNotBegun},
    {whole(kAllToAll), 48, kNotBegun, kNotBegun},
    // Rank 0 first gets rows of rank 1. Rank 2 first gets rows of rank 0, which rank 0 sends
    // without a wait.
    {tasks(kAllGather), 48, "rank 1 did not announce group 2", "rank 1 did not announce group 5"},
    {pushed_rows(), 48, kRowsMissing, kRowsMissing},
};

// A run on rank 1 of three that cannot end by itself.
struct Stuck {
  Way way;
  int64_t m;
  bool captured;
  std::vector<const char*> words;
};
const std::vector<const char*> kHalfOfTiles = {
    "group 1 of 3: not all ranks' tiles were stored within 0.2 s: 9 signals are missing; "
    "all ranks have begun the run, so the GEMM of one has stopped"};
const std::vector<const char*> kOwnRows = {
    "group 1 of 5: this rank's rows were not copied within 0.2 s: 1 chunks are missing"};
// Shares end inside tiles.
const std::vector<const char*> kEdges = {
    "group 1 of 4: this rank's rows were not copied within 0.2 s: ",
    " chunks are missing; the GEMM, whose warps copy them, has stopped"};
const std::vector<Stuck> kStuck = {
    {tasks(kAllReduce), 48, false, kHalfOfTiles},
    {tasks(kAllReduce), 48, true, kHalfOfTiles},
    {tasks(kReduceScatter), 48, false, kHalfOfTiles},
    {tasks(kReduceScatter), 48, true, kHalfOfTiles},
    {whole(kAllReduce), 48, false, kHalfOfTiles},
    {whole(kAllReduce), 48, true, kHalfOfTiles},
    {whole(kReduceScatter), 48, false, kHalfOfTiles},
    {whole(kReduceScatter), 48, true, kHalfOfTiles},
    {tasks(kAllGather), 48, false, kOwnRows},
    {tasks(kAllGather), 48, true, kOwnRows},
    {pushed_rows(), 45, false, kEdges},
};

// A run that breaks off at each of its calls. `calls`: how many calls it has at least. `broken`:
// how many of them at least come after the run has begun.
struct Breaking {
  Way way;
  bool captured;
  int calls, broken;
};
const std::vector<Breaking> kBreaking = {
    {copies(kAllReduce), false, 30, 20},   {copies(kAllReduce), true, 30, 20},
    {tasks(kAllReduce), false, 10, 3},     {tasks(kAllReduce), true, 10, 3},
    {tasks(kReduceScatter), false, 10, 3}, {tasks(kReduceScatter), true, 10, 3},
    {tasks(kAllGather), false, 10, 8},     {pushed_rows(), false, 10, 3},
};

}  // namespace

TEST_CASE_METHOD(Team, "shared: a rank that does not come is named within the deadline") {
  const Missing missing = GENERATE(from_range(kMissing));
  CAPTURE(missing.way);
  leaves_memory();
  ranks::use(program, missing.way, 3, missing.m);
  Ranks& all = create(3, kDeadline);
  all.run(2);
  check();
  all.run_but(1);
  for (const int rank : {0, 2}) {
    CHECK(all.at(rank).result == TILEPOST_TIMEOUT);
    CHECK_THAT(all.at(rank).text,
               Contains("run 3") && Contains(rank == 0 ? missing.rank_0 : missing.rank_2));
  }
  CHECK(all.wrong() == 0);
  CHECK(tilepost_op_status(all.at(1).setup.op) == TILEPOST_OK);
  // The other ranks have begun a run that they never end. So nobody frees what they may still
  // access: the shared memory and the numbers beside it.
  CHECK(world().live_allocations > 0);
  all.destroy();
  CHECK(world().live_allocations == 2 * 3);
}

TEST_CASE_METHOD(Operation, "tasks: what does not come is told, in a replayed run too") {
  const Stuck stuck = GENERATE(from_range(kStuck));
  CAPTURE(stuck.way, stuck.captured);
  leaves_memory();
  ranks::use(program, stuck.way, 3, stuck.m);
  create(kDeadline);
  if (stuck.way.gathers())
    world().gemm_stops = true;
  else
    world().gemm_posts_percent = 50;
  REQUIRE((stuck.captured ? run_captured() : run()) == TILEPOST_OK);
  CHECK(tilepost_op_status(setup.op) == TILEPOST_IN_PROGRESS);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  const std::string text = tilepost_last_error();
  CHECK_THAT(text, Contains(stuck.captured ? "rank 1: a replayed run: " : "rank 1: run 1: "));
  for (const char* words : stuck.words) CHECK_THAT(text, Contains(words));
}

TEST_CASE_METHOD(Team, "tasks: sums that are not pushed here are told within the deadline") {
  const Way way = GENERATE(tasks(kAllReduce), whole(kAllReduce));
  const int runs = GENERATE(2, 3);
  const bool lent = runs % 2 != 0;  // the next run stores in the lent output
  CAPTURE(way, lent);
  leaves_memory();
  ranks::use(program, way, 3, 48);
  Ranks& all = create(3, kDeadline);
  all.run(runs);
  check();
  world().pushes_stop = true;
  all.run_but(-1);  // no rank is absent
  for (const int rank : {0, 1, 2}) {
    REQUIRE((all.at(rank).found == all.at(rank).lent) == lent);
    CHECK(all.at(rank).result == TILEPOST_TIMEOUT);
    CHECK_THAT(all.at(rank).text,
               Contains("run " + std::to_string(runs + 1) +
                        ": group 1 of 3: not all ranks' sums were stored within 0.2 s: "
                        "2 signals are missing"));
  }
}

TEST_CASE_METHOD(Operation, "tasks: what ends with the GEMM needs no SM beside it") {
  const auto pattern = GENERATE(kAllReduce, kReduceScatter, kAllToAll);
  CAPTURE(static_cast<int>(pattern));
  ranks::use(program, tasks(pattern), 2, 64);
  program.plan.gemm_ctas = 132;
  program.plan.comm_ctas = 0;
  CHECK(setup.create(program) == TILEPOST_OK);
}

TEST_CASE("shared: a run that breaks off before it has begun changes nothing, later it ends all") {
  const Breaking breaking = GENERATE(from_range(kBreaking));
  CAPTURE(breaking.way, breaking.captured);
  int broken_runs = 0;
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    ranks::use(op.program, breaking.way, 2, 16);
    // The fakes begin a captured run at once. A capture that breaks off then leaves a run begun,
    // and destroying the operation waits for its end.
    op.create(breaking.captured ? 0.1 : 0);
    world().fails_on = std::this_thread::get_id();  // the watchdog calls at any time
    const auto result = failing.attempt([&] {
      const fakes::Capture capture(op.user, breaking.captured);
      return op.run();
    });
    INFO(failing.what());
    const bool begun =
        count_calls("shared_begin") > 0 && world().failed_call.rfind("shared_begin", 0) != 0;
    const bool broken = result != TILEPOST_OK && begun && !breaking.captured;
    if (result != TILEPOST_OK && begun) op.leaves_memory();
    broken_runs += broken;
    CHECK(tilepost_op_status(op.setup.op) == (broken ? result : TILEPOST_OK));
    CHECK(world().aborted_comms == (broken ? 1 : 0));  // that of numbers; none moves data
    if (!breaking.captured) CHECK_FALSE(fakes::stream_of(op.user).hang.holds());
  });
  CHECK(failing.calls() > breaking.calls);
  CHECK((broken_runs > breaking.broken) == !breaking.captured);
}

TEST_CASE("shared: memory that loses what ranks add to it serves plans that only read") {
  const Way way =
      GENERATE(copies(kReduceScatter), stores(kReduceScatter), tasks(kAllReduce), pushed_rows());
  CAPTURE(way);
  OnFakes world_of_its_own;
  sample::Program program;
  ranks::use(program, way, 2, 64);
  Ranks all(program, 2);
  world().additions_lost = true;
  all.create();
  if (way.access == TILEPOST_ACCESS_READ) {
    CHECK(all.all_ok());
  } else {
    for (int rank = 0; rank < 2; ++rank) {
      CHECK(all.at(rank).result == TILEPOST_UNSUPPORTED);
      CHECK_THAT(all.at(rank).text,
                 Contains("counters in rank 0's memory is lost") && Contains("copy_engine"));
    }
  }
  all.destroy();
}

TEST_CASE("shared: ranks whose stores do not arrive are told whose") {
  OnFakes world_of_its_own;
  world_of_its_own.leaves_memory();
  sample::Program program;
  ranks::use(program, copies(kReduceScatter), 3, 64);
  Ranks all(program, 3);
  world().stores_lost = true;
  all.create();
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(all.at(rank).result == TILEPOST_UNSUPPORTED);
    CHECK_THAT(all.at(rank).text,
               Contains("what rank 1 stores in rank 0's memory does not arrive"));
  }
}
