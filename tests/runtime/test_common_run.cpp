// Ranks that share memory compare what they run. The error on every rank names the rank that
// differs and the difference, even if the run had everything that it waits for.
#include <algorithm>

#include "runtime/cuda/watch/watch_page.h"
#include "tests/catch.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using fakes::world;
using ranks::copies;
using ranks::pushed_rows;
using ranks::Rank;
using ranks::Ranks;
using ranks::stores;
using ranks::tasks;
using ranks::Way;
using ranks::whole;
using tilepost::cuda::RunWords;

namespace {

constexpr double kDeadline = 0.2;

const Way kWays[] = {copies(kAllReduce), copies(kReduceScatter), copies(kAllToAll),
                     copies(kAllGather), stores(kAllReduce),     stores(kReduceScatter),
                     tasks(kAllReduce),  tasks(kReduceScatter),  tasks(kAllToAll),
                     whole(kAllReduce),  whole(kReduceScatter),  whole(kAllToAll),
                     pushed_rows()};

// A change of another rank's run, and the text of the error.
struct Other {
  void (*edit)(RunWords& words);
  const char* text;
};
const Other kOthers[] = {
    {[](RunWords& words) { words.m += 4; }, "m is 68 on rank 0 and 64 on rank 1"},
    {[](RunWords& words) { words.schedule ^= 1; }, "the hash of the schedule is "},
    {[](RunWords& words) { words.plan ^= 1; },
     "rank 0 runs another operation of those that share "},
};

}  // namespace

TEST_CASE("shared: runs with other rows end with an error on all ranks, which names both") {
  const Way way = GENERATE(from_range(std::begin(kWays), std::end(kWays)));
  const int64_t other_m = GENERATE(64, 60, 34);
  CAPTURE(way, other_m);
  OnFakes fresh;
  fresh.leaves_memory();
  sample::Program program;
  ranks::use(program, way, 3, 66);
  program.plan.any_m = 1;
  Ranks all(program, 3, kDeadline);
  all.create();
  all.on_all([&](int rank, Rank& mine) {
    ranks::self().run = 1;
    if (all.start(mine, rank == 1 ? other_m : 66) == TILEPOST_OK)
      mine.result = tilepost_op_synchronize(mine.setup.op);
    mine.text = tilepost_last_error();
  });
  const std::string one = "m is 66 on rank ",
                    other = "m is " + std::to_string(other_m) + " on rank 1";
  for (int rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    const Rank& mine = all.at(rank);
    CAPTURE(mine.result, mine.text);
    // The result is TILEPOST_ABORTED if the watchdog, on a busy machine, finds the error before
    // this thread calls.
    CHECK((mine.result == TILEPOST_INVALID_ARGUMENT || mine.result == TILEPOST_TIMEOUT ||
           mine.result == TILEPOST_ABORTED));
    CHECK_THAT(mine.text, Contains("rank " + std::to_string(rank) + ": run 1: "));
    const std::string mine_and = " and " + std::to_string(other_m) + " on rank 1";
    if (rank == 1)  // rank 1 may see rank 2's call first
      CHECK_THAT(mine.text, Contains(one + "0" + mine_and) || Contains(one + "2" + mine_and));
    else
      CHECK_THAT(mine.text, Contains(other + " and 66 on rank " + std::to_string(rank)));
    CHECK_THAT(mine.text, Contains("pass the same m on every rank"));
  }
  all.destroy();
}

// The runs of the two operations differ in nothing but the operation.
TEST_CASE("shared: ranks that run other operations of one plan end with an error on all") {
  const Way way = GENERATE(tasks(kAllReduce), whole(kAllReduce), copies(kAllGather));
  CAPTURE(way);
  OnFakes fresh;
  fresh.leaves_memory();
  sample::Program program;
  ranks::use(program, way, 3, 66);
  Ranks all(program, 3, kDeadline), other(program, all);
  for (Ranks* team : {&all, &other}) {
    team->shares = true;
    team->create();
    REQUIRE(team->all_ok());
  }
  all.on_all([&](int rank, Rank& mine) {
    ranks::self().run = 1;
    Rank& runs = rank == 1 ? other.at(rank) : mine;
    if (all.start(runs, 66) == TILEPOST_OK) runs.result = tilepost_op_synchronize(runs.setup.op);
    mine.result = runs.result;
    mine.text = tilepost_last_error();
  });
  for (int rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    CHECK((all.at(rank).result == TILEPOST_INVALID_ARGUMENT ||
           all.at(rank).result == TILEPOST_TIMEOUT));
    CHECK_THAT(all.at(rank).text, Contains("runs another operation of those that share "));
  }
  other.destroy();
  all.destroy();
}

TEST_CASE_METHOD(Operation, "shared: what a run is is compared before it counts as ended") {
  const Other other = GENERATE(from_range(std::begin(kOthers), std::end(kOthers)));
  const bool captured = GENERATE(false, true);
  CAPTURE(other.text, captured);
  leaves_memory();
  ranks::use(program, copies(kReduceScatter), 2, 64);
  create(kDeadline);
  REQUIRE(run() == TILEPOST_OK);
  REQUIRE(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  world().edit_run = [&](int, RunWords& words) { other.edit(words); };
  REQUIRE((captured ? run_captured() : run()) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("rank 1: ") && Contains(other.text));
  CHECK(run() == TILEPOST_ABORTED);
}

// Rank 2 gets none of the two rows, so it waits for no rank's data.
TEST_CASE("shared: a rank that gets nothing does not end before all have begun") {
  OnFakes fresh;
  fresh.leaves_memory();
  sample::Program program;
  ranks::use(program, copies(kAllToAll), 3, 66);
  program.plan.any_m = 1;
  Ranks all(program, 3, kDeadline);
  all.create();
  all.on_all([&](int rank, Rank& mine) {
    ranks::self().run = 1;
    if (rank == 1 || all.start(mine, 2) != TILEPOST_OK) return;
    mine.result = tilepost_op_synchronize(mine.setup.op);
    mine.text = tilepost_last_error();
  });
  CHECK(all.at(2).result == TILEPOST_TIMEOUT);
  CHECK_THAT(all.at(2).text, Contains("rank 1 did not begin the run within 0.2 s"));
  all.destroy();
}
