// The harness passes a right kernel. It catches a wrong map, a missing signal and an early signal.
#include "runtime/map/tile_map.h"
#include "runtime/verify/check_program.h"
#include "tests/catch.h"
#include "tests/host/hand_woven.h"

using hand_woven::Fault;
using namespace tilepost::verify;

namespace {

constexpr int kTileM = 8, kTileN = 16;

// 29 x 50: four tile rows and four columns, ragged at both ends.
class Program {
 public:
  Program(tilepost_layout_t layout, tilepost_host_kernel_t kernel) {
    plan_.ranks = 3;
    plan_.k = 70;
    plan_.map = {29,
                 50,
                 kTileM,
                 kTileN,
                 1,
                 2,
                 1,
                 layout,
                 TILEPOST_DIVISION_ROWS,
                 1,
                 0,
                 0,
                 2,
                 layout == TILEPOST_PANEL ? panel_cuts_ : slot_cuts_,
                 0,
                 0};
    plan_.gemm_ctas = 4;
    map_ = tilepost::build_tile_map(plan_.map);
    plan_.map_hash = tilepost::hash_tile_map(map_);
    plan_.transport = TILEPOST_TRANSPORT_HOST;
    plan_.groups = map_.groups.data();
    plan_.kernel.name = "hand_woven";
    plan_.kernel.launch = TILEPOST_LAUNCH_HOST;
    plan_.kernel.host_function = kernel;
    program_ = {TILEPOST_ABI_VERSION, "hand", 1, &plan_};
  }

  std::vector<CheckResult> check(double deadline = 20) {
    HarnessOptions options;
    options.deadline = deadline;
    const auto world = open_world(plan_.ranks);
    return check_program(program_, plan_, *world, options, 1, nullptr, [](int) {});
  }

  const tilepost_plan_t& plan() const { return plan_; }

 private:
  static constexpr int32_t panel_cuts_[] = {1, 4};
  static constexpr int32_t slot_cuts_[] = {5, 16};
  tilepost::TileMap map_;
  tilepost_plan_t plan_{};
  tilepost_program_t program_{};
};

template <Fault kFault>
Program make_program(tilepost_layout_t layout) {
  using tilepost::Layout;
  return Program(layout,
                 layout == TILEPOST_PANEL
                     ? hand_woven::kernel<Layout::panel, kTileM, kTileN, tilepost::Bf16, kFault>
                     : hand_woven::kernel<Layout::tile, kTileM, kTileN, tilepost::Bf16, kFault>);
}

// Stores one element behind the end of the output before everything else.
void overrunning_kernel(const void* a, const void* b, void* c, tilepost_shape_t shape,
                        tilepost_epilogue_t epilogue, int worker, int workers,
                        tilepost_view_t view) {
  if (worker == 0) static_cast<uint16_t*>(c)[int64_t{shape.m} * shape.n] = 0;
  hand_woven::kernel<tilepost::Layout::panel, kTileM, kTileN, tilepost::Bf16, Fault::none>(
      a, b, c, shape, epilogue, worker, workers, view);
}

}  // namespace

TEST_CASE("a right program passes both checks") {
  const tilepost_layout_t layout = GENERATE(TILEPOST_PANEL, TILEPOST_TILE);
  const auto results = make_program<Fault::none>(layout).check();
  REQUIRE(results.size() == 2);
  CHECK(results[0].ok);
  CHECK(results[0].text == "exact: 1450 elements equal, 3 runs");
  CHECK(results[1].ok);
  CHECK_THAT(results[1].text, Catch::StartsWith("random: 1450 elements, largest error "));
}

TEST_CASE("the report's label") {
  const Program program = make_program<Fault::none>(TILEPOST_TILE);
  CHECK(program_label({"hand", "", nullptr}, program.plan()) ==
        "hand  host  3 ranks  29x50x70 bf16 tile 2 groups");
  CHECK(program_label({"hand", "schedule.stages=2", nullptr}, program.plan()) ==
        "hand schedule.stages=2  host  3 ranks  29x50x70 bf16 tile 2 groups");
}

// Stores into another group's block, and signals before stores, race with the collective by
// intention. ThreadSanitizer would rightly report them.
TEST_CASE("a wrong map is caught", "[races]") {
  const tilepost_layout_t layout = GENERATE(TILEPOST_PANEL, TILEPOST_TILE);
  const auto results = make_program<Fault::swapped_rows>(layout).check();
  REQUIRE(results.size() == 1);
  CHECK_FALSE(results[0].ok);
  CHECK_THAT(results[0].text, Catch::Contains("first difference at ("));
}

TEST_CASE("a signal before the store is caught", "[races]") {
  const tilepost_layout_t layout = GENERATE(TILEPOST_PANEL, TILEPOST_TILE);
  const auto results = make_program<Fault::early_signal>(layout).check();
  REQUIRE(results.size() == 1);
  CHECK_FALSE(results[0].ok);
  CHECK_THAT(results[0].text, Catch::Contains("groups with differences: 1"));
}

TEST_CASE("a missing signal is caught within the deadline") {
  const auto start = std::chrono::steady_clock::now();
  const auto results = make_program<Fault::missing_signal>(TILEPOST_PANEL).check(0.5);
  REQUIRE(results.size() == 1);
  CHECK_FALSE(results[0].ok);
  CHECK_THAT(results[0].text, Catch::Contains("TILEPOST_TIMEOUT") && Catch::Contains("group 1"));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("a store beyond the output is caught") {
  const auto results = Program(TILEPOST_PANEL, overrunning_kernel).check();
  REQUIRE(results.size() == 1);
  CHECK_FALSE(results[0].ok);
  CHECK_THAT(results[0].text, Catch::Contains("memory after the output was overwritten"));
}
