// Faults that the checks must catch, in the same harness that passes without them.
#include "tests/catch.h"
#include "tests/host/problem.h"

using hand_woven::Fault;

// A tile that is stored into another group's block, or after its signal, races with the collective
// by intention. ThreadSanitizer would rightly report it.
TEST_CASE("a wrong map is caught", "[races]") {
  Problem problem;
  problem.layout = GENERATE(TILEPOST_PANEL, TILEPOST_TILE);
  problem.consumer =
      problem.layout == TILEPOST_TILE ? TILEPOST_CONSUMER_UNPERMUTE : TILEPOST_CONSUMER_NONE;
  CHECK(run_and_compare(problem, false, 1) == "");
  problem.fault = Fault::swapped_rows;
  CHECK_THAT(run_and_compare(problem, false, 1), Catch::Contains("instead of"));
}

TEST_CASE("a signal before the store is caught", "[races]") {
  Problem problem;
  problem.layout = GENERATE(TILEPOST_PANEL, TILEPOST_TILE);
  CHECK(run_and_compare(problem, false, 3) == "");
  problem.fault = Fault::early_signal;
  CHECK_THAT(run_and_compare(problem, false, 3), Catch::Contains("instead of"));
}

TEST_CASE("a missing signal ends in an error that names group, counter and target") {
  Problem problem;
  problem.transport = GENERATE(TILEPOST_TRANSPORT_HOST, TILEPOST_TRANSPORT_NONE);
  CHECK(run_and_compare(problem, false, 2) == "");
  problem.fault = Fault::missing_signal;
  // 4 rows of 8 tiles, in groups of 1, 1 and 2 rows, or all in one group. The last group lacks a
  // signal.
  const bool overlaps = problem.transport == TILEPOST_TRANSPORT_HOST;
  CHECK_THAT(run_and_compare(problem, false, 2, 0.3),
             Catch::Contains(overlaps ? "group 2 stands at 15, target 16"
                                      : "group 0 stands at 31, target 32"));
}
