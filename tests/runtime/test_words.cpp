// The arithmetic of counters and progress, around zero and around 2^32, and the texts of timeouts.
#include <random>

#include "runtime/cuda/watch/epoch.h"
#include "runtime/cuda/watch/timeout.h"
#include "runtime/cuda/watch/watch_page.h"
#include "tests/catch.h"

using namespace tilepost::cuda;
using Catch::Contains;

TEST_CASE("sums agree with arithmetic that does not wrap") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const uint32_t target = 1 + static_cast<uint32_t>(random() % (1u << 20));
    // Half of the runs around a wrap of the counter, where a mistake would show.
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
