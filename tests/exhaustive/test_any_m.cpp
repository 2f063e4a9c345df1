// Plans for any m: the schedule of every m up to the bound, played element by element; and the
// planner over all patterns, layouts and routings.
#include "tests/catch.h"
#include "tests/exhaustive/world.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

struct Variant {
  tilepost_pattern_t pattern;
  tilepost_routing_t routing;
  tilepost_layout_t layout;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
    all.push_back({TILEPOST_GEMM_ALL_REDUCE, TILEPOST_ROUTING_EVEN, layout});
    all.push_back({TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_ROUTING_EVEN, layout});
    for (const tilepost_routing_t routing :
         {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
      all.push_back({TILEPOST_GEMM_ALL_TO_ALL, routing, layout});
  }
  all.push_back({TILEPOST_ALL_GATHER_GEMM, TILEPOST_ROUTING_EVEN, TILEPOST_PANEL});
  for (const tilepost_routing_t routing :
       {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
    all.push_back({TILEPOST_ALL_TO_ALL_GEMM, routing, TILEPOST_PANEL});
  return all;
}

Spec spec_of(const Variant& variant, int64_t m, int64_t n, Arch arch) {
  Spec spec = make_spec(m, n, 64, arch);
  spec.pattern.value = variant.pattern;
  spec.routing.value = variant.routing;
  spec.schedule.layout.value = variant.layout;
  return spec;
}

// The world of one run of `plan`. A route sends no row to the last rank and one row of three to the
// next rank. Ranks with odd numbers have half of the rows. Where rows of A are routed, a rank sends
// at most half as many rows as a rank may get.
World world_of(const Plan& plan) {
  const tilepost_map_t map = plan.map;
  World world;
  world.pattern = static_cast<tilepost_pattern_t>(plan.pattern);
  world.routing = static_cast<tilepost_routing_t>(plan.routing);
  world.layout = map.layout, world.division = map.division;
  world.ranks = plan.ranks;
  world.m = rows_of_runs(plan), world.n = plan.map.n, world.k = 2;
  if (world.row().input_is_routed()) world.most = plan.map.m;
  if (world.row().input_is_routed() && is_routed(plan))
    world.m = std::max<int64_t>(1, plan.map.m / 2);
  world.tile_m = map.tile_m, world.tile_n = map.tile_n;
  world.cluster = map.cluster, world.band = map.band;
  world.overlaps = plan.transport != TILEPOST_TRANSPORT_NONE;
  world.access = plan.access;
  world.stagger = plan.map.stagger;
  world.pushes = plan.pushes;
  world.cuts = plan.cuts();
  for (int rank = 0; rank < plan.ranks && plan.routing != TILEPOST_ROUTING_EVEN; ++rank) {
    std::vector<int32_t> destinations;
    for (int64_t row = 0; row < world.m - rank % 2 * (world.m / 2); ++row)
      destinations.push_back(static_cast<int32_t>((rank + (row % 3 == 0)) % (plan.ranks - 1)));
    if (plan.routing == TILEPOST_ROUTING_ROWS) {
      world.destinations.push_back(std::move(destinations));
      continue;
    }
    world.splits.emplace_back(plan.ranks, 0);
    for (const int32_t destination : destinations) ++world.splits.back()[destination];
  }
  return world;
}

// Whether the transport serves the variant. Ranks read each other's memory only in the panel
// layout, and write it only where routing is even. NCCL's windows do not hold routed rows.
bool serves(const Variant& variant, std::optional<tilepost_transport_t> transport) {
  const tilepost_access_t access = access_of(transport.value_or(TILEPOST_TRANSPORT_NCCL));
  if (access == TILEPOST_ACCESS_MESSAGES)
    return transport != TILEPOST_TRANSPORT_NCCL_SYMMETRIC ||
           fits_windows(row_of(variant.pattern), variant.routing != TILEPOST_ROUTING_EVEN);
  if (variant.layout == TILEPOST_TILE) return false;
  return access == TILEPOST_ACCESS_READ || variant.routing == TILEPOST_ROUTING_EVEN;
}

TEST_CASE("every m of a plan for any m moves every element to its place") {
  int overlapping = 0, divided = 0;
  for (const Variant& variant : variants())
    for (const int64_t ranks : {2, 3, 8})
      for (const tilepost_transport_t transport :
           {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_NONE, TILEPOST_TRANSPORT_COPY_ENGINE,
            TILEPOST_TRANSPORT_PEER}) {
        if (!serves(variant, transport)) continue;
        Spec spec = spec_of(variant, 400, 96, Arch::host);
        spec.ranks.value = ranks;
        spec.gemm.any_m = true;
        spec.schedule.tile = wish(std::vector<int64_t>{16, 32});
        spec.schedule.sms = wish<int64_t>(6);
        spec.transport.value = transport;
        const Planned planned = plan(spec);
        INFO(planned.messages);
        REQUIRE(planned.plans.size() == 1);
        for (const int64_t m : {1, 2, 7, 15, 16, 17, 33, 100, 255, 256, 257, 399, 400}) {
          const Plan run = plan_of_run(planned.plans[0], m);
          const World world = world_of(run);
          INFO(describe(world));
          const std::vector<std::string> wrong = verify_plan(run);
          INFO((wrong.empty() ? "" : wrong.front()));
          REQUIRE(wrong.empty());
          REQUIRE(cuts_are_valid(world.map()));
          REQUIRE(play(world) == "");
          overlapping += world.overlaps;
          divided += world.cuts.size() > 1;
        }
      }
  REQUIRE(overlapping > 100);
  REQUIRE(divided > 100);
}

TEST_CASE("every pattern, layout, routing and consumer has a plan on every machine") {
  int plans = 0;
  for (const Variant& variant : variants())
    for (const int64_t m : {1, 7, 129, 1000, 5000})
      for (const int64_t ranks : {1, 2, 3, 8})
        for (const std::optional<tilepost_transport_t> transport :
             open_or({TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_NONE,
                      TILEPOST_TRANSPORT_NCCL_SYMMETRIC, TILEPOST_TRANSPORT_COPY_ENGINE})) {
          if (!serves(variant, transport)) continue;
          Spec spec = spec_of(variant, m, 1000, Arch::host);
          spec.ranks.value = ranks;
          spec.transport.value = transport;
          spec.archs.value = {Arch::sm_80, Arch::sm_90a, Arch::host};
          const bool normalises = row_of(variant.pattern).sums && m % 2 == 1;
          if (normalises)
            spec.consumer.value = TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
          else if (variant.layout == TILEPOST_TILE)
            spec.consumer.value = TILEPOST_CONSUMER_UNPERMUTE;
          spec.gemm.any_m = m == 5000;
          const Planned planned = plan(spec);
          INFO(name_of(variant.pattern)
               << " m " << m << " ranks " << ranks << ": " << planned.messages);
          REQUIRE(planned.plans.size() == spec.archs.value.size());
          for (const Plan& p : planned.plans) {
            ++plans;
            REQUIRE(verify_plan(host_twin(p)).empty());
          }
        }
  REQUIRE(plans > 1000);
}

}  // namespace
}  // namespace tilepost::test
