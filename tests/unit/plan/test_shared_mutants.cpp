// verify_plan must notice what goes wrong between ranks that read or write each other's memory.
#include <algorithm>

#include "tests/unit/plan/exchange_mutants.h"

namespace tilepost::test {
namespace {

// The findings for the traffic after `change` has changed steps of group g on every rank, so that
// all ranks are wrong in the same way.
std::string follow_all(const Plan& plan, int g, StepKind kind,
                       const std::function<void(std::vector<Step>&, size_t)>& change,
                       bool& changed) {
  return follow(plan, [&](int group, int, std::vector<Step>& steps) {
    if (group != g) return;
    for (size_t i = steps.size(); i-- > 0;)
      if (steps[i].kind == kind) {
        change(steps, i);
        changed = true;
      }
  });
}

TEST_CASE("caught: a step of shared memory that is wrong, missing or of another kind everywhere") {
  constexpr auto kFirst = static_cast<int>(StepKind::announce);
  constexpr auto kLast = static_cast<int>(StepKind::landed_part);
  int mutants = 0;
  for (const Plan& plan : shared_subjects())
    for (int g = 0; g < static_cast<int>(plan.cuts().size()); ++g)
      for (int kind = kFirst; kind <= kLast; ++kind) {
        const auto caught = [&](const std::string& what,
                                const std::function<void(std::vector<Step>&, size_t)>& change) {
          bool changed = false;
          const std::string text =
              follow_all(plan, g, static_cast<StepKind>(kind), change, changed);
          if (!changed) return;
          ++mutants;
          INFO(name(plan) << ", group " << g << ", kind " << kind << ": " << what);
          REQUIRE(text != "");
        };
        caught("missing", [](std::vector<Step>& s, size_t i) { s.erase(s.begin() + i); });
        caught("twice", [](std::vector<Step>& s, size_t i) { s.push_back(s[i]); });
        for (int other = kFirst; other <= kLast; ++other)
          if (other != kind)
            caught("of kind " + std::to_string(other), [&](std::vector<Step>& s, size_t i) {
              s[i].kind = static_cast<StepKind>(other);
            });
        for (const Mutation& mutation : kMutations)
          if (mutation.applies(static_cast<StepKind>(kind)))
            caught(mutation.what,
                   [&](std::vector<Step>& s, size_t i) { mutation.apply(s[i], width(plan)); });
      }
  REQUIRE(mutants > 1000);
}

// Whether an announcement or a sum is wrong at the end of its group (`to_end`) or at its beginning,
// if the group also has a step of kind `other`.
bool matters(StepKind kind, bool to_end, StepKind other) {
  const bool gets_sums = other == StepKind::pull_sums || other == StepKind::landed_sums;
  switch (kind) {
    case StepKind::announce:
      return to_end ? !gets_sums : other == StepKind::push_rows || other == StepKind::own_rows;
    case StepKind::announce_sums:
      return to_end ? gets_sums : other == StepKind::sum || other == StepKind::push_sums;
    default:
      return to_end ? other == StepKind::announce_sums || other == StepKind::push_sums
                    : other == StepKind::pull_part;
  }
}

TEST_CASE("caught: a rank that waits before it announces, or announces what is not there yet") {
  int mutants = 0;
  for (const Plan& plan : shared_subjects())
    for (int g = 0; g < static_cast<int>(plan.cuts().size()); ++g)
      for (const StepKind kind : {StepKind::announce, StepKind::announce_sums, StepKind::sum}) {
        const std::vector<Step> steps = [&] {
          TrafficMemory memory;
          return traffic_of(plan, memory).steps(g, 1);
        }();
        const auto at = std::ranges::find(steps, kind, &Step::kind);
        if (at == steps.end()) continue;
        const auto index = at - steps.begin();
        for (const bool to_end : {false, true}) {
          std::vector<Step> moved = steps;
          moved.erase(moved.begin() + index);
          moved.insert(to_end ? moved.end() : moved.begin(), *at);
          const auto first = to_end ? index + 1 : 0, last = to_end ? std::ssize(steps) : index;
          if (std::none_of(steps.begin() + first, steps.begin() + last,
                           [&](const Step& other) { return matters(kind, to_end, other.kind); }))
            continue;
          ++mutants;
          INFO(name(plan) << ", group " << g << ", kind " << static_cast<int>(kind) << " to the "
                          << (to_end ? "end" : "beginning"));
          REQUIRE(follow(plan, [&](int group, int rank, std::vector<Step>& changed) {
                    if (group == g && rank == 1) changed = moved;
                  }) != "");
        }
      }
  REQUIRE(mutants > 20);
}

TEST_CASE("caught: a counter that is waited for as if it counted other tiles") {
  for (const Plan& plan : shared_subjects()) {
    if (!path_of(plan, true).stores_by_owner) continue;
    for (int rank = 0; rank < kRanks; ++rank)
      for (size_t g = 0; g < plan.cuts().size(); ++g)
        for (const int more : {-1, 1}) {
          TrafficMemory memory;
          Traffic traffic = traffic_of(plan, memory);
          traffic.targets[rank][g] += more;
          Findings findings;
          follow_product(plan, traffic, findings);
          REQUIRE(join(findings.take()).find("other numbers of signals") != std::string::npos);
        }
  }
}

TEST_CASE("caught: a kernel that stores a tile for another group than its owner's steps read") {
  for (const Plan& plan : shared_subjects()) {
    if (!path_of(plan, true).stores_by_owner) continue;
    TrafficMemory memory;
    Traffic traffic = traffic_of(plan, memory);
    TileMap map = *traffic.maps[1];
    for (tilepost_tile_t& tile : map.tiles)
      if (tile.m == 0) tile.group = 1;  // was in the first group
    traffic.maps[1] = &map;
    for (int g = 0; g < 2; ++g) {  // the owner waits for the signals that are posted now
      const uint32_t moved = 3;
      traffic.targets[0][g] += g == 0 ? -moved : moved;
    }
    Findings findings;
    follow_product(plan, traffic, findings);
    INFO(name(plan));
    REQUIRE(join(findings.take()).find("is none of this rank's") != std::string::npos);
  }
}

TEST_CASE("caught: an access that is not the transport's, or that the plan is not made for") {
  const Plan read = shared(TILEPOST_ACCESS_READ, TILEPOST_GEMM_REDUCE_SCATTER);
  const Plan write = shared(TILEPOST_ACCESS_WRITE, TILEPOST_GEMM_ALL_TO_ALL);
  require_caught(read, "access", [](Plan& plan) { plan.access = TILEPOST_ACCESS_WRITE; });
  require_caught(read, "access",
                 [](Plan& plan) { plan.planned_transport = TILEPOST_TRANSPORT_NCCL; });
  require_caught(read, "stagger -1", [](Plan& plan) { plan.map.stagger = -1; });
  require_caught(write, "access 2 and stagger 4 for gemm_all_to_all",
                 [](Plan& plan) { plan.routing = TILEPOST_ROUTING_SPLITS; });
  const auto push = [](Plan& plan) { plan.pushes = !plan.pushes; };
  for (const Plan& plan : shared_subjects()) {
    const bool either =
        plan.pattern == TILEPOST_GEMM_ALL_REDUCE && path_of(plan, true).stores_by_owner;
    if (!either) require_caught(plan, plan.pushes ? "without pushes" : "with pushes", push);
  }
  Plan pushed = shared(TILEPOST_ACCESS_WRITE, TILEPOST_GEMM_ALL_REDUCE);
  pushed.pushes = true;
  require_caught(pushed, "sum added", [](Plan& plan) { plan.sum = TILEPOST_SUM_ADDED; });
  require_caught(pushed, "with pushes", [](Plan& plan) { plan.arch = Arch::sm_90a; });
  pushed.task_parts = kRanks;
  require_caught(pushed, "without pushes", push);
  require_caught(gathered(), "stagger 2", [](Plan& plan) { plan.map.stagger = 2; });
  require_caught(shared(TILEPOST_ACCESS_WRITE, TILEPOST_GEMM_ALL_REDUCE), "division",
                 [](Plan& plan) { plan.map.division = TILEPOST_DIVISION_ROWS; });
}

}  // namespace
}  // namespace tilepost::test
