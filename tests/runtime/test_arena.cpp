// Operations of a communicator that share the memory that ranks access: which part each operation
// gets, that the memory is there only once, and who frees it.
#include <array>

#include "runtime/cuda/shared/layout.h"
#include "tests/catch.h"
#include "tests/runtime/fixture.h"
#include "tests/runtime/ranks.h"

using Catch::Contains;
using fakes::world;
using order::Order;
using ranks::copies;
using ranks::Ranks;
using ranks::stores;
using ranks::tasks;
using ranks::Way;
using sample::count_calls;
using sample::Program;
using sample::run_on;
using sample::Setup;

namespace {

constexpr Way kStores = stores(kReduceScatter);

// A way for ranks to access each other's memory, with any number of rows or with a consumer.
struct Make {
  Way way;
  bool any_m = false;
  tilepost_consumer_t consumer = TILEPOST_CONSUMER_NONE;

  void operator()(Program& program, int ranks, int64_t m) const {
    if (any_m) program.use_any_m();
    program.plan.consumer = consumer;
    ranks::use(program, way, ranks, m);
  }
};
const Make kAnyM{tasks(kAllReduce), true};
const Make kNorm{tasks(kAllReduce), false, TILEPOST_CONSUMER_RMS_NORM};
const Make kMakes[] = {{tasks(kAllReduce)},
                       {tasks(kReduceScatter)},
                       {tasks(kAllToAll)},
                       {tasks(kAllGather)},
                       {ranks::whole(kAllReduce)},
                       {ranks::whole(kReduceScatter)},
                       {ranks::whole(kAllToAll)},
                       {ranks::pushed_rows()},
                       {copies(kAllReduce)},
                       {copies(kAllToAll)},
                       {copies(kReduceScatter)},
                       {copies(kAllGather)},
                       {stores(kAllReduce)},
                       {stores(kReduceScatter)},
                       {stores(kAllToAll)},
                       kAnyM,
                       kNorm};
constexpr int kNumMakes = 17;
static_assert(std::size(kMakes) == kNumMakes);

// Operations of the same ranks. Each has its own program.
class Teams : public OnFakes {
 public:
  explicit Teams(int count) : count_(count) {}
  // Destroys the operations before their communicators.
  ~Teams() noexcept(false) {
    while (!teams_.empty()) teams_.pop_back();
  }

  Ranks& add(const Make& make, int64_t m, bool shares = true) {
    Program& program = *programs_.emplace_back(std::make_unique<Program>());
    make(program, count_, m);
    teams_.push_back(teams_.empty() ? std::make_unique<Ranks>(program, count_)
                                    : std::make_unique<Ranks>(program, *teams_.front()));
    teams_.back()->shares = shares;
    teams_.back()->create();
    INFO(teams_.back()->text());
    REQUIRE(teams_.back()->all_ok());
    return *teams_.back();
  }
  Ranks& at(int i) { return *teams_[i]; }
  int size() const { return static_cast<int>(teams_.size()); }

  void check() const {
    for (const auto& team : teams_) {
      INFO(team->text());
      REQUIRE(team->all_ok());
      CHECK(team->wrong() == 0);
    }
  }

 private:
  const int count_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<Ranks>> teams_;
};

// Two operations on a communicator, on rank 1 of three.
class TwoOperations : public OnFakes {
 public:
  Program one, other;
  Setup first, second;
};

// `length` runs of operations, some of them captured. Both are drawn from `seed`.
std::vector<Ranks::Turn> turns_of(Teams& teams, int length, uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<Ranks::Turn> turns;
  for (int i = 0; i < length; ++i) {
    const int team = static_cast<int>(random() / 7 % teams.size());
    turns.push_back({&teams.at(team), random() / 7 % 4 == 0});
  }
  return turns;
}

// How many pieces of memory each rank has that other ranks access.
int pieces(int ranks) {
  CHECK(world().live_pools % ranks == 0);
  return world().live_pools / ranks;
}

int64_t device_bytes(tilepost_op_t op) {
  tilepost_op_info_t info{};
  REQUIRE(tilepost_op_get_info(op, &info) == TILEPOST_OK);
  return info.device_bytes;
}

}  // namespace

TEST_CASE("shared memory: operations in any order, captured or not, get what they should") {
  const int one = GENERATE(range(0, kNumMakes)), other = GENERATE(range(0, kNumMakes));
  const int count = 2 + (one + other) % 3;
  CAPTURE(count, one, other);
  Teams teams(count);
  teams.add(kMakes[one], 64);
  teams.add(kMakes[other], 37);
  teams.add(kMakes[(one + other) % kNumMakes], 61);
  Ranks::take_turns(turns_of(teams, 12, static_cast<uint32_t>(one * kNumMakes + other + 1)));
  teams.check();
}

TEST_CASE("shared memory: runs that do not overlap come in between, with outputs in it too") {
  Teams teams(3);
  Ranks& some = teams.add(kAnyM, 61);
  Ranks& sums = teams.add({tasks(kReduceScatter)}, 64);
  Ranks& norms = teams.add(kNorm, 61);
  REQUIRE(some.at(0).lent != nullptr);
  CHECK(pieces(3) == 1);
  for (int round = 0; round < 5; ++round) {
    Ranks::take_turns({{&some}, {&sums}, {&some, true}, {&norms}, {&some}, {&sums}, {&sums}});
    some.run_unchecked(1, 5);  // the fakes reduce nothing
    Ranks::take_turns({{&some}, {&sums}, {&some}, {&sums}});
  }
  teams.check();
  CHECK(norms.normalised() == 5 * 3 * 61 * 24);
}

TEST_CASE("shared memory: what a run has left in the operation's own output stays") {
  Program own, other;
  ranks::use(own, tasks(kAllReduce), 3, 48);
  ranks::use(other, tasks(kReduceScatter), 3, 64);
  const auto layout = [](const Program& program) {
    return tilepost::cuda::shared_layout(program.plan, tilepost::most_sizes(program.plan), 256);
  };
  const auto lends = layout(own), sums = layout(other);
  CHECK(lends.pushed == lends.landed);
  CHECK(lends.bytes - lends.pushed >= 48 * 24 * 2);
  CHECK(sums.pushed == sums.bytes);
  CHECK(lends.counters == 256);

  Teams teams(3);
  teams.add({tasks(kAllReduce)}, 64);
  Ranks& lender = teams.add({tasks(kAllReduce)}, 24);
  CHECK(pieces(3) == 1);
  // These sums need more memory than lies in front of the output that is lent.
  teams.add({tasks(kReduceScatter)}, 96);
  CHECK(pieces(3) == 2);
  teams.add({tasks(kReduceScatter)}, 64);
  CHECK(pieces(3) == 2);
  CHECK(lender.at(0).lent == teams.at(0).at(0).lent);
  for (int round = 0; round < 20; ++round)
    Ranks::take_turns({{&lender}, {&teams.at(3)}, {&lender}, {&teams.at(2)}, {&teams.at(3)}});
  teams.check();
}

TEST_CASE("shared memory: it is there once, as large as the first that needs it") {
  Teams teams(2);
  Ranks& large = teams.add({tasks(kAllReduce)}, 64);
  const int64_t bytes = device_bytes(large.at(0).setup.op);
  Ranks& small = teams.add({tasks(kAllReduce)}, 32);
  CHECK(pieces(2) == 1);
  CHECK(device_bytes(small.at(0).setup.op) < bytes - 2 * 64 * 24 * 2);
  teams.add({copies(kAllGather)}, 61);
  CHECK(pieces(2) == 1);
  teams.add({tasks(kAllReduce)}, 80);
  CHECK(pieces(2) == 2);
  teams.add({tasks(kAllReduce)}, 64);
  CHECK(pieces(2) == 2);
  teams.add({tasks(kAllReduce)}, 32, false);
  CHECK(pieces(2) == 3);
  Ranks::take_turns(turns_of(teams, 30, 5));
  teams.check();
}

TEST_CASE("shared memory: sums that are added on their way keep their zeros to themselves") {
  const Make added{stores(kReduceScatter, TILEPOST_SUM_ADDED)};
  Teams teams(2);
  teams.add({tasks(kAllReduce)}, 64);
  teams.add(added, 48);
  teams.add(added, 48);
  CHECK(pieces(2) == 3);
  Ranks::take_turns(turns_of(teams, 20, 9));
  teams.check();
}

TEST_CASE("shared memory: operations go in any order, and the last one frees it") {
  std::vector<int> order = {0, 1, 2};
  for (int skip = GENERATE(range(0, 6)); skip > 0; --skip) std::ranges::next_permutation(order);
  CAPTURE(order);
  Teams teams(3);
  teams.add(kAnyM, 61);
  teams.add({tasks(kAllToAll)}, 61);
  teams.add({copies(kReduceScatter)}, 24);
  Ranks::take_turns(turns_of(teams, 9, 3));
  for (size_t gone = 0; gone < order.size(); ++gone) {
    CHECK(pieces(3) == 1);
    teams.at(order[gone]).destroy();
    for (size_t i = gone + 1; i < order.size(); ++i)
      Ranks::take_turns({{&teams.at(order[i])}, {&teams.at(order[i]), true}});
  }
  CHECK(pieces(3) == 0);
  teams.check();
}

TEST_CASE("shared memory: ranks that destroy operations at different times agree on the rest") {
  const bool keeps_other = GENERATE(false, true);
  const int early = GENERATE(0, 1);
  CAPTURE(keeps_other, early);
  Teams teams(2);
  Ranks& gone = teams.add({tasks(kAllReduce)}, 80);
  if (keeps_other) teams.add({tasks(kAllReduce)}, 96);
  Ranks::take_turns(turns_of(teams, 6, 3));
  gone.on_all([&](int rank, ranks::Rank& mine) {
    if (rank != early) return;
    tilepost_op_destroy(mine.setup.op);
    mine.setup.op = nullptr;
  });
  Ranks& next = teams.add({tasks(kReduceScatter)}, 64);
  CHECK(world().live_pools == 3);  // the other rank has one more
  Ranks::take_turns({{&next}, {&next, true}, {&next}});
  gone.destroy();
  CHECK(pieces(2) == 1);
  Ranks::take_turns({{&next}, {&next}});
  teams.check();
}

TEST_CASE_METHOD(TwoOperations, "shared memory: runs in different streams take turns") {
  const bool shares = GENERATE(false, true), overlaps = GENERATE(false, true);
  CAPTURE(shares, overlaps);
  // The program has no tasks, because runs with tasks take turns in any case.
  one.use_any_m();
  ranks::use(one, kStores, 3, 48);
  ranks::use(other, kStores, 3, 48);
  REQUIRE(first.create(one, 0, 1, shares) == TILEPOST_OK);
  REQUIRE(second.create_on(first.comm, other, 0, shares) == TILEPOST_OK);
  world().reset_calls();
  REQUIRE(run_on(first, fakes::user_stream("a"), overlaps ? 48 : 5) == TILEPOST_OK);
  REQUIRE(run_on(second, fakes::user_stream("b")) == TILEPOST_OK);
  REQUIRE(run_on(first, fakes::user_stream("c"), 48) == TILEPOST_OK);
  const Order order;
  REQUIRE(order.count("gemm") == 3);
  const int begins = overlaps ? 3 : 2, sums = overlaps ? 9 : 6;
  REQUIRE(order.count("shared_begin") == begins);
  REQUIRE(order.count("sum") == sums);
  const int second_begin = begins - 2, last_begin = begins - 1;
  // The end of a run that overlaps is its sums, which have waited for its tiles.
  if (!overlaps) CHECK(order.before("gemm", 0, "shared_begin", second_begin) == shares);
  if (overlaps) CHECK(order.before("sum", 2, "shared_begin", second_begin) == shares);
  CHECK(order.before("sum", sums - 4, "shared_begin", last_begin) == shares);
}

TEST_CASE_METHOD(TwoOperations, "shared memory: making another has its turn too") {
  const bool shares = GENERATE(false, true);
  CAPTURE(shares);
  ranks::use(one, kStores, 3, 48);
  ranks::use(other, kStores, 3, 24);
  REQUIRE(first.create(one, 0, 1, shares) == TILEPOST_OK);
  world().reset_calls();
  REQUIRE(run_on(first, fakes::user_stream("a")) == TILEPOST_OK);
  REQUIRE(second.create_on(first.comm, other, 0, shares) == TILEPOST_OK);
  const Order order;
  REQUIRE(order.count("shared_begin") == 2);
  CHECK(order.before("sum", 2, "shared_begin", 1) == shares);
}

TEST_CASE_METHOD(OnFakes, "shared memory: a failure leaves it to the process, whoever goes last") {
  const bool failed_goes_last = GENERATE(false, true);
  CAPTURE(failed_goes_last);
  leaves_memory();
  Program programs[2];
  for (Program& program : programs) ranks::use(program, tasks(kAllReduce), 3, 48);
  Ranks fails(programs[0], 3, 0.2), other(programs[1], fails);
  fails.shares = other.shares = true;
  fails.create();
  other.create();
  Ranks::take_turns({{&fails}, {&other}, {&fails}, {&other}});
  REQUIRE((fails.all_ok() && other.all_ok()));
  fails.run_but(2);
  for (const int rank : {0, 1}) {
    CHECK(fails.at(rank).result == TILEPOST_TIMEOUT);
    CHECK_THAT(fails.at(rank).text, Contains("0.2 s"));
  }
  // The other operations of the communicator fail too.
  std::array<tilepost_result_t, 3> known{}, started{};
  other.on_all([&](int rank, ranks::Rank& mine) {
    if (rank == 2) return;
    known[rank] = tilepost_op_status(mine.setup.op);
    started[rank] = other.start(mine, 0);
  });
  for (const int rank : {0, 1}) {
    // Runs that had ended may be behind the one that failed in its stream.
    CHECK(known[rank] == TILEPOST_ABORTED);
    CHECK(started[rank] == TILEPOST_ABORTED);
  }
  for (Ranks* team : {failed_goes_last ? &other : &fails, failed_goes_last ? &fails : &other})
    team->destroy();
  CHECK(pieces(3) == 1);
}

// The other ranks may succeed. Then they use the memory in which all ranks have found a place.
TEST_CASE("shared memory: making an operation that fails does no harm to the others") {
  int exchanges = 0;
  bool before = false, behind = false, begun = false;
  for (int fail_at = 0;; ++fail_at) {
    TwoOperations two;
    two.leaves_memory();  // what is left is counted here
    Program &one = two.one, &other = two.other;
    ranks::use(one, kStores, 3, 48);
    ranks::use(other, kStores, 3, 24);
    bool is_found = false;
    {
      Setup &first = two.first, &second = two.second;
      REQUIRE(first.create(one, 0, 1, true) == TILEPOST_OK);
      world().reset_calls();
      world().fail_at = fail_at;
      const tilepost_result_t made = second.create_on(first.comm, other, 0, true);
      CAPTURE(fail_at, world().failed_call);
      world().fail_at = 0;
      if (fail_at == 0) exchanges = count_calls("allgather");
      if (made == TILEPOST_OK && fail_at > 0) break;
      // An exchange that failed after it had begun has aborted the communicator.
      const bool aborted = world().aborted_comms > 0;
      const bool told = !aborted && world().failed_call.rfind("allgather", 0) != 0;
      is_found = made != TILEPOST_OK && told && count_calls("allgather") == exchanges;
      (is_found ? behind : before) = true;
      // A run that has begun and not ended keeps all further runs from beginning.
      const bool has_begun = made != TILEPOST_OK && count_calls("shared_begin") > 0;
      begun |= has_begun;
      const auto wanted = aborted ? TILEPOST_ABORTED : TILEPOST_OK;
      if (!has_begun) CHECK(run_on(first, fakes::user_stream("a")) == wanted);
      if (!has_begun) CHECK(tilepost_op_synchronize(first.op) == TILEPOST_OK);
      second.release();
      first.release();
    }
    CAPTURE(fail_at, world().failed_call);
    CHECK(world().live_pools == (is_found ? 1 : 0));
    CHECK(world().live() == (is_found ? 3 : 0));
  }
  CHECK(before);
  CHECK(behind);
  CHECK(begun);
}

// By then the other ranks know of the memory and may use it.
TEST_CASE("shared memory: a rank that fails alone to make an operation leaves its memory") {
  const Way way = GENERATE(stores(kReduceScatter), copies(kReduceScatter), copies(kAllGather),
                           tasks(kAllReduce), ranks::whole(kAllReduce));
  CAPTURE(way);
  int exchanges = 0, left = 0;
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    op.leaves_memory();
    ranks::use(op.program, way, 3, 48);
    const tilepost_result_t made = failing.attempt([&] { return op.setup.create(op.program); });
    INFO(failing.what());
    if (failing.number() == 0) exchanges = count_calls("allgather");
    const bool known = made != TILEPOST_OK && count_calls("allgather") == exchanges;
    op.release();
    if (known) CHECK(world().live_pools == 1);
    left += known;
  });
  CHECK(left > 10);
}
