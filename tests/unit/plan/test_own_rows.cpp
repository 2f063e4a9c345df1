// Kernels that read this rank's own rows of A where the caller has them
// (tilepost_plan_t::reads_own): which plans have them, what follows, and what verify_plan notices.
#include <functional>

#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/make_plan.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

Plan gathered(const std::function<void(Spec&)>& change = [](Spec&) {}) {
  Spec spec = spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_COPY_ENGINE);
  change(spec);
  return only(spec);
}

TEST_CASE(
    "a kernel beside copies reads its own rows where they are, and the run begins beside it") {
  const Plan p = gathered();
  REQUIRE(p.reads_own == 1);
  REQUIRE(p.task_parts == 0);
  const RunPath path = paths_of(p).planned;
  REQUIRE(path.reads == InputFrom::split);
  REQUIRE(path.begins_on_comm_stream());
  REQUIRE(p.model.wait == 0);  // the first tile waits for nothing
  const RunPath sequence = path_of(p, false);
  REQUIRE(sequence.reads == InputFrom::gathered);
  REQUIRE_FALSE(sequence.begins_on_comm_stream());
}

TEST_CASE("where tasks push rows they are read where they are, and the run begins first") {
  const Plan p = only(spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_PEER));
  REQUIRE(p.reads_own == 1);
  REQUIRE(paths_of(p).planned.reads == InputFrom::split);
  REQUIRE_FALSE(paths_of(p).planned.begins_on_comm_stream());
}

TEST_CASE("all rows are read in one place by other kernels, messages and beside neighbours") {
  const auto none = [](const Plan& p) {
    return p.reads_own == 0 && !paths_of(p).planned.begins_on_comm_stream();
  };
  REQUIRE(none(only(spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_NCCL))));
  REQUIRE(none(only(spec_of(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_COPY_ENGINE))));
  REQUIRE(none(only(
      spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_COPY_ENGINE, 8192, 2048, Arch::sm_80))));
  REQUIRE(none(gathered([](Spec& spec) { spec.neighbours.value = true; })));
  REQUIRE(none(host_twin(gathered())));
}

TEST_CASE("caught: own rows that are read where they are not") {
  REQUIRE(said_of(gathered(), [](Plan& p) { p.kernel.launch = TILEPOST_LAUNCH_POINTERS; }) != "");
  REQUIRE(said_of(gathered(), [](Plan& p) { p.neighbours = 1; }) != "");
  REQUIRE(said_of(only(spec_of(TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_TRANSPORT_COPY_ENGINE)),
                  [](Plan& p) { p.task_parts = 0; }) != "");
  REQUIRE(said_of(only(spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_PEER)),
                  [](Plan& p) { p.reads_own = 0; }) != "");
  REQUIRE(said_of(only(spec_of(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER)),
                  [](Plan& p) { p.reads_own = 1; }) != "");
  REQUIRE(said_of(only(spec_of(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_NCCL)),
                  [](Plan& p) { p.reads_own = 1; }) != "");
}

}  // namespace
}  // namespace tilepost::test
