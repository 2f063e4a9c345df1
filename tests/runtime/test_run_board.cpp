// How ranks see each other's calls where NCCL compares nothing. The error on every rank names the
// rank that runs something else and the difference, even if nothing hangs. It also names ranks that
// have not come.
#include "runtime/cuda/watch/run_board.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <random>

#include "runtime/cuda/transport/agreement.h"
#include "tests/catch.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using fakes::world;
using ranks::Rank;
using ranks::Ranks;
using tilepost::cuda::RunBoard;
using Call = RunBoard::Call;

namespace {

// Deadlines of runs, in seconds.
constexpr double kPatient = 100;  // no case waits that long, however slow the machine is
constexpr double kShort = 1;      // for cases in which a rank comes too late
constexpr int kRanks = 3;

// Boards of `ranks` ranks. All have joined.
struct Boards {
  explicit Boards(int ranks) : of(static_cast<size_t>(ranks)) {
    const RunBoard::Address address = RunBoard::make(ranks, of[0]);
    for (int rank = 0; rank < ranks; ++rank) REQUIRE(of[rank].join(address, rank, ranks));
  }
  std::vector<RunBoard> of;
};

constexpr Call call(int64_t m) {
  return {m, static_cast<uint64_t>(m) * 7, m > 64, 0};
}

// Ranks that exchange messages. The fakes only log messages, so no run hangs that should fail.
class Messages : public OnFakes {
 public:
  sample::Program program;

  Ranks& create(double deadline_seconds = kPatient) {
    program.plan.any_m = 1;
    all_ = std::make_unique<Ranks>(program, kRanks, deadline_seconds);
    world().threads = false;
    world().kernel = nullptr;
    all_->create();
    INFO(all_->text());
    REQUIRE(all_->all_ok());
    return *all_;
  }
  // Makes a run of rows[rank] rows on every rank, captured or not. When all ranks have called it,
  // every rank waits for its run and keeps the result.
  void run(const std::vector<int64_t>& rows, bool captured = false) {
    std::barrier called(kRanks);
    all_->on_all([&](int rank, Rank& mine) {
      const fakes::Capture capture(mine.user, captured);
      mine.result = sample::run_on(mine.setup, mine.user, rows[static_cast<size_t>(rank)]);
      called.arrive_and_wait();
      if (mine.result == TILEPOST_OK) mine.result = tilepost_op_synchronize(mine.setup.op);
      mine.text = tilepost_last_error();
    });
  }
  ~Messages() noexcept(false) {
    if (all_ != nullptr) all_->destroy();
  }

 private:
  std::unique_ptr<Ranks> all_;
};

struct Way {
  const char* name;
  void (*use)(sample::Program& program);
};
const Way kWays[] = {
    {"nccl, AllReduce",
     [](sample::Program& program) {
       program.use(kAllReduce, kRanks, TILEPOST_DIVISION_ROWS, {2, 4});
     }},
    {"nccl with two lanes, ReduceScatter",
     [](sample::Program& program) {
       program.plan.comm_lanes = 2;
       program.use(kReduceScatter, kRanks, TILEPOST_DIVISION_SHARES, {1, 2});
     }},
    {"nccl, AllGather",
     [](sample::Program& program) {
       program.use(kAllGather, kRanks, TILEPOST_DIVISION_ARRIVALS, {0, 1, 2});
     }},
    {"none, AllReduce",
     [](sample::Program& program) {
       program.use(kAllReduce, kRanks, TILEPOST_DIVISION_ROWS, {4});
       program.use_sequence(4);
     }},
};

}  // namespace

TEST_CASE("ranks find the first run in which they differ, whoever is ahead") {
  Boards boards(2);
  RunBoard &one = boards.of[0], &other = boards.of[1];
  for (const int64_t m : {100, 60, 100}) one.say(call(m));
  CHECK_FALSE(one.find_difference(false));
  other.say(call(100));
  CHECK_FALSE(one.find_difference(false));
  CHECK_FALSE(other.find_difference(false));
  for (const int64_t m : {64, 100, 7}) other.say(call(m));
  const auto found = one.find_difference(false), seen = other.find_difference(false);
  REQUIRE((found && seen));
  CHECK(found->rank == 1);
  CHECK(seen->rank == 0);
  CHECK(found->number == 2);
  CHECK(found->is_here);
  CHECK(found->own.m == 60);
  CHECK(found->theirs.m == 64);
  CHECK(seen->own.schedule == 64 * 7);
  CHECK_FALSE(seen->theirs.overlaps);
}

TEST_CASE("runs that differ in nothing but their output differ") {
  Boards boards(2);
  for (const uint32_t output : {1u, 2u}) boards.of[0].say({100, 700, true, output});
  for (const uint32_t output : {1u, 0u}) boards.of[1].say({100, 700, true, output});
  const auto found = boards.of[1].find_difference(false);
  REQUIRE(found);
  CHECK(found->number == 2);
  CHECK(found->is_here);
  CHECK(found->own.output == 0);
  CHECK(found->theirs.output == 2);
}

TEST_CASE("a difference that is no longer kept is found by what came of it") {
  Boards boards(2);
  for (int run = 1; run <= 200; ++run)
    for (int rank = 0; rank < 2; ++rank) boards.of[rank].say(call(run == 3 ? 10 + rank : 100));
  const auto found = boards.of[0].find_difference(false);
  REQUIRE(found);
  CHECK(found->number == 200 - RunBoard::kKept + 1);
  CHECK_FALSE(found->is_here);
}

// Checks against a reference that keeps all calls.
TEST_CASE("calls of ranks that replay graphs are compared when a run is late") {
  Boards boards(3);
  boards.of[0].say_captured();
  boards.of[0].say(call(512));
  for (const int rank : {1, 2})
    for (const int64_t m : {384, 512}) boards.of[static_cast<size_t>(rank)].say(call(m));
  for (const RunBoard& board : boards.of) CHECK_FALSE(board.find_difference(false));
  for (const RunBoard& board : boards.of) CHECK(board.find_difference(true));
  boards.of[2].say(call(100));
  boards.of[1].say(call(104));
  CHECK_FALSE(boards.of[0].find_difference(false));
  const auto found = boards.of[1].find_difference(false);
  REQUIRE(found);
  CHECK(found->rank == 2);
  CHECK(found->number == 3);
}

TEST_CASE("a run that was taken back is not read as the one that took its number") {
  Boards boards(2);
  boards.of[0].say(call(512));
  boards.of[0].take_back();
  for (RunBoard& board : boards.of) board.say(call(384));
  CHECK_FALSE(boards.of[0].find_difference(false));
  CHECK_FALSE(boards.of[1].find_difference(false));
  boards.of[0].say(call(100));
  boards.of[1].say(call(104));
  REQUIRE(boards.of[1].find_difference(false));
  CHECK(boards.of[1].find_difference(false)->number == 2);
}

TEST_CASE("random calls are compared as far as ranks have both called them") {
  std::minstd_rand random(7);
  for (int round = 0; round < 200; ++round) {
    Boards boards(kRanks);
    std::vector<int64_t> said[kRanks];
    for (int step = 0; step < 400; ++step) {
      const auto rank = static_cast<int>(random() % kRanks);
      const size_t number = said[rank].size();
      const bool taken_back = random() % 20 == 0;
      const auto usual = static_cast<int64_t>(number % 5 + 60);
      const int64_t m = random() % 500 == 0 ? 1000 + rank : usual;
      boards.of[rank].say(call(m));
      if (taken_back)
        boards.of[rank].take_back();
      else
        said[rank].push_back(m);
      const auto asks = static_cast<int>(random() % kRanks);
      // The first run, counted from 1, in which rank `asks` differs from another rank.
      size_t first = 0;
      int with = -1;
      bool apart = false;  // too far apart to have a run in common that the board keeps
      for (int other = 0; other < kRanks && first == 0; ++other) {
        const size_t both = std::min(said[asks].size(), said[other].size());
        const size_t ahead = std::max(said[asks].size(), said[other].size());
        apart |= ahead - both >= RunBoard::kKept;
        for (size_t i = 0; i < both && first == 0; ++i)
          if (said[asks][i] != said[other][i]) first = i + 1, with = other;
      }
      if (apart) break;
      const auto found = boards.of[asks].find_difference(false);
      REQUIRE(found.has_value() == (first != 0));
      if (!found) continue;
      CHECK(found->rank == with);
      CHECK(found->number >= first);
      CHECK(found->is_here == (said[asks][found->number - 1] != said[with][found->number - 1]));
      if (said[asks].size() < RunBoard::kKept / 2 && said[with].size() < RunBoard::kKept / 2)
        CHECK(found->number == first);
    }
  }
}

TEST_CASE("ranks that have not called a run are named, if all can say what they call") {
  Boards boards(kRanks);
  boards.of[0].say(call(9));
  boards.of[2].say(call(9));
  boards.of[2].say(call(9));
  CHECK(boards.of[1].find_absent(1) == std::vector<int>{1});
  CHECK(boards.of[1].find_absent(2) == std::vector<int>{0, 1});
  boards.of[0].take_back();
  CHECK(boards.of[1].find_absent(1) == std::vector<int>{0, 1});
  RunBoard alone;
  REQUIRE(alone.join(RunBoard::make(2, alone), 0, 2));
  CHECK_FALSE(alone.find_absent(1));
}

TEST_CASE("a board is one by its token and size, and nobody's when all have left it") {
  RunBoard::Address address{};
  {
    RunBoard made, found, wrong, small;
    address = RunBoard::make(2, made);
    REQUIRE(address.token != 0);
    CHECK_FALSE(small.join(address, 0, 1));
    CHECK_FALSE(wrong.join({address.segment, address.token + 2}, 1, 2));
    CHECK_FALSE(wrong.is_joined());
    CHECK(found.join(address, 1, 2));
  }
  RunBoard late;
  CHECK_FALSE(late.join(address, 1, 2));
  CHECK_FALSE(late.join({}, 1, 2));
}

TEST_CASE("processes see each other's calls") {
  RunBoard own;
  const RunBoard::Address address = RunBoard::make(2, own);
  REQUIRE(own.join(address, 0, 2));
  own.say(call(100));
  const pid_t child = fork();
  if (child == 0) {
    RunBoard theirs;
    const bool joined = theirs.join(address, 1, 2);
    if (joined) theirs.say(call(104));
    _exit(joined && theirs.find_difference(false) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  const auto found = own.find_difference(false);
  REQUIRE(found);
  CHECK(found->theirs.m == 104);
}

TEST_CASE_METHOD(Messages, "nccl: runs with other rows end with an error on all ranks") {
  const Way way = GENERATE(from_range(std::begin(kWays), std::end(kWays)));
  const bool hangs = GENERATE(false, true);
  CAPTURE(way.name, hangs);
  way.use(program);
  Ranks& all = create();
  run({512, 512, 512});
  REQUIRE(all.all_ok());
  world().collectives_hang = hangs;
  run({500, 384, 500});
  for (int rank = 0; rank < kRanks; ++rank) {
    CAPTURE(rank);
    const Rank& mine = all.at(rank);
    CHECK(mine.result == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(mine.text, Contains("rank " + std::to_string(rank) + ": run 2: m is ") &&
                              Contains("pass the same m on every rank"));
    // Rank 1 may see rank 2's call first.
    const std::string own = std::to_string(rank);
    if (rank == 1)
      CHECK_THAT(mine.text, Contains("m is 500 on rank 0 and 384 on rank 1") ||
                                Contains("m is 500 on rank 2 and 384 on rank 1"));
    else
      CHECK_THAT(mine.text, Contains("m is 384 on rank 1 and 500 on rank " + own));
    CHECK(sample::run_on(mine.setup, mine.user, 500) == TILEPOST_ABORTED);
  }
}

TEST_CASE_METHOD(Messages, "nccl: a rank that overlaps is told from one that runs in sequence") {
  program.use(kAllReduce, kRanks, TILEPOST_DIVISION_ROWS, {2, 4});
  program.use_any_m();
  Ranks& all = create();
  run({512, 32, 512});
  CHECK(all.at(2).result == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(all.at(2).text,
             Contains("rank 2: run 1: m is 32 on rank 1 and 512 on rank 2, where rank 1 runs in "
                      "sequence and rank 2 overlaps; pass the same m on every rank"));
}

// With `around` the number of the replay wraps to 0.
TEST_CASE_METHOD(Messages, "nccl: replays with other rows say so when they are late") {
  const bool around = GENERATE(false, true);
  CAPTURE(around);
  program.use(kAllReduce, kRanks, TILEPOST_DIVISION_ROWS, {2, 4});
  Ranks& all = create(kShort);
  run({512, 512, 512});
  run({384, 384, 384});
  run({384, 384, 384}, true);
  REQUIRE(all.all_ok());
  world().collectives_hang = true;
  if (around) world().replay = 0;
  run({512, 384, 512}, true);
  // The abort of the first rank that gives up ends what hangs on all ranks, so only one rank may
  // report the difference.
  bool one_said_so = false;
  for (int rank = 0; rank < kRanks; ++rank)
    one_said_so |= all.at(rank).text.find("a replayed run: m is ") != std::string::npos &&
                   all.at(rank).text.find("384 on rank 1") != std::string::npos;
  CHECK(one_said_so);
}

TEST_CASE_METHOD(Messages, "nccl: what one rank replays others may call") {
  program.use(kAllReduce, kRanks, TILEPOST_DIVISION_ROWS, {2, 4});
  Ranks& all = create();
  run({384, 384, 384});
  all.on_all([&](int rank, Rank& mine) {
    const fakes::Capture capture(mine.user, rank == 0);
    mine.result = sample::run_on(mine.setup, mine.user, 384);
  });
  run({512, 512, 512});
  run({100, 100, 100});
  INFO(all.text());
  CHECK(all.all_ok());
}

// The second rank finds the difference in its own run, the first one when it looks again.
TEST_CASE_METHOD(Messages, "nccl: a rank that is ahead by a run finds the difference later") {
  program.use(kAllReduce, kRanks, TILEPOST_DIVISION_ROWS, {2, 4});
  Ranks& all = create();
  const auto run_alone = [&](int who, int64_t rows) {
    all.on_all([&](int rank, Rank& mine) {
      if (rank != who) return;
      mine.result = sample::run_on(mine.setup, mine.user, rows);
      if (mine.result == TILEPOST_OK) mine.result = tilepost_op_synchronize(mine.setup.op);
    });
  };
  run_alone(0, 100);
  CHECK(all.at(0).result == TILEPOST_OK);
  run_alone(1, 104);
  CHECK(all.at(1).result == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_op_synchronize(all.at(0).setup.op) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("run 1: m is 104 on rank 1 and 100 on rank 0"));
}

TEST_CASE_METHOD(Messages, "nccl: a run that could not be started is not one that was called") {
  program.use(kAllReduce, kRanks, TILEPOST_DIVISION_ROWS, {2, 4});
  Ranks& all = create();
  all.on_all([&](int rank, Rank& mine) {
    if (rank != 1) return;
    world().tensor_maps_fail = true;
    CHECK(sample::run_on(mine.setup, mine.user, 7) != TILEPOST_OK);
    world().tensor_maps_fail = false;
  });
  run({100, 100, 100});
  INFO(all.text());
  CHECK(all.all_ok());
}

TEST_CASE_METHOD(Messages, "nccl: a rank that did not come is named") {
  program.use(kAllReduce, kRanks, TILEPOST_DIVISION_ROWS, {2, 4});
  Ranks& all = create(kShort);
  world().collectives_hang = true;
  const bool all_come = GENERATE(false, true);
  std::barrier called(kRanks);
  all.on_all([&](int rank, Rank& mine) {
    const bool comes = rank == 2 || all_come;
    if (comes) mine.result = sample::run_on(mine.setup, mine.user, 512);
    called.arrive_and_wait();
    if (comes && mine.result == TILEPOST_OK) mine.result = tilepost_op_synchronize(mine.setup.op);
    if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
  });
  // On the fakes the first rank that gives up ends what hangs on all ranks.
  const char* text = all_come ? "all ranks have called the run, but" : "ranks 0, 1 did not arrive";
  int named = 0;
  for (int rank = 0; rank < kRanks; ++rank)
    named += all.at(rank).result == TILEPOST_TIMEOUT &&
             all.at(rank).text.find(text) != std::string::npos;
  CHECK(named >= 1);
}

TEST_CASE_METHOD(Operation, "a rank that shares no memory with the others says so") {
  world().exchange = [](const int64_t* own, int64_t* all, size_t count) {
    for (int rank = 0; rank < 2; ++rank) fakes::say_as(rank, own, all + rank * count, count);
    if (count == tilepost::cuda::kStandingNumbers)
      reinterpret_cast<tilepost::cuda::Standing*>(all)->board = {1 << 30, 7};
  };
  create();
  CHECK_THAT(
      tilepost_op_warnings(setup.op),
      Contains("runs are not compared with those of other ranks") && Contains("one IPC namespace"));
  CHECK(run() == TILEPOST_OK);
}
