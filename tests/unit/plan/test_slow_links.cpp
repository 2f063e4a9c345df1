// Plans for two GPUs that do not reach each other: whether times are those that were measured
// there, and whether the planner takes what ends first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

using Extents = std::array<int64_t, 3>;

const MachineProfile& slow_machine() {
  const auto found = std::ranges::find(known_machines(), "h200_no_peers", &KnownMachine::key);
  REQUIRE(found != known_machines().end());
  return found->profile;
}

// What a spec asks of the schedule. 0, or nothing, leaves it open.
struct Asked {
  std::vector<int64_t> tile, groups;
  int64_t ctas = 0, lanes = 0;
};

Spec spec_of_two(tilepost_pattern_t pattern, std::optional<tilepost_transport_t> transport,
                 const Extents& shape, const Asked& asked = {}) {
  Spec spec = make_spec(shape[0], shape[1], shape[2]);
  spec.pattern.value = pattern;
  spec.transport.value = transport;
  spec.ranks.value = 2;
  if (!asked.tile.empty()) spec.schedule.tile = wish(asked.tile);
  if (!asked.groups.empty()) spec.schedule.groups = wish(asked.groups);
  if (asked.ctas > 0) spec.schedule.comm_sms = wish(asked.ctas);
  if (asked.lanes > 0) spec.schedule.lanes = wish(asked.lanes);
  return spec;
}

// The plan on the machine, or nothing if the spec asks for what is not possible.
std::optional<Plan> planned(const Spec& spec) {
  const Planned result = plan(spec, slow_machine());
  if (result.plans.size() != 1) return std::nullopt;
  return result.plans.front();
}

}  // namespace

// Two H200 and NCCL_P2P_DISABLE=1, 27 to 29 November 2026; us.
TEST_CASE("runs between GPUs that do not reach each other take what was measured") {
  constexpr auto kScatter = TILEPOST_GEMM_REDUCE_SCATTER, kReduce = TILEPOST_GEMM_ALL_REDUCE,
                 kAll = TILEPOST_GEMM_ALL_TO_ALL, kGather = TILEPOST_ALL_GATHER_GEMM;
  constexpr auto kNccl = TILEPOST_TRANSPORT_NCCL, kNone = TILEPOST_TRANSPORT_NONE,
                 kHost = TILEPOST_TRANSPORT_HOST_COPIES;
  constexpr Extents kWide = {4096, 8192, 8192}, kLong = {4096, 4096, 28672},
                    kSmall = {2048, 4096, 14336}, kOne = {2352, 7264, 21136},
                    kOther = {5448, 3120, 5024};
  const struct {
    tilepost_pattern_t pattern;
    tilepost_transport_t transport;
    Extents shape;
    Asked asked;
    double us, within;
  } measured[] = {
      {kScatter, kNone, kWide, {}, 2027, 0.05},
      {kScatter, kNone, kLong, {}, 1838, 0.05},
      {kScatter, kNone, kSmall, {}, 648, 0.05},
      {kReduce, kNone, kWide, {}, 3113, 0.05},
      {kReduce, kNone, kSmall, {}, 914, 0.05},
      {kGather, kNone, kWide, {}, 2048, 0.05},
      {kGather, kNone, kSmall, {}, 1494, 0.05},
      {kAll, kNone, kWide, {}, 2164, 0.05},
      {kAll, kNone, kSmall, {}, 672, 0.05},
      {kScatter, kNccl, kWide, {{128, 256}, {7, 2}, 16, 1}, 1946, 0.05},
      {kScatter, kNccl, kWide, {{128, 192}, {3, 2, 2, 2, 1, 1}, 4, 1}, 1719, 0.05},
      {kScatter, kNccl, kWide, {{128, 192}, {1, 1, 1, 3, 5}, 4, 2}, 1750, 0.05},
      {kScatter, kNccl, kLong, {{128, 192}, {5, 1}, 12, 1}, 1804, 0.05},
      {kScatter, kNccl, kLong, {{128, 192}, {5, 1}, 4, 1}, 1817, 0.05},
      {kReduce, kNccl, kWide, {{128, 256}, {6, 2, 1}, 16, 1}, 2991, 0.05},
      {kReduce, kNccl, kWide, {{128, 192}, {1, 2, 8}, 4, 2}, 2962, 0.05},
      {kAll, kNccl, kWide, {{128, 256}, {7, 2}, 16, 1}, 2081, 0.05},
      {kAll, kNccl, kWide, {{128, 192}, {1, 1, 1, 2, 6}, 4, 2}, 1929, 0.05},
      {kScatter, kHost, kWide, {{128, 128}, {1, 1, 1, 1, 2, 2, 2, 3, 3}, 1, 1}, 1291, 0.05},
      {kAll, kHost, kWide, {{128, 128}, {1, 1, 1, 1, 2, 2, 2, 3, 3}, 1, 1}, 1246, 0.05},
      {kReduce, kHost, kWide, {{128, 128}, {1, 2, 4, 9}, 1, 1}, 2303, 0.05},
      {kGather, kHost, kWide, {}, 1094, 0.05},
      {kScatter, kHost, kOne, {{128, 192}, {3, 2, 1}, 3, 1}, 1238, 0.05},
      {kScatter, kHost, kOther, {{128, 128}, {1, 1, 3, 4}, 1, 1}, 691, 0.05},
      {kScatter, kHost, kLong, {{128, 256}, {2, 1, 1}, 3, 1}, 1368, 0.08},
      {kAll, kHost, kLong, {{128, 256}, {2, 1, 1}, 1, 1}, 1357, 0.08},
  };
  for (const auto& run : measured) {
    const auto plan = planned(spec_of_two(run.pattern, run.transport, run.shape, run.asked));
    REQUIRE(plan.has_value());
    const double predicted = plan->prediction.total;
    INFO(fmt::format("{} by {}, k = {}: {:.0f} us predicted, {} measured", name_of(run.pattern),
                     name_of(run.transport), run.shape[2], predicted, run.us));
    CHECK(std::abs(predicted / run.us - 1) < run.within);
  }
}

// Random shapes besides those of the table. The planner takes fewer groups where that costs no more
// than 1 %, and a tile whose GEMM is shorter where the ends are within half a percent.
TEST_CASE(
    "on slow links no tile, budget or number of lanes ends sooner than the planner's choice") {
  constexpr Extents kShapes[] = {
      {4096, 8192, 8192}, {4096, 4096, 28672}, {5448, 3120, 5024}, {2352, 7264, 21136}};
  for (const Extents& shape : kShapes)
    for (const auto pattern : {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL})
      for (const auto transport : {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_HOST_COPIES}) {
        const auto chosen = planned(spec_of_two(pattern, transport, shape));
        REQUIRE(chosen.has_value());
        for (const std::vector<int64_t>& tile :
             std::vector<std::vector<int64_t>>{{128, 256}, {128, 192}, {128, 128}})
          for (const int64_t ctas : {2, 4, 16})
            for (const int64_t lanes : {1, 2}) {
              const auto other =
                  planned(spec_of_two(pattern, transport, shape, {tile, {}, ctas, lanes}));
              if (!other) continue;
              INFO(
                  fmt::format("{} by {}, {}x{}x{}: {:.0f} us in {} groups, with tile {}x{}, {} "
                              "CTAs and {} lanes {:.0f} us",
                              name_of(pattern), name_of(transport), shape[0], shape[1], shape[2],
                              chosen->prediction.total, chosen->map.num_groups, tile[0], tile[1],
                              ctas, lanes, other->prediction.total));
              CHECK(chosen->prediction.total <= 1.015 * other->prediction.total);
            }
      }
}

// Where links take longer than the GEMM they must be busy early: the first group is as small as
// groups can be. Where the GEMM takes longer, what is left behind it is the last group.
TEST_CASE("on slow links groups are uneven: the first or the last of them is small") {
  const auto links = planned(
      spec_of_two(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_NCCL, {4096, 8192, 8192}));
  REQUIRE(links.has_value());
  CHECK(links->group_waves.front() == 1);
  CHECK(std::ranges::max(links->group_waves) >= 3);
  CHECK(links->prediction.total < 0.8 * links->prediction.sequence);
  const auto gemm = planned(
      spec_of_two(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_NCCL, {4096, 4096, 28672}));
  REQUIRE(gemm.has_value());
  CHECK(gemm->group_waves.back() == 1);
  CHECK(gemm->prediction.total < 1.12 * gemm->prediction.gemm);
}

}  // namespace tilepost::test
