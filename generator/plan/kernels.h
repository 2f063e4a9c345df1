// The kernel catalogue: every configuration of the bundled kernels the planner may choose.
//
// To serve a new tile, add a row; to serve a new kernel, add a builder. Sizes of shared memory
// repeat the templates' kSharedBytes, and generated code asserts that the two agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/plan/arch.h"
#include "generator/plan/plan.h"

namespace tilepost {

// One row of the catalogue.
struct KernelConfig {
  const char* kernel;  // "gemm_sm90"
  int tile_m, tile_n, tile_k;
  int stages;
  int panels;          // gemm_sm90: staged 64-column panels of C per consumer warpgroup
  int warp_m, warp_n;  // gemm_sm80: a warp's part of the tile
  int ctas_per_sm;
  double efficiency;       // of the tensor peak inside the main loop (profile.h says whence)
  double epilogue_cycles;  // per tile, not hidden behind the next tile's main loop
};

// What the chosen configuration is specialised to besides its row.
struct KernelRequest {
  ElementType element = ElementType::bf16;
  int cluster = 1;
  int band = 1;
  int load_vector = 8;   // elements per asynchronous copy along K
  int store_vector = 8;  // elements per store of the output
};

// gemm_sm90's rows in order of preference.
const std::vector<KernelConfig>& sm90_configs();

// gemm_sm80's rows that fit the shared memory of `arch` in order of preference; on sm_90a the rows
// of sm_80.
const std::vector<KernelConfig>& sm80_configs(Arch arch);

// gemm_host with a tile of the caller's choice.
KernelConfig host_config(int tile_m, int tile_n);

// Dynamic shared memory of one CTA, bytes.
int64_t shared_bytes(const KernelConfig& config);

// Threads of one CTA.
int threads(const KernelConfig& config);

// The plan's kernel, tunables filled in.
KernelPlan make_kernel(const KernelConfig& config, const KernelRequest& request);

// Tile rows swept together: 2048 output rows keep a wave's operands in L2 (band 16 of 128 rows was
// the best of 4, 8, 16, 32 on an H200), as a multiple of the cluster and no more than there are.
int band_of(const KernelConfig& config, int cluster, int64_t m);

}  // namespace tilepost
