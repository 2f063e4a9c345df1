// The grouped GEMM of experts for Hopper (templates/gemm_sm90_experts.cu).
#pragma once

#include "generator/plan/kernels/family.h"

namespace tilepost {

// What a configuration has besides its tile. `tile_m` is the most rows of a tile.
struct ExpertsShape : FamilyShape {
  int panel_m = 64;     // rows of a panel
  int sharers = 1;      // consumers that share a tile; otherwise they take turns at whole tiles
  int down = 1;         // CTAs one below the other that share B
  int copiers = 0;      // warpgroups that copy rows of tokens
  int panels = 1;       // of a consumer
  int box_m = 32;       // rows of A that are loaded at once
  int scale_bytes = 0;  // of the scales that the epilogue reads
};

const KernelFamily& sm90_experts_family();

}  // namespace tilepost
