// Gaps between rows that other ranks store (tilepost_plan_t::row_gap): which plans have them, where
// rows then lie, and what verify_plan notices.
#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/make_plan.h"
#include "runtime/map/slots.h"
#include "runtime/schedule/run_map.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

Plan stored(int64_t n, tilepost_pattern_t pattern = TILEPOST_GEMM_REDUCE_SCATTER) {
  Spec spec = spec_of(pattern, TILEPOST_TRANSPORT_PEER);
  spec.gemm.n.value = n;
  return only(spec);
}

TEST_CASE("rows of a product that do not begin on sectors are stored with gaps") {
  for (const tilepost_pattern_t pattern :
       {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_ALL_TO_ALL}) {
    INFO(pattern);
    REQUIRE(stored(4392, pattern).row_gap == 24);
    REQUIRE(stored(4384, pattern).row_gap == 0);
    REQUIRE(stored(504, pattern).row_gap == 0);  // the rows are short
  }
}

TEST_CASE("nothing else has gaps between rows") {
  const auto gap = [](tilepost_pattern_t pattern, std::optional<tilepost_transport_t> transport) {
    Spec spec = spec_of(pattern, transport);
    spec.gemm.n.value = 4392;
    return only(spec).row_gap;
  };
  REQUIRE(gap(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_PEER) == 0);
  REQUIRE(gap(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_COPY_ENGINE) == 0);
  REQUIRE(gap(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_NCCL) == 0);
  REQUIRE(gap(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_NONE) == 0);
  const Plan plan = stored(4392);
  REQUIRE(host_twin(plan).row_gap == 0);
}

TEST_CASE("slots and what lands have room for the gaps") {
  const Plan sums = stored(4392), moved = stored(4392, TILEPOST_GEMM_ALL_TO_ALL);
  REQUIRE(stored_pitch(sums) == 4416);
  const Slots slots = slots_of(sums, sums.map);
  REQUIRE(slots.block == int64_t{share_tiles(sums.map)} * sums.map.tile_m * 4416);
  REQUIRE(most_sizes(sums).slots == slots.elements());
  REQUIRE(most_sizes(moved).landed == 8192 * 4416);
  REQUIRE(place_at_owner(moved, slots, moved.map, 2, 1).first == 2 * 2048 * 4416);
}

TEST_CASE("caught: gaps that nothing takes out") {
  const auto with = [](tilepost_transport_t transport) {
    return only(spec_of(TILEPOST_GEMM_REDUCE_SCATTER, transport));
  };
  const auto gap = [](Plan& plan) { plan.row_gap = 8; };
  REQUIRE(said_of(with(TILEPOST_TRANSPORT_PEER), gap) == "");
  REQUIRE(said_of(with(TILEPOST_TRANSPORT_COPY_ENGINE), gap) != "");
  REQUIRE(said_of(with(TILEPOST_TRANSPORT_NCCL), gap) != "");
  REQUIRE(said_of(only(spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_PEER)), gap) != "");
  REQUIRE(said_of(with(TILEPOST_TRANSPORT_PEER), [](Plan& plan) { plan.row_gap = 4; }) != "");
  REQUIRE(said_of(with(TILEPOST_TRANSPORT_PEER), [](Plan& plan) { plan.row_gap = -8; }) != "");
}

}  // namespace
}  // namespace tilepost::test
