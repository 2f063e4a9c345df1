// The errors of ranks whose runs differ, and what ranks must agree on.
#include "runtime/core/run_terms.h"

#include <functional>

#include "runtime/schedule/run_map.h"
#include "tests/catch.h"

using Catch::Contains;
using tilepost::difference;
using tilepost::make_run_map;
using tilepost::Meeting;
using tilepost::RunTerms;

namespace {

RunTerms terms() {
  return {"attn_out", 2, 0xabc, Meeting::run, 3, false, 100, true, 0xdef, false, 0};
}

tilepost_plan_t plan_of(int32_t* cuts, int groups) {
  tilepost_plan_t plan{};
  plan.pattern = TILEPOST_GEMM_ALL_TO_ALL;
  plan.routing = TILEPOST_ROUTING_SPLITS;
  plan.any_m = 1;
  plan.ranks = 2;
  plan.k = 8;
  plan.transport = TILEPOST_TRANSPORT_HOST;
  plan.gemm_ctas = 2;
  plan.kernel.cluster = 1;
  tilepost_map_t& map = plan.map;
  map.m = map.n = 128;
  map.tile_m = map.tile_n = 16;
  map.cluster = map.band = map.signals_per_tile = 1;
  map.division = TILEPOST_DIVISION_SHARES;
  map.ranks = 2;
  map.num_groups = groups;
  map.cuts = cuts;
  return plan;
}

uint64_t routed_hash(const tilepost_plan_t& plan, int rank, int64_t to_rank_1) {
  const int64_t first[] = {128 - to_rank_1, to_rank_1}, second[] = {32, 0};
  const tilepost::RouteInputs inputs[] = {{128, 0, first, {}}, {32, 0, second, {}}};
  return tilepost::routed_run(plan, rank, inputs)->schedule_hash;
}

}  // namespace

TEST_CASE("equal terms differ in nothing") {
  CHECK(difference(0, terms(), 1, terms()).empty());
  RunTerms routed = terms(), other = terms();
  routed.routed = other.routed = true;
  other.m = 7;  // with routes each rank may have another number of rows
  CHECK(difference(0, routed, 1, other).empty());
}

TEST_CASE("terms that differ are named with the ranks and their values") {
  const struct {
    std::function<void(RunTerms&)> change;
    const char* text;
  } cases[] = {
      {[](RunTerms& t) { t.operation = 1; },
       "rank 4 is at run 3 of 'attn_out', its operation 2, rank 0 is at run 3 of 'attn_out', its "
       "operation 1; every rank must make the same calls in the same order"},
      {[](RunTerms& t) { t.program = "mlp"; }, "rank 0 is at run 3 of 'mlp', its operation 2"},
      {[](RunTerms& t) { t.number = 4; }, "rank 0 is at run 4 of 'attn_out', its operation 2"},
      {[](RunTerms& t) { t.call = Meeting::route; },
       "rank 0 is at route 3 of 'attn_out', its operation 2"},
      {[](RunTerms& t) { t.call = Meeting::registration; },
       "rank 0 is at registration 3 of 'attn_out', its operation 2"},
      {[](RunTerms& t) { t.output = 2; },
       "run 3 of 'attn_out': out is no registered buffer on rank 4 and registered buffer 2 on rank "
       "0; pass the same one on every rank, or none"},
      {[](RunTerms& t) { t.plan = 0x123; },
       "run 3 of 'attn_out': rank 4's plan is not that of rank 0 (hashes 0000000000000abc and "
       "0000000000000123); make the operation of the same generated code on all ranks"},
      {[](RunTerms& t) { t.m = 104; },
       "run 3 of 'attn_out': m is 100 on rank 4 and 104 on rank 0; pass the same m on every rank"},
      {[](RunTerms& t) { t.m = 1, t.schedule = 1, t.overlaps = true; },
       "run 3 of 'attn_out': m is 100 on rank 4 and 1 on rank 0, where rank 4 runs in sequence and "
       "rank 0 overlaps; pass the same m on every rank"},
      {[](RunTerms& t) { t.schedule = 1, t.overlaps = true; },
       "run 3 of 'attn_out': rank 4 runs in sequence and rank 0 overlaps; run the same version of "
       "tilepost on every rank"},
      {[](RunTerms& t) { t.schedule = 1; },
       "run 3 of 'attn_out': the hash of the schedule is 0000000000000def on rank 4 and "
       "0000000000000001 on rank 0; run the same version of tilepost on every rank"}};
  for (const auto& changed : cases) {
    RunTerms other = terms();
    changed.change(other);
    CHECK_THAT(difference(4, terms(), 0, other), Contains(changed.text));
  }
  RunTerms routed = terms(), other = terms();
  routed.routed = other.routed = true;
  other.schedule = 1;
  CHECK_THAT(difference(1, routed, 0, other),
             Contains("the hash of the route is") && Contains("set the route again on every rank"));
}

TEST_CASE("calls are named with what tells them apart") {
  CHECK(name_of(terms()) == "run 3 of 'attn_out' with m = 100");
  RunTerms fixed = terms(), route = terms();
  fixed.any_m = false;
  route.call = Meeting::route;
  CHECK(name_of(fixed) == "run 3 of 'attn_out'");
  CHECK(name_of(route) == "route 3 of 'attn_out'");
}

TEST_CASE("the hash of a schedule is one on all ranks, and another with other groups or routes") {
  int32_t two[] = {2, 4}, other[] = {3, 4};
  tilepost_plan_t plan = plan_of(two, 2), changed = plan_of(other, 2);
  const uint64_t hash = routed_hash(plan, 0, 20);
  CHECK(hash == routed_hash(plan, 1, 20));
  CHECK(hash != routed_hash(plan, 0, 21));
  CHECK(hash != routed_hash(changed, 0, 20));
  plan.routing = changed.routing = TILEPOST_ROUTING_EVEN;
  for (const int64_t m : {1, 17, 100, 128}) {
    const uint64_t even = make_run_map(plan, 0, m)->schedule_hash;
    CHECK(even == make_run_map(plan, 1, m)->schedule_hash);
    if (m < 128) CHECK(even != make_run_map(plan, 0, m + 1)->schedule_hash);
  }
  CHECK(make_run_map(plan, 0, 128)->schedule_hash != make_run_map(changed, 0, 128)->schedule_hash);
}
