// Tries every order of steps in which kernels can exchange tiles. With all rules every order is
// right. Without any one rule some order goes wrong.
#include "tests/catch.h"
#include "tests/exhaustive/exchange_model.h"

using Catch::Contains;

namespace tilepost::test {
namespace {

const std::vector<int> kOneKind = {0, 0, 0}, kTwoKinds = {0, 1, 0};

std::vector<ExchangeWorld> worlds() {
  std::vector<ExchangeWorld> all;
  for (const auto& kinds : {kOneKind, kTwoKinds}) {
    for (const tilepost_shots_t shots : {TILEPOST_ONE_SHOT_LINES, TILEPOST_ONE_SHOT}) {
      all.push_back({2, 1, shots, false, kinds});
      all.push_back({2, 1, shots, true, kinds});  // rank 1 gets nothing
    }
    all.push_back({2, 1, TILEPOST_TWO_SHOT, false, kinds});
  }
  all.push_back({2, 3, TILEPOST_TWO_SHOT, false, {0}, false, 0, true});
  all.push_back({2, 1, TILEPOST_ONE_SHOT_LINES, false, {0, 0, 1, 1, 0}});
  all.push_back({2, 2, TILEPOST_ONE_SHOT_LINES, true, {0, 0, 0}});
  all.push_back({2, 2, TILEPOST_ONE_SHOT, true, {0, 0, 0}});
  all.push_back({3, 1, TILEPOST_ONE_SHOT_LINES, true, {0, 0, 0}});
  return all;
}

// Worlds in which rows of A move.
std::vector<ExchangeWorld> worlds_of_rows() {
  return {{2, 1, TILEPOST_ONE_SHOT, false, kOneKind, true},
          {2, 1, TILEPOST_ONE_SHOT, false, kTwoKinds, true},
          {2, 1, TILEPOST_ONE_SHOT, true, kOneKind, true},  // rank 1 has no rows
          {2, 2, TILEPOST_ONE_SHOT, true, kOneKind, true},
          {2, 2, TILEPOST_ONE_SHOT, false, {0, 0}, true}};
}

// The fault in the first world that has one with these rules, or "".
std::string fault_of(const std::vector<ExchangeWorld>& worlds, const ExchangeRules& rules) {
  for (const ExchangeWorld& world : worlds) {
    const ExchangeResult result = try_all_orders(world, rules);
    if (!result.fault.empty()) return result.fault;
  }
  return "";
}

// A rule that is left out, and the fault that follows.
struct Mutant {
  bool ExchangeRules::*rule;
  const char* fault;
};

void check_faults(const std::vector<ExchangeWorld>& worlds, std::initializer_list<Mutant> all) {
  for (const Mutant& mutant : all) {
    ExchangeRules rules;
    rules.*mutant.rule = false;
    CHECK_THAT(fault_of(worlds, rules), Contains(mutant.fault));
  }
}

// Worlds in whose second run the numbers of runs wrap to 0, which fresh memory also holds.
std::vector<ExchangeWorld> worlds_of_zero() {
  std::vector<ExchangeWorld> all;
  for (const tilepost_shots_t shots :
       {TILEPOST_ONE_SHOT_LINES, TILEPOST_ONE_SHOT, TILEPOST_TWO_SHOT})
    all.push_back({2, 1, shots, false, kOneKind, false, 126});
  all.push_back({2, 1, TILEPOST_ONE_SHOT, true, kOneKind, false, 126});
  all.push_back({2, 1, TILEPOST_ONE_SHOT, false, kTwoKinds, false, 126});
  all.push_back({2, 1, TILEPOST_ONE_SHOT, true, kOneKind, true, 126});
  all.push_back({2, 1, TILEPOST_ONE_SHOT, false, kOneKind, false, 62});  // half way to the wrap
  return all;
}

}  // namespace

TEST_CASE("numbers of runs that are waited for may come back to that of fresh memory") {
  for (const ExchangeWorld& world : worlds_of_zero()) {
    const ExchangeResult result = try_all_orders(world, {});
    CAPTURE(static_cast<int>(world.shots), world.scatters, world.gathers, world.kinds[1],
            world.before, result.states);
    CHECK(result.fault.empty());
  }
  check_faults(worlds_of_zero(), {{&ExchangeRules::renews, "reads nothing in run 0"},
                                  {&ExchangeRules::renews_before_begun, "all ranks wait"}});
}

TEST_CASE("kernels that exchange tiles are right in every order of their steps") {
  size_t states = 0;
  for (const ExchangeWorld& world : worlds()) {
    const ExchangeResult result = try_all_orders(world, {});
    CAPTURE(world.ranks, world.parts, static_cast<int>(world.shots), world.scatters, world.kinds[1],
            result.states);
    CHECK(result.fault.empty());
    states += result.states;
  }
  CHECK(states > 400000);
}

TEST_CASE("without any one of the rules some order of steps goes wrong") {
  check_faults(worlds(), {{&ExchangeRules::waits_for_flags, "reads of run 0 in run 1"},
                          {&ExchangeRules::flags_behind_data, "reads of run 0 in run 1"},
                          {&ExchangeRules::two_buffers, "reads of run 3 in run 2"},
                          {&ExchangeRules::meets, "all ranks wait"},
                          {&ExchangeRules::right_run, "reads of run 0 in run 1"},
                          {&ExchangeRules::waits_for_other_kinds, "reads of run 3 in run 2"},
                          {&ExchangeRules::words_of_two_runs, "all ranks wait"},
                          {&ExchangeRules::sums_behind_all, "reads of run 3 in run 2"},
                          {&ExchangeRules::one_order, "all ranks wait"}});
}

TEST_CASE("kernels that exchange rows of A are right in every order of their steps") {
  size_t states = 0;
  for (const ExchangeWorld& world : worlds_of_rows()) {
    const ExchangeResult result = try_all_orders(world, {});
    CAPTURE(world.ranks, world.parts, world.kinds[1], result.states);
    CHECK(result.fault.empty());
    states += result.states;
  }
  CHECK(states > 400000);
}

TEST_CASE("without any one of the rules some order of rows of A goes wrong") {
  check_faults(worlds_of_rows(),
               {{&ExchangeRules::waits_for_flags, "reads of run 0 in run 1"},
                {&ExchangeRules::flags_behind_data, "reads of run 0 in run 1"},
                {&ExchangeRules::two_buffers, "reads of run 3 in run 2"},
                {&ExchangeRules::meets, "reads of run 3 in run 1"},
                {&ExchangeRules::right_run, "reads of run 0 in run 1"},
                {&ExchangeRules::waits_for_other_kinds, "reads of run 3 in run 2"},
                {&ExchangeRules::words_of_two_runs, "all ranks wait"}});
}

}  // namespace tilepost::test
