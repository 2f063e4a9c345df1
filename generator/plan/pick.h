// One of the planner's choices by its features: what a tuning file records of the fastest plan, and
// what the planner finds it again by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/plan.h"

namespace tilepost {

// The features of a plan that the planner chooses. The rest of a plan follows from these and the
// spec.
struct Pick {
  tilepost_transport_t transport = TILEPOST_TRANSPORT_NONE;
  std::string kernel;   // the family: "gemm_sm90"; "own" for the user's own kernel
  std::string variant;  // KernelFamily::variant
  int tile_m = 0, tile_n = 0, stages = 0;
  int cluster = 1;  // tilepost_map_t::cluster
  int split_k = 1, across = 1, ctas_per_sm = 1;
  int comm_ctas = 0, comm_lanes = 1;
  int task_parts = 0;
  bool reads_own = false, fused = false;
  tilepost_shots_t shots = TILEPOST_SHOTS_NONE;
  std::vector<int32_t> cuts;  // tilepost_map_t::cuts
  std::optional<int> pace;    // tilepost_plan_t::pace; nothing: as the planner sets it

  bool operator==(const Pick&) const = default;
};

// The features of a finished plan, with its pace.
Pick pick_of(const Plan& plan);

// In one line, for progress and tables: "peer, gemm_sm90 128x256 turns/4 cluster 2, 8 groups".
std::string pick_text(const Pick& pick);

// A choice that was read and is to be planned for one architecture.
struct TunedPick {
  Arch arch = Arch::host;
  Pick pick;
  TunedBy by;
  Place where;  // of the entry in its file; unknown where it comes from no file
};

}  // namespace tilepost
