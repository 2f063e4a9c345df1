// Transports whose ranks access each other's memory, with ranks as threads: every element is right,
// in any number and mixture of runs.
#include <set>

#include "tests/catch.h"
#include "tests/runtime/team.h"

using fakes::world;
using ranks::copies;
using ranks::copies_beside;
using ranks::launches;
using ranks::pushed_rows;
using ranks::Ranks;
using ranks::stores;
using ranks::tasks;
using ranks::Way;
using ranks::whole;
using sample::count_calls;

namespace {

using Rows = std::vector<int64_t>;
using Ints = std::vector<int>;
using Calls = std::vector<const char*>;

// A way, the shapes to try it with, and the calls that it never makes.
struct Trial {
  Way way;
  Rows rows{1, 7, 16, 61, 64};
  Ints staggers{0, 4};
  Ints units{0};  // units in a helper warp's chunk; 0: the plan's
  Calls absent{};
};

const Calls kNothingBeside{"sum ", "wait_stored ", "wait_added ", "announce",
                           "cudaMemcpyAsync user"};
const Calls kKernelAlone{"sum ",    "wait_",   "announce",  "cudaMemcpyAsync user",
                         "shared_", "replay_", "cudaMemset"};
// Shares that end with a tile, shares that end inside a tile or are smaller than one, and empty
// ones.
const Rows kShares{1, 5, 7, 9, 16, 21, 35, 48, 61, 64};

const std::vector<Trial> kTrials = {
    {copies(kAllReduce)},
    {copies(kReduceScatter)},
    {copies(kAllToAll)},
    {.way = copies(kAllGather), .staggers = {0}},
    {copies_beside(kAllGather), kShares, {0}, {0}, {"cudaMemcpyAsync user", "post "}},
    {stores(kAllReduce)},
    {stores(kReduceScatter)},
    {stores(kAllToAll)},
    {stores(kAllReduce, TILEPOST_SUM_ADDED)},
    {stores(kReduceScatter, TILEPOST_SUM_ADDED)},
    {.way = tasks(kAllReduce), .units = {0, 2}, .absent = kNothingBeside},
    {.way = tasks(kReduceScatter), .units = {0, 2}, .absent = kNothingBeside},
    {.way = tasks(kAllToAll), .units = {0, 2}, .absent = kNothingBeside},
    {.way = whole(kAllReduce), .units = {0, 2}, .absent = kKernelAlone},
    {.way = whole(kReduceScatter), .units = {0, 2}, .absent = kKernelAlone},
    {.way = whole(kAllToAll), .units = {0, 2}, .absent = kKernelAlone},
    {tasks(kAllGather), {1, 5, 7, 9, 16, 61, 64}, {0}, {1, 3, 256}, {"cudaMemcpyAsync user"}},
    {pushed_rows(), kShares, {0}, {1, 3, 256}, {"wait_", "announce", "post "}},
    {.way = copies(kAllToAllGemm), .rows = kShares, .staggers = {0}},
    {.way = launches(kAllGather), .rows = kShares, .staggers = {0}},
    {.way = launches(kAllToAllGemm), .rows = kShares, .staggers = {0}},
    {tasks(kAllToAllGemm), kShares, {0}, {1, 3, 256}, {"cudaMemcpyAsync user"}},
    {pushed_rows(kAllToAllGemm), kShares, {0}, {1, 3, 256}, {"wait_", "announce", "post "}},
};

// All ways whose plans can serve any number of rows.
const std::vector<Way> kAnyRows = {
    copies(kAllReduce),    copies(kReduceScatter),  copies(kAllToAll),
    copies(kAllGather),    stores(kAllReduce),      stores(kReduceScatter),
    stores(kAllToAll),     tasks(kAllReduce),       tasks(kReduceScatter),
    tasks(kAllToAll),      tasks(kAllGather),       pushed_rows(),
    copies(kAllToAllGemm), tasks(kAllToAllGemm),    pushed_rows(kAllToAllGemm),
    launches(kAllGather),  launches(kAllToAllGemm), whole(kAllReduce),
    whole(kReduceScatter), whole(kAllToAll),        copies_beside(kAllGather)};

void set_units(sample::Program& program, int units) {
  tilepost_plan_t& plan = program.plan;
  if (units > 0) plan.kernel.helper_bytes = ranks::helper_bytes_of(units, plan.task_parts);
}

// Checks the calls where helper warps copy own rows: ranks with rows wait for the copies, and every
// rank announces its rows to the others.
void check_gathering(const sample::Program& program, int runs, int count, int64_t m) {
  const int64_t share = (m + count - 1) / count;
  const auto with_rows = static_cast<int>((m + share - 1) / share);
  CHECK(count_calls("wait_added ") == runs * with_rows);
  CHECK(count_calls("announce ") == runs * count * (program.plan.map.num_groups - 1));
}

}  // namespace

TEST_CASE("shared: every rank gets what it should, run after run, captured or not") {
  const int count = GENERATE(2, 3, 4);
  const Trial trial = GENERATE(from_range(kTrials));
  for (const int64_t m : trial.rows)
    for (const int stagger : trial.staggers)
      for (const int units : trial.units) {
        CAPTURE(trial.way, count, m, stagger, units);
        Team team;
        team.program.plan.map.stagger = stagger;
        ranks::use(team.program, trial.way, count, m);
        set_units(team.program, units);
        Ranks& all = team.create(count);
        world().reset_calls();
        all.run_mixed();
        team.check();
        for (const char* call : trial.absent) CHECK(count_calls(call) == 0);
        const bool copies_own = trial.way.tasks && trial.way.gathers() && !trial.way.pushes_rows();
        if (copies_own) check_gathering(team.program, 7, count, m);
      }
}

TEST_CASE("shared: more groups than one launch posts") {
  const Way way = GENERATE(copies(kAllGather), copies_beside(kAllGather), tasks(kAllGather));
  CAPTURE(way);
  constexpr int kRanks = 3, kTiles = 40;  // tiles of a share; the last one has one row
  Team team;
  ranks::use(team.program, way, kRanks, kRanks * (4 * kTiles - 3));
  std::vector<int32_t> cuts{0};
  for (int cut = 2; cut <= (kRanks - 1) * kTiles; cut += 2) cuts.push_back(cut);
  team.program.use(kAllGather, kRanks, TILEPOST_DIVISION_ARRIVALS, cuts);
  team.program.finish();
  Ranks& all = team.create(kRanks);
  world().reset_calls();
  all.run_mixed();
  team.check();
  constexpr int kRuns = 7;
  CHECK(count_calls("arrivals ") == kRuns * kRanks * 2);  // for 41 groups
}

TEST_CASE("shared: any number of rows in any order") {
  const Way way = GENERATE(from_range(kAnyRows));
  const bool arrive_with_tasks = way.tasks && way.gathers();
  for (const int count : arrive_with_tasks ? Ints{2, 3, 4} : Ints{3}) {
    CAPTURE(way, count);
    Team team;
    team.program.plan.any_m = 1;
    ranks::use(team.program, way, count, 61);
    if (way.tasks) set_units(team.program, 2);
    Ranks& all = team.create(count);
    const int64_t step = arrive_with_tasks ? 1 : way.tasks ? 2 : 3;
    for (int64_t m = 1; m <= 61; m += step) all.run(2, m);
    for (int64_t m = 61; m >= 1; m -= 5) all.run(1, m);
    for (int64_t m = 1; m <= 61; m += 12) all.run_captured(m);
    team.check();
  }
}

TEST_CASE_METHOD(Team, "shared: runs that do not overlap come in between, by NCCL") {
  const Way way = GENERATE(from_range(kAnyRows));
  CAPTURE(way);
  constexpr int64_t kRows = 5;
  const bool stores_tiles = way.access == TILEPOST_ACCESS_WRITE && !way.gathers();
  program.use_any_m();
  ranks::use(program, way, 3, 61);
  Ranks& all = create(3);
  for (int round = 0; round < 8; ++round) {
    all.run(1);
    if (round % 2 == 0) all.run(1);
    world().reset_calls();
    // The fakes do not execute what NCCL moves, so no result is compared.
    all.run_unchecked(1, kRows);
    CHECK(world().nccl.size() > 0);
    CHECK(count_calls("wait_added") == 0);
    if (stores_tiles) CHECK(count_calls("shared_") == 0);
    const bool in_place = stores_tiles || way.pattern == kAllReduce;
    if (!way.pushes_rows()) CHECK(count_calls("shared_begin") == (in_place ? 0 : 3));
    CHECK(count_calls("shared_end") == count_calls("shared_begin"));
    // NCCL reads the whole product of each rank on that rank.
    std::set<const void*> seen;
    for (const fakes::NcclCall& call : world().nccl) {
      if (!stores_tiles || call.from == nullptr || call.name == "send") continue;
      seen.insert(call.from);
      CHECK(all.is_product(call.from, kRows));
      if (!way.tasks)
        for (int rank = 0; rank < 3; ++rank) CHECK(call.to != call.from);
    }
    if (stores_tiles) CHECK(seen.size() == (way.pattern == kAllToAll ? 0 : 3));
    if (way.tasks && way.gathers()) all.run_captured();
  }
  check();
}

TEST_CASE_METHOD(Team,
                 "shared: a consumer reads the rows of an AllReduce where they come together") {
  const Way way =
      GENERATE(copies(kAllReduce), stores(kAllReduce), tasks(kAllReduce), whole(kAllReduce));
  CAPTURE(way);
  program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
  ranks::use(program, way, 3, 61);
  Ranks& all = create(3);
  all.run(3);
  check();
  CHECK(all.normalised() == 3 * 3 * 61 * 24);
}

TEST_CASE_METHOD(Team, "shared: rows go where their route says, and a new route changes that") {
  const int count = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 13, 64);
  const auto routing = GENERATE(TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS);
  const Way way = GENERATE(copies(kAllToAll), copies(kAllToAllGemm), tasks(kAllToAllGemm),
                           launches(kAllToAllGemm));
  CAPTURE(way, count, m, static_cast<int>(routing));
  ranks::use(program, way, count, m, routing);
  Ranks& all = create(count);
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    all.route(seed);
    all.run(2);
    all.run_captured();
  }
  check();
}

TEST_CASE_METHOD(Team, "shared: a route that brings a rank too many rows is refused on all ranks") {
  const auto routing = GENERATE(TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS);
  ranks::use(program, copies(kAllToAllGemm), 2, 13, routing);
  program.plan.map.m = 20;
  program.cuts = {0, 1, 3};
  program.finish();
  Ranks& all = create(2);
  all.route(3);  // sends all 26 rows to rank 0
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(all.at(rank).result == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(all.at(rank).text,
               Catch::Contains("rank 0 would receive 26 rows, the plan is for at most 20"));
    all.at(rank).result = TILEPOST_OK;
  }
  world().reset_calls();
  CHECK(all.start(all.at(0), 0) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(all.at(0).text, Catch::Contains("call tilepost_op_route before the first run"));
  all.at(0).result = TILEPOST_OK;
  all.route(1);
  all.run(3);
  check();
}

TEST_CASE_METHOD(Operation, "shared: what is shared counts as the operation's memory") {
  ranks::use(program, copies(kReduceScatter), 2, 64);
  create();
  CHECK(info().device_bytes > 2 * 2 * 64 * 24);  // the send buffer, and slots of the same size
  CHECK(info().out_elements == 32 * 24);
}

TEST_CASE_METHOD(Team, "shared: two operations at a time have memory of their own") {
  const Way way = GENERATE(copies(kReduceScatter), stores(kReduceScatter), tasks(kReduceScatter));
  CAPTURE(way);
  ranks::use(program, way, 2, 64);
  Ranks& all = create(2);
  Ranks others(program, 2);
  others.create();
  for (int round = 0; round < 3; ++round) {
    all.run(2);
    others.run(1);
  }
  check();
  REQUIRE(others.all_ok());
  CHECK(others.wrong() == 0);
}

TEST_CASE("shared: making and destroying leaves nothing") {
  for (int i = 0; i < 30; ++i) {
    Team team;
    ranks::use(team.program, copies(kAllReduce), 2, 64);
    Ranks& all = team.create(2);
    all.run(i % 2);
    team.check();
  }
}

// Until the capture ends, it also has the operation's own streams.
TEST_CASE("a run beside an open capture of the operation is refused, and changes nothing") {
  const bool shares = GENERATE(false, true), captured = GENERATE(false, true);
  CAPTURE(shares, captured);
  Operation op;
  if (shares) ranks::use(op.program, copies(kReduceScatter), 2, 64);
  op.create(0.2);
  CUstream_st* const other = fakes::user_stream("other");
  REQUIRE(sample::run_on(op.setup, other) == TILEPOST_OK);
  {
    const fakes::Capture capture(op.user);
    for (int i = 0; i < 2; ++i) REQUIRE(op.run() == TILEPOST_OK);
    {
      const fakes::Capture beside(other, captured);
      CHECK(sample::run_on(op.setup, other) == TILEPOST_INVALID_ARGUMENT);
      CHECK_THAT(tilepost_last_error(), Catch::Contains("end that capture before this run"));
    }
    CHECK(op.run() == TILEPOST_OK);
  }
  CHECK(sample::run_on(op.setup, other) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(op.setup.op) == TILEPOST_OK);
  CHECK(world().aborted_comms == 0);
}
