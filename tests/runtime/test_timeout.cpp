// The error of a run that did not end in time: what is still open on the device, and the texts.
#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/watch/timeout.h"
#include "runtime/cuda/watch/watch_page.h"
#include "tests/catch.h"

using namespace tilepost::cuda;
using Catch::Contains;

TEST_CASE("a timeout names what is missing") {
  TimeoutFacts facts;
  facts.rank = 1;
  facts.run = "run 7";
  facts.seconds = 60;
  facts.collective = "AllReduce";
  facts.groups = 3;
  facts.targets = {1024, 1024, 512};
  SECTION("tiles of the group that is waited for") {
    facts.passed = 1;
    facts.arrived = {1024, 512, 0};
    CHECK(explain_timeout(facts) ==
          "rank 1: run 7: group 2 of 3 not finished after 60 s: its tiles were not: counter 512 of "
          "1024; the GEMM has stopped or is still waiting to run");
  }
  SECTION("a rank, in the group that was waited for last") {
    facts.passed = 2;
    facts.arrived = {1024, 1024, 512};
    facts.arrived[2] = 512;
    CHECK_THAT(explain_timeout(facts), Contains("group 2 of 3") && Contains("did not arrive"));
  }
  SECTION("a rank, in the last group") {
    facts.passed = 3;
    facts.arrived = {1024, 1024, 512};
    CHECK_THAT(explain_timeout(facts), Contains("group 3 of 3") && Contains("did not arrive"));
  }
  SECTION("a rank, and later tiles that are not there either") {
    facts.passed = 1;
    facts.arrived = {1024, 1024, 100};
    CHECK_THAT(explain_timeout(facts), Contains("group 1 of 3") && Contains("did not arrive"));
  }
  SECTION("nothing of its own: the stream did not get to it") {
    facts.arrived = {1024, 1024, 512};
    CHECK_THAT(explain_timeout(facts), Contains("has not come to it"));
  }
  SECTION("counters that cannot be read") {
    CHECK_THAT(explain_timeout(facts), Contains("could not be read"));
    facts.passed = 2;
    CHECK_THAT(explain_timeout(facts), Contains("group 2 of 3") && Contains("did not arrive"));
  }
  SECTION("without overlap") {
    facts.overlaps = false;
    facts.arrived = {1024, 1024, 100};
    CHECK_THAT(explain_timeout(facts), Contains("group 3 of 3") && Contains("counter 100 of 512"));
    facts.arrived = {1024, 1024, 512};
    CHECK_THAT(explain_timeout(facts), Contains("all groups") && Contains("did not arrive"));
  }
  SECTION("without communication no rank is missed") {
    facts.overlaps = false;
    facts.collective = "";
    facts.arrived = {1024, 1024, 512};
    CHECK_THAT(explain_timeout(facts), Contains("did not end") && !Contains("arrive"));
  }
  SECTION("a GEMM that holds its SMs, which a neighbour may need") {
    facts.holds_sms = true;
    facts.passed = 1;
    facts.arrived = {1024, 512, 0};
    CHECK_THAT(explain_timeout(facts),
               Contains("still waiting to run; if another communicator's collective runs beside "
                        "it, plan with 'neighbours: true'"));
  }
  SECTION("rows that do not arrive before the GEMM") {
    facts.gathers = true;
    facts.collective = "AllGather";
    facts.passed = 1;
    CHECK(explain_timeout(facts) ==
          "rank 1: run 7: group 2 of 3 not finished after 60 s: its rows have not arrived: the "
          "AllGather did not finish: a rank did not arrive");
    facts.passed = 3;
    CHECK_THAT(explain_timeout(facts),
               Contains("their rows have arrived, but the GEMM has stopped"));
    facts.overlaps = false;
    CHECK_THAT(explain_timeout(facts), Contains("all groups") &&
                                           Contains("the AllGather did not") &&
                                           Contains("or the GEMM after it has stopped"));
  }
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
