// The arithmetic of counters, progress and flags, around zero and around 2^32; where they lie in
// memory; and what follows from their values.
#include <random>
#include <set>

#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/watch/counter_access.h"
#include "runtime/cuda/watch/epoch.h"
#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using namespace tilepost::cuda;
using fakes::world;

TEST_CASE("sums agree with arithmetic that does not wrap") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const uint32_t target = 1 + static_cast<uint32_t>(random() % (1u << 20));
    // Half of the starts are close to a wrap of the counter, where a mistake would show.
    uint64_t start = random() % (uint64_t{1} << 34);
    if (i % 2) start = (uint64_t{1} << 32) * (1 + random() % 4) - random() % (2 * target);
    const uint32_t posted = static_cast<uint32_t>(random() % (target + 1));
    const auto before = static_cast<uint32_t>(start);
    const auto counter = static_cast<uint32_t>(start + posted);
    CAPTURE(target, start, posted);
    REQUIRE(reached(counter, before + target) == (posted == target));
    REQUIRE(signals_of_run(counter, before, target) == posted);
  }
}

TEST_CASE("a counter of an earlier or later run is none or all of this one's signals") {
  CHECK(signals_of_run(8, 16, 8) == 0);
  CHECK(signals_of_run(12, 16, 8) == 0);
  CHECK(signals_of_run(40, 16, 8) == 8);
  CHECK(signals_of_run(0xfffffff8u, 0, 8) == 0);
  CHECK(signals_of_run(5, 0, 0) == 0);
}

TEST_CASE("progress counts the groups of a run, across a wrap") {
  for (const uint32_t before : {0u, 7u, 1000u, 0x80000000u, 0xfffffffeu, 0xffffffffu})
    for (const int groups : {1, 2, 7}) {
      CAPTURE(before, groups);
      CHECK(groups_passed(before - 1, before, groups) == 0);
      CHECK(groups_passed(before, before, groups) == 0);
      for (int g = 0; g < groups; ++g)
        CHECK(groups_passed(progress_word(before, g), before, groups) == g + 1);
      CHECK(groups_passed(progress_word(before, groups), before, groups) == groups);
    }
}

TEST_CASE("words of shared memory are apart and inside") {
  const int ranks = GENERATE(1, 2, 3, 8, 64);
  const int groups = GENERATE(1, 5, 4095);
  std::set<int64_t> seen;
  const auto add = [&](int64_t word) {
    CHECK(word % TILEPOST_COUNTER_STRIDE == 0);
    CHECK(word >= 0);
    CHECK(seen.insert(word).second);
  };
  for (const Flag flag : {Flag::block, Flag::sums})
    for (int lane = 0; lane < kMostLanes; ++lane)
      for (int source = 0; source < ranks; ++source) add(flag_word(flag, lane, source, ranks));
  for (int source = 0; source < ranks; ++source) add(ended_word(source, ranks));
  for (int source = 0; source < ranks; ++source) add(begun_word(source, ranks));
  for (int group = 0; group < groups; ++group) add(counter_word(group, ranks));
  CHECK((*seen.rbegin() + TILEPOST_COUNTER_STRIDE) * 4 == shared_flags_bytes(groups, ranks));
}

TEST_CASE("places of waits are apart and inside") {
  std::set<int> seen;
  for (const Flag flag : {Flag::block, Flag::sums})
    for (int lane = 0; lane < kMostLanes; ++lane)
      for (int source = 0; source < kMostPeers; ++source)
        CHECK(seen.insert(flag_wait(flag, lane, source)).second);
  for (int source = 0; source < kMostPeers; ++source) CHECK(seen.insert(ended_wait(source)).second);
  for (int group = 0; group < kMostPeers; ++group) CHECK(seen.insert(stored_wait(group)).second);
  for (int group = 0; group < kMostPeers; ++group) CHECK(seen.insert(added_wait(group)).second);
  for (int source = 0; source < kMostPeers; ++source) CHECK(seen.insert(begun_wait(source)).second);
  CHECK(stored_wait(kMostPeers + 3) == stored_wait(3));
  CHECK(added_wait(kMostPeers + 3) == added_wait(3));
  CHECK(*seen.begin() == 0);
  CHECK(*seen.rbegin() == kSharedWaits - 1);
}

TEST_CASE("flags grow from group to group and from run to run, across a wrap") {
  std::mt19937 random(3);
  for (int i = 0; i < 100000; ++i) {
    // Most runs are near the wrap of run * kGroupsPerRun, or of the run's own number.
    uint32_t run = (1u << 20) * (random() % 4096) - 3 + random() % 6;
    if (i % 3 == 0) run = random();
    const int most = static_cast<int>(kGroupsPerRun) - 2;
    const int group = static_cast<int>(random() % most);
    CAPTURE(run, group);
    const uint32_t value = flag_value(run, group);
    REQUIRE(reached(value, value));
    REQUIRE(reached(flag_value(run, group + 1), value));
    REQUIRE_FALSE(reached(value, flag_value(run, group + 1)));
    REQUIRE(reached(last_flag_value(run), flag_value(run, most)));
    REQUIRE_FALSE(reached(last_flag_value(run), flag_value(run + 1, 0)));
    REQUIRE(reached(flag_value(run + 1, 0), value));
    REQUIRE_FALSE(reached(last_flag_value(run - 1), value));
  }
}

// Counters are read only for the text of an error. Writing them lets waits on the device go on.
TEST_CASE_METHOD(OnFakes, "counters are written behind a copy that was late") {
  std::vector<uint32_t> bank(2 * TILEPOST_COUNTER_STRIDE, 1);
  CounterAccess access;
  REQUIRE(access.create(2) == TILEPOST_OK);
  fakes::Stream& stream = **world().streams.begin();
  stream.hang = {true, {}};
  CHECK(access.read(bank.data()).empty());
  const bool comes = GENERATE(false, true);
  stream.hang.stuck = !comes;
  access.write(bank.data(), {7, 8});
  CHECK(bank[0] == (comes ? 7 : 1));
  CHECK(bank[TILEPOST_COUNTER_STRIDE] == (comes ? 8 : 1));
}

namespace {

// The flags of one rank of three, and the memory of the others.
struct FlagsOfThree : OnFakes {
  static constexpr int kRanks = 3, kGroups = 4;
  std::vector<uint32_t> memory[kRanks];
  uint32_t run = 0, given_up = 0, expected[2 * kGroups] = {}, half = 0, kind = 0;
  WatchPage page{};
  SharedFlags flags{};
  CUstream_st* const stream = fakes::user_stream("lane");

  FlagsOfThree() {
    for (int r = 0; r < kRanks; ++r) {
      memory[r].assign(shared_flags_bytes(kGroups, kRanks) / sizeof(uint32_t), 0);
      flags.of[r] = memory[r].data();
    }
    flags.rank = 1;
    flags.ranks = kRanks;
    flags.run = &run;
    flags.given_up = &given_up;
    flags.kind = &kind;
    flags.expected = expected;
    flags.counters = kGroups;
    flags.half = &half;
    flags.page = &page;
  }
  uint32_t& own(int64_t word) { return memory[1][static_cast<size_t>(word)]; }
};

}  // namespace

TEST_CASE_METHOD(
    FlagsOfThree,
    "all have ended when every rank has ended what it has begun, and as much as this one") {
  const auto set = [&](int rank, uint32_t begun, uint32_t ended) {
    own(begun_word(rank, kRanks)) = begun;
    own(ended_word(rank, kRanks)) = ended;
  };
  for (const uint32_t runs : {0u, 7u, 0xffffffffu}) {
    for (int r = 0; r < kRanks; ++r) set(r, runs, runs);
    CHECK(wait_until_all_ended(flags, 0.01));
    set(2, runs - 1, runs - 1);
    CHECK_FALSE(wait_until_all_ended(flags, 0.01));
    set(2, runs, runs - 1);
    CHECK_FALSE(wait_until_all_ended(flags, 0.01));
    set(2, runs + 1, runs + 1);
    CHECK(wait_until_all_ended(flags, 0.01));
    set(2, runs + 1, runs);  // has begun a further run, which was given up
    CHECK_FALSE(wait_until_all_ended(flags, 0.01));
    set(2, runs, runs);
  }
  world().reset_calls();
  world().fail_at = 1;
  CHECK_FALSE(wait_until_all_ended(flags, 0.01));
}

TEST_CASE_METHOD(FlagsOfThree, "a run that was given up has begun and never ends") {
  const bool aborted = GENERATE(false, true);
  SharedFlags other = flags;
  other.rank = 0;
  REQUIRE(launch_shared_begin(flags, {}, stream) == cudaSuccess);
  memory[0][begun_word(0, kRanks)] = 1;
  memory[0][begun_word(2, kRanks)] = 1;
  memory[0][ended_word(0, kRanks)] = 1;
  memory[0][ended_word(2, kRanks)] = 1;
  CHECK_FALSE(wait_until_all_ended(other, 0.01));
  page.abort = aborted;
  REQUIRE(launch_shared_end(flags, false, stream) == cudaSuccess);
  CHECK(wait_until_all_ended(other, 0.01) == !aborted);
}

// A kernel that exchanges tiles announces to no rank that it has ended. The rank then records only
// for itself that the run has ended.
TEST_CASE_METHOD(FlagsOfThree, "a rank settles its last run with itself alone") {
  const bool exchanged = GENERATE(false, true), failed = GENERATE(false, true);
  CAPTURE(exchanged, failed);
  run = 7;
  kind = exchanged ? TILEPOST_EXCHANGES | 3 : 3;
  given_up = failed ? 1 : 0;
  for (int rank = 0; rank < kRanks; ++rank) own(begun_word(rank, kRanks)) = 7;
  const auto others = memory[0];
  REQUIRE(launch_settle(flags, stream) == cudaSuccess);
  CHECK(wait_until_all_ended(flags, 0.01) == (exchanged && !failed));
  own(begun_word(2, kRanks)) = 8;  // another rank's run without this rank, which may store here
  CHECK_FALSE(wait_until_all_ended(flags, 0.01));
  CHECK(memory[0] == others);
}
