// The kernel catalogue: every configuration of the bundled kernels the planner may choose.
//
// To serve a new tile, add a row; to serve a new kernel, add a builder. Sizes of shared memory
// repeat the templates' kSharedBytes, and generated code asserts that the two agree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "generator/plan/arch.h"
#include "generator/plan/plan.h"
#include "tilepost/internal/task_chunks.h"

namespace tilepost {

// One row of the catalogue.
struct KernelConfig {
  const char* kernel;  // "gemm_sm90"
  const char* row;     // its name in a machine profile, which has its times, or Sm90Profile
  int tile_m, tile_n;
  int tile_k;  // of 16-bit elements; 8-bit ones are twice as many in as many bytes
  int stages;
  // gemm_sm90: what it stages of C per consumer warpgroup, panels of so many rows and columns; how
  // many of these share a tile or, if `pingpong`, take turns at whole ones; `swapped`: the matrix
  // instruction's rows are columns of B.
  int panels;
  int panel_m, panel_n;
  int consumers;
  bool pingpong;
  bool swapped;
  bool epilogue;       // has registers for what an epilogue reads
  bool helped;         // gemm_sm90: for plans whose helper warps have tasks, whose memory it leaves
  int warp_m, warp_n;  // gemm_sm80: a warp's part of the tile
  int ctas_per_sm;
  int split_k = 1;  // gemm_sm90_small: CTAs that share the products of a tile
  int across = 1;   // gemm_sm90: CTAs that have its columns side by side, and share A
  std::shared_ptr<const OwnKernel> own = nullptr;  // the user's, in place of a bundled one
};

// CTAs of a cluster that compute a tile together.
inline int ctas_of_tile(const KernelConfig& config) {
  return config.split_k * config.across;
}

// Columns of a tile that one of them has.
inline int columns_of_cta(const KernelConfig& config) {
  return config.tile_n / config.across;
}

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
  int sources = 0;      // gemm_sm90: that its own tiles add (tilepost_plan_t::fused_sum); 0: none
  bool meets = false;   // it is a whole run (tilepost_plan_t::meets)
  // gemm_sm90_small, gemm_host: it exchanges tiles with kernels of so many ranks.
  tilepost_shots_t shots = TILEPOST_SHOTS_NONE;
  int ranks = 1;
  // Each of which gets a share of so many rows, 1 where runs differ in rows; 0: it gets all of
  // them.
  int64_t share_rows = 0;
  bool normalises = false;  // and they normalise the rows of the sums (RunPath::normalises)
  // gemm_sm80: elements per access, as many as the starts of rows are aligned to.
  int load_vector = 8;    // copies of A, and of B along K
  int load_vector_b = 8;  // copies of B along N (TILEPOST_NN)
  int store_vector = 8;   // stores of the output
};

// A kernel configuration that can serve the problem.
struct KernelChoice {
  KernelConfig config;
  KernelRequest request;
};

// Whether it is a row of gemm_sm90.
bool is_sm90(const KernelConfig& config);

// Whether so many tiles, one below the other, may be in one cluster.
bool fits_cluster(const KernelConfig& config, int tiles);

// gemm_sm90's rows in order of preference.
const std::vector<KernelConfig>& sm90_configs();

// gemm_sm80's rows for 16-bit inputs that fit the shared memory of `arch` in order of preference;
// on sm_90a the rows of sm_80.
const std::vector<KernelConfig>& sm80_configs(Arch arch);

// gemm_sm80's rows for e4m3: sm_89 and sm_90a, none elsewhere.
const std::vector<KernelConfig>& sm80_e4m3_configs(Arch arch, tilepost_accumulate_t accumulate);

// gemm_host with a tile of the caller's choice.
KernelConfig host_config(int tile_m, int tile_n);

// A kernel of the user's own, which the plan's copies share.
KernelConfig own_config(std::shared_ptr<const OwnKernel> own);

// Dynamic shared memory of one CTA, bytes.
int64_t shared_bytes(const KernelConfig& config);

// Threads of one CTA.
int threads(const KernelConfig& config);

// Elements of K per pipeline stage.
int tile_k(const KernelConfig& config, tilepost_dtype_t element);

// How often a CTA raises the group's counter for one tile.
int signals_per_tile(const KernelConfig& config);

// gemm_sm90: the consumers that multiply parts of one tile, and the sums of it that a thread holds.
int sharers_of(const KernelConfig& config);
int sums_of_thread(const KernelConfig& config);

// Bytes of an element.
int bytes_of(tilepost_dtype_t type);

// The plan's kernel, tunables filled in.
KernelPlan make_kernel(const KernelConfig& config, const KernelRequest& request);

// Tile rows swept together: so many output rows keep a wave's operands in L2, as a multiple of the
// cluster and no more than there are.
int band_of(const KernelConfig& config, int cluster, int64_t m, int64_t rows);

// Whether sums and addresses of a plain product take all registers: where a thread has 192 sums, A
// is shared and the tile not swapped. With boxes of B in rows of K, or addresses of other ranks'
// memory, they spill.
bool fills_registers(const KernelConfig& config);

// ---- Kernels that store into other ranks' memory

// Shared memory that a kernel leaves to the tasks of its helper warp: buffers of 16 KiB. With more
// of them, and smaller, sums were slower, with fewer no faster (tests/gpu/tasks.cu).
constexpr int kHelperBytes = 16384 + kTaskBarriers;

// Whether the configuration stores whole boxes by tensor maps, one map for each owner.
bool stores_to_peers(const KernelConfig& config);

// Whether the configuration exchanges tiles with other ranks: it has whole units of eight rows.
bool exchanges_tiles(const KernelConfig& config);

// Panels that one thread stores of a tile of gemm_sm90: one for each consumer that has a part of
// it.
int panels_of_tile(const KernelConfig& config);

// Whether a whole tile waits in shared memory while the next one is computed, so that all its
// stores may take as long as that.
bool stages_whole_tile(const KernelConfig& config);

// Whether it can add what other ranks have computed of its tiles in its epilogue, and well: a warp
// is left to bring that, panels are as it is added, and there are so many of them that sources and
// sums do not wait for each other's.
bool adds_sources(const KernelConfig& config, const Plan& plan);

// Whether the kernel has a helper warp: registers and shared memory are left for its tasks.
bool has_helper_warp(const KernelConfig& config, const Plan& plan);

// tilepost_view_t::pace: the stores of a tile spread over the part `paced` of the next tile's main
// loop. All CTAs finish a tile together; the burst of their stores, issued at once, holds up what
// follows. 0 for kernels that do not pace, and where nothing is stored to peers.
int pace_of(const KernelConfig& config, const Plan& plan, double paced);

}  // namespace tilepost
