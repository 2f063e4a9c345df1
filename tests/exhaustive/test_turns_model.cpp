// Tries every order of steps in which kernels add other ranks' tiles to their own. With all rules
// every order is right. Without any one rule some order goes wrong.
#include "tests/catch.h"
#include "tests/exhaustive/turns_model.h"

using Catch::Contains;

namespace tilepost::test {
namespace {

std::vector<TurnsWorld> worlds() {
  return {{{1, 1}, {0, 0, 0, 0}}, {{1, 0}, {0, 0, 0}},  // rank 1 gets nothing
          {{2, 2}, {0, 0, 0}},    {{2, 1}, {0, 0, 0}},       {{3, 2}, {0, 0}, 1, 1},
          {{2, 2}, {0, 0, 0}, 2}, {{2, 2}, {0, 0, 0}, 2, 1}, {{1, 1, 1}, {0, 0}},
          {{1, 1, 0}, {0, 0, 0}}, {{1, 0, 0}, {0, 0, 0}},    {{2, 1, 0}, {0, 0}, 1, 1}};
}

// Worlds with runs of another kind before, between and behind the others.
std::vector<TurnsWorld> worlds_of_two_kinds() {
  return {{{1, 1}, {0, 1, 0}},    {{1, 1}, {0, 1, 1, 0}}, {{1, 1}, {1, 0, 1}},
          {{1, 0}, {0, 1, 0, 0}}, {{2, 2}, {0, 1, 0}, 2}, {{1, 0, 0}, {0, 1, 0}}};
}

// Worlds in which run 2 has the number 0, because numbers wrap there. Fresh memory holds 0 too. In
// the last world run 2 has the number 64, half of all numbers. For numbers above 64 a word that
// still holds 0 counts as later.
std::vector<TurnsWorld> worlds_of_zero() {
  return {{{1, 1}, {0, 0, 0}, 1, 0, 126},
          {{2, 1}, {0, 0, 0}, 2, 0, 126},
          {{1, 1}, {0, 1, 0}, 1, 0, 126},
          {{1, 1}, {0, 0, 0}, 1, 0, 62}};
}

// Worlds in which all ranks get the sums.
std::vector<TurnsWorld> worlds_that_spread() {
  std::vector<TurnsWorld> all = {
      {{1, 1}, {0, 0, 0}}, {{1, 0}, {0, 0, 0}}, {{2, 2}, {0, 0}, 1, 1},        {{2, 1}, {0, 0}, 2},
      {{1, 1, 0}, {0, 0}}, {{1, 1}, {0, 1, 0}}, {{1, 1}, {0, 0, 0}, 1, 0, 126}};
  for (TurnsWorld& world : all) world.spreads = true;
  return all;
}

// Worlds in which nothing is added.
std::vector<TurnsWorld> worlds_that_leave() {
  std::vector<TurnsWorld> all = {{{1, 1}, {0, 0, 0, 0}},    {{1, 0}, {0, 0, 0}},
                                 {{2, 2}, {0, 0, 0}, 1, 1}, {{2, 1}, {0, 0}, 2},
                                 {{1, 1, 1}, {0, 0}},       {{1, 1, 0}, {0, 0}},
                                 {{1, 1}, {0, 1, 0}},       {{1, 1}, {1, 0, 1}},
                                 {{1, 0}, {0, 1, 0, 0}},    {{1, 1}, {0, 0, 0}, 1, 0, 126}};
  for (TurnsWorld& world : all) world.leaves = true;
  return all;
}

std::vector<TurnsWorld> all_worlds() {
  std::vector<TurnsWorld> all = worlds();
  for (const auto& more :
       {worlds_of_two_kinds(), worlds_of_zero(), worlds_that_spread(), worlds_that_leave()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

// The fault in the first world that has one with these rules, or "".
std::string fault_of(const std::vector<TurnsWorld>& worlds, const TurnsRules& rules) {
  for (const TurnsWorld& world : worlds) {
    const TurnsResult result = try_all_turns(world, rules);
    if (!result.fault.empty()) return result.fault;
  }
  return "";
}

std::string fault_without(bool TurnsRules::*rule, const std::vector<TurnsWorld>& worlds) {
  TurnsRules rules;
  rules.*rule = false;
  return fault_of(worlds, rules);
}

}  // namespace

TEST_CASE("kernels that add other ranks' tiles are right in every order of their steps") {
  size_t states = 0;
  for (const TurnsWorld& world : all_worlds()) {
    const TurnsResult result = try_all_turns(world, {});
    CAPTURE(world.tiles, world.kinds, world.ctas, world.lag, world.before, result.states);
    CHECK(result.fault.empty());
    states += result.states;
  }
  CHECK(states > 150000);
}

TEST_CASE("without a rule of flags some order of other ranks' tiles goes wrong") {
  const auto fault = [](bool TurnsRules::*rule) { return fault_without(rule, worlds()); };
  CHECK(fault(&TurnsRules::waits_for_flags) == "rank 0 reads of run 0 in run 1");
  CHECK_THAT(fault(&TurnsRules::flags_behind_data), Contains("in run"));
  CHECK(fault(&TurnsRules::right_run) == "rank 0 reads of run 0 in run 1");
  CHECK_THAT(fault(&TurnsRules::right_tile), Contains("reads of run 0 in run 1"));
  CHECK_THAT(fault_without(&TurnsRules::renews, worlds_of_zero()), Contains("in run 0"));
}

TEST_CASE("one set of slots is enough because stores come behind the begin of all ranks") {
  // Rank 0 adds in run 2 or 1, and finds what a rank that is ahead has stored for the next run.
  for (const auto rule : {&TurnsRules::stores_behind_begun, &TurnsRules::begun_behind_end}) {
    CHECK(fault_without(rule, {{{1, 0}, {0, 0, 0}}}) == "rank 0 reads of run 3 in run 2");
    CHECK(fault_without(rule, {{{1, 1, 0}, {0, 0}}}) == "rank 0 reads of run 2 in run 1");
  }
  CHECK(fault_without(&TurnsRules::waits_for_other_kinds, worlds_of_two_kinds()) ==
        "rank 0 reads of run 3 in run 2");
}

TEST_CASE("sums that all ranks get are there when the kernel ends") {
  for (const auto rule : {&TurnsRules::waits_for_sums, &TurnsRules::sums_behind_stores})
    CHECK_THAT(fault_without(rule, worlds_that_spread()), Contains("in run"));
  // Each sum has a source from every rank, and a rank stores its source after its caller has read
  // the sums of the run before.
  TurnsWorld one = {{1, 0}, {0, 0, 0}};
  one.spreads = true;
  CHECK(fault_without(&TurnsRules::stores_behind_begun, {one}).empty());
}

TEST_CASE("tiles that nothing is added to are there when the kernel ends, and not before") {
  for (const auto rule :
       {&TurnsRules::waits_for_sums, &TurnsRules::sums_behind_stores, &TurnsRules::renews})
    CHECK_THAT(fault_without(rule, worlds_that_leave()), Contains("in run"));
  // The caller finds what a rank that is ahead has stored for the next run.
  TurnsWorld one = {{1, 0}, {0, 0, 0}};
  one.leaves = true;
  for (const auto rule : {&TurnsRules::stores_behind_begun, &TurnsRules::begun_behind_end})
    CHECK_THAT(fault_without(rule, {one}), Contains("in run"));
  CHECK_THAT(fault_without(&TurnsRules::waits_for_other_kinds, worlds_that_leave()),
             Contains("in run"));
}

TEST_CASE("own tiles that do not come behind the others' wait for ever") {
  CHECK(fault_without(&TurnsRules::own_behind_others, worlds()) == "all ranks wait");
  CHECK(fault_without(&TurnsRules::one_order, worlds()) == "all ranks wait");
  // With a CTA for each of two tiles, one goes on while the other waits.
  CHECK(fault_without(&TurnsRules::own_behind_others, {{{1, 1}, {0, 0, 0}, 2}}).empty());
}

TEST_CASE("what a run is lies apart for two runs, whose flags need not") {
  CHECK(fault_without(&TurnsRules::words_of_two_runs, worlds()) == "all ranks wait");
  CHECK(fault_without(&TurnsRules::two_flags, worlds()).empty());
}

}  // namespace tilepost::test
