// FlagsOfThree in shared memory and what a wait for another rank says of itself.
#include <random>
#include <set>

#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/watch/epoch.h"
#include "runtime/cuda/watch/timeout.h"
#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using namespace tilepost::cuda;
using Catch::Contains;
using fakes::world;

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
  CHECK(stored_wait(kMostPeers + 3) == stored_wait(3));
  CHECK(added_wait(kMostPeers + 3) == added_wait(3));
  CHECK(*seen.begin() == 0);
  CHECK(*seen.rbegin() == kSharedWaits - 1);
}

TEST_CASE("flags grow from group to group and from run to run, across a wrap") {
  std::mt19937 random(3);
  for (int i = 0; i < 100000; ++i) {
    // Runs around the wrap of run * kGroupsPerRun, and of the run's own number.
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

namespace {

// The words of one rank of three, the others' beside them.
struct FlagsOfThree : OnFakes {
  static constexpr int kRanks = 3, kGroups = 4;
  std::vector<uint32_t> memory[kRanks];
  uint32_t run = 0, given_up = 0, expected[kGroups] = {};
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
    flags.expected = expected;
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
    set(2, runs + 1, runs);  // ahead, and given up
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
  REQUIRE(launch_shared_begin(flags, nullptr, 0, stream) == cudaSuccess);
  memory[0][begun_word(0, kRanks)] = 1;
  memory[0][begun_word(2, kRanks)] = 1;
  memory[0][ended_word(0, kRanks)] = 1;
  memory[0][ended_word(2, kRanks)] = 1;
  CHECK_FALSE(wait_until_all_ended(other, 0.01));
  page.abort = aborted;
  REQUIRE(launch_shared_end(flags, stream) == cudaSuccess);
  CHECK(wait_until_all_ended(other, 0.01) == !aborted);
}

TEST_CASE("open waits: the one that gave up, then the earliest group, with all its ranks") {
  WatchPage page{};
  CHECK_FALSE(find_open_wait(page.shared));
  page.shared[flag_wait(Flag::sums, 1, 3)] = {kWaiting, 4, 0, 9};
  page.shared[flag_wait(Flag::block, 0, 2)] = {kWaiting, 2, 0, 9};
  page.shared[flag_wait(Flag::block, 0, 5)] = {kWaiting, 2, 0, 9};
  auto open = find_open_wait(page.shared);
  REQUIRE(open);
  CHECK(open->what == Awaited::block);
  CHECK_FALSE(open->gave_up);
  CHECK(open->group == 2);
  CHECK(open->ranks == std::vector<int>{2, 5});
  page.shared[flag_wait(Flag::sums, 1, 3)].state = kGaveUp;
  open = find_open_wait(page.shared);
  REQUIRE(open);
  CHECK(open->what == Awaited::sums);
  CHECK(open->gave_up);
  CHECK(open->ranks == std::vector<int>{3});
  page = {};
  page.shared[stored_wait(70)] = {kWaiting, 70, 0xfffffffe, 3};
  open = find_open_wait(page.shared);
  REQUIRE(open);
  CHECK(open->what == Awaited::stored);
  CHECK(open->group == 70);
  CHECK(open->missing == 5);
  CHECK(open->ranks.empty());
  page = {};
  page.shared[added_wait(3)] = {kGaveUp, 3, 2, 9};
  open = find_open_wait(page.shared);
  REQUIRE(open);
  CHECK(open->what == Awaited::added);
  CHECK(open->group == 3);
  CHECK(open->missing == 7);
  CHECK(open->ranks.empty());
  page = {};
  page.shared[ended_wait(0)] = {kWaiting, 0, 3, 4};
  open = find_open_wait(page.shared);
  REQUIRE(open);
  CHECK(open->what == Awaited::ended);
}

TEST_CASE("a timeout names the rank that is waited for") {
  TimeoutFacts facts;
  facts.rank = 1;
  facts.run = "run 7";
  facts.seconds = 3;
  facts.collective = "ReduceScatter";
  facts.groups = 5;
  const auto text = [&](const OpenWait& wait) {
    facts.open = wait;
    return explain_timeout(facts);
  };
  CHECK(
      text({Awaited::block, true, 1, {3}, 0}) ==
      "rank 1: run 7: rank 3 did not announce group 2 of 5 within 3 s: it has stopped, or did not "
      "arrive");
  CHECK_THAT(text({Awaited::block, false, 1, {2, 3}, 0}),
             Contains("ranks 2, 3 did not announce group 2 of 5"));
  CHECK_THAT(text({Awaited::sums, true, 4, {0}, 0}),
             Contains("rank 0 did not announce the sums of group 5 of 5 within 3 s"));
  CHECK_THAT(text({Awaited::ended, true, -1, {3}, 0}),
             Contains("rank 3 did not end the run before within 3 s"));
  CHECK_THAT(text({Awaited::stored, true, 0, {}, 12}),
             Contains("group 1 of 5: not all ranks' tiles were stored within 3 s: 12 signals are "
                      "missing"));
  CHECK_THAT(text({Awaited::added, true, 2, {}, 3}),
             Contains("group 3 of 5: not added up within 3 s: 3 chunks are missing; its tiles were "
                      "stored"));
  facts.gathers = true;
  CHECK_THAT(text({Awaited::added, true, 0, {}, 3}),
             Contains("group 1 of 5: this rank's rows were not copied within 3 s: 3 chunks are "
                      "missing; the GEMM, whose warps copy them, has stopped"));
  facts.gathers = false;
  facts.open.reset();
  facts.stored_by_all = facts.tasks = true;
  CHECK_THAT(explain_timeout(facts),
             Contains("all groups not finished after 3 s: nothing of other ranks is missing"));
  facts.tasks = false;
  facts.passed = 2;
  CHECK_THAT(
      explain_timeout(facts),
      Contains("group 3 of 5 not finished after 3 s: the communication stream has not come"));
  facts.passed = 5;
  CHECK_THAT(explain_timeout(facts), Contains("group 5 of 5") && Contains("ReduceScatter did not"));
}
