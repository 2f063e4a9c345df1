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
  int tile_m, tile_n;
  int tile_k;  // of 16-bit elements; 8-bit ones are twice as many in as many bytes
  int stages;
  int panels;          // gemm_sm90: staged 64-column panels of C per consumer warpgroup
  bool pingpong;       // gemm_sm90: the two consumers take turns at whole tiles
  bool beside;         // was timed beside collectives: the planner may overlap it unasked
  bool epilogue;       // has registers for what an epilogue reads
  int warp_m, warp_n;  // gemm_sm80: a warp's part of the tile
  int ctas_per_sm;
  double efficiency;       // of the tensor peak inside the main loop (profile.h says whence)
  double epilogue_cycles;  // per tile, not hidden behind the next tile's main loop
  double ghz;              // gemm_sm90: the clock it leaves 128 SMs; gemm_sm90_small: its clock;
                           // 0: the architecture's
  int split_k = 1;         // gemm_sm90_small: CTAs that share the products of a tile
};

// What the chosen configuration is specialised to besides its row.
struct KernelRequest {
  tilepost_dtype_t element = TILEPOST_BF16;  // of A and B
  tilepost_dtype_t output = TILEPOST_BF16;
  tilepost_operands_t operands = TILEPOST_TN;
  tilepost_accumulate_t accumulate = TILEPOST_PRECISE;
  int epilogue = 0;  // a set of TILEPOST_SCALE …
  int cluster = 1;
  int band = 1;
  bool routed = false;  // every row goes to a place of its own (TILEPOST_ROUTING_ROWS)
  bool added = false;   // tiles are added to what is where they go (TILEPOST_SUM_ADDED)
  bool tasks = false;   // a helper warp has tasks (tilepost_tasks_t)
  // gemm_sm80: elements per access, as many as the starts of rows are aligned to.
  int load_vector = 8;    // copies of A, and of B along K
  int load_vector_b = 8;  // copies of B along N (TILEPOST_NN)
  int store_vector = 8;   // stores of the output
};

// Whether it is a row of gemm_sm90.
bool is_sm90(const KernelConfig& config);

// gemm_sm90's rows in order of preference.
const std::vector<KernelConfig>& sm90_configs();

// gemm_sm80's rows for 16-bit inputs that fit the shared memory of `arch` in order of preference;
// on sm_90a the rows of sm_80.
const std::vector<KernelConfig>& sm80_configs(Arch arch);

// gemm_sm80's rows for e4m3: sm_89 and sm_90a, none elsewhere.
const std::vector<KernelConfig>& sm80_e4m3_configs(Arch arch, tilepost_accumulate_t accumulate);

// gemm_host with a tile of the caller's choice.
KernelConfig host_config(int tile_m, int tile_n);

// Dynamic shared memory of one CTA, bytes.
int64_t shared_bytes(const KernelConfig& config);

// Threads of one CTA.
int threads(const KernelConfig& config);

// Elements of K per pipeline stage.
int tile_k(const KernelConfig& config, tilepost_dtype_t element);

// How often a CTA raises the group's counter for one tile.
int signals_per_tile(const KernelConfig& config);

// Bytes of an element.
int bytes_of(tilepost_dtype_t type);

// The plan's kernel, tunables filled in.
KernelPlan make_kernel(const KernelConfig& config, const KernelRequest& request);

// Tile rows swept together: 2048 output rows keep a wave's operands in L2 (band 16 of 128 rows was
// the best of 4, 8, 16, 32 on an H200), as a multiple of the cluster and no more than there are.
int band_of(const KernelConfig& config, int cluster, int64_t m);

}  // namespace tilepost
