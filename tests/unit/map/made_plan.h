// A small plan for tests that change and check it.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/plan_check.h"
#include "runtime/map/run_path.h"
#include "runtime/map/tile_map.h"
#include "tests/catch.h"

namespace tilepost::test {

inline constexpr PlanLimits kLimits = {"test", TILEPOST_ACCESS_TILES, 8, 2, 4, 2, 6};

inline void kernel() {}  // its address stands for a kernel's
inline void host_kernel(const void*, const void*, void*, tilepost_shape_t, tilepost_epilogue_t, int,
                        int, tilepost_view_t) {}

// A GPU's plan with a tensor map: 64 x 24 in tiles of 4 x 8 on two ranks.
struct Made {
  std::vector<int32_t> cuts;
  TileMap map;
  tilepost_plan_t plan{};
  tilepost_program_t program{};

  Made(tilepost_pattern_t pattern, tilepost_transport_t transport, tilepost_division_t division,
       std::vector<int32_t> ends, tilepost_layout_t layout = TILEPOST_PANEL)
      : cuts(std::move(ends)) {
    plan.pattern = pattern;
    plan.ranks = 2;
    plan.k = 8;
    plan.transport = transport;
    plan.access = access_of(transport);
    plan.comm_lanes = plan.comm_ctas = 1;
    plan.gemm_ctas = 8;
    const int shares = row_of(pattern).has_shares(plan.access) ? 2 : 1;
    plan.map = {64, 24, 4, 8, 2, 2, 1, layout, division, shares, 0, 0, 0, nullptr, 0, 0};
    plan.kernel.launch = TILEPOST_LAUNCH_TMA;
    plan.kernel.function = reinterpret_cast<const void*>(&kernel);
    plan.kernel.host_function = host_kernel;
    plan.kernel.cluster = 2;
    plan.kernel.ctas_per_sm = 1;
    plan.kernel.threads = 384;
    plan.kernel.shared_bytes = 200000;
    const bool gathers = row_of(pattern).moves_input();
    plan.pushes = gathers && plan.access != TILEPOST_ACCESS_MESSAGES;
    plan.map.round_robin = gathers && plan.access == TILEPOST_ACCESS_READ;
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  void give_tasks(int parts) {
    plan.task_parts = parts;
    plan.kernel.helper_bytes = 16512;
    plan.reads_own = row_of(plan).moves_input() ? 1 : 0;
  }

  void finish() {
    plan.map.num_groups = static_cast<int32_t>(cuts.size());
    plan.map.cuts = cuts.data();
    map = build_tile_map(plan.map);
    plan.map_hash = hash_tile_map(map);
    plan.groups = map.groups.data();
    program = {TILEPOST_ABI_VERSION, "made", 1, &plan};
  }

  // The error of check_plan. It is empty if the plan is right.
  std::string refusal(tilepost_result_t expected = TILEPOST_INVALID_ARGUMENT) const {
    const tilepost_result_t result = check_plan(program, plan, kLimits, 2);
    if (result == TILEPOST_OK) return "";
    CHECK(result == expected);
    return tilepost_last_error();
  }
};

}  // namespace tilepost::test
