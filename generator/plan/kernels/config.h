// A kernel as the planner weighs it: one configuration of a family, and what a plan asks of it.
#pragma once

#include <cstdint>
#include <memory>

#include "generator/plan/arch.h"
#include "generator/plan/plan.h"
#include "tilepost/dtype.h"

namespace tilepost {

class KernelFamily;

// What a configuration has that only its own family knows (sm90/sm90.h, for example).
struct FamilyShape {
  virtual ~FamilyShape() = default;
};

// One configuration of a family.
struct KernelConfig {
  const KernelFamily* family;
  const char* row;     // name of the configuration's times in a machine profile
  int tile_m, tile_n;  // of the output; one CTA has columns_of_cta columns
  int tile_k;          // 16-bit elements of K; 8-bit inputs have twice as many in these bytes
  int stages;          // of the pipeline
  int ctas_per_sm;
  int split_k = 1;        // CTAs of a cluster that share the products of a tile
  int across = 1;         // CTAs of a cluster that have a tile's columns side by side
  bool epilogue = false;  // whether registers are left for what an epilogue reads
  bool scales = false;    // whether stages have room for scales of A's blocks
  std::shared_ptr<const FamilyShape> shape = nullptr;
};

// CTAs of a cluster that compute a tile together.
inline int ctas_of_tile(const KernelConfig& config) {
  return config.split_k * config.across;
}

// Columns of a tile that one of the CTAs of a tile has.
inline int columns_of_cta(const KernelConfig& config) {
  return config.tile_n / config.across;
}

// What a plan asks of a kernel besides its configuration. The kernel is specialised to both.
struct KernelRequest {
  tilepost_dtype_t element = {};  // of A and B
  tilepost_dtype_t output = {};
  tilepost_operands_t operands = TILEPOST_TN;
  tilepost_accumulate_t accumulate = TILEPOST_PRECISE;
  tilepost_scales_t scales = TILEPOST_SCALES_NONE;
  tilepost_scales_order_t scales_a = TILEPOST_SCALES_ROWS;
  bool scales_arrive = false;  // whether A's scales arrive with its rows while the kernel runs
  bool quantises = false;      // whether the kernel quantises its tiles (quantises_tiles)
  int epilogue = 0;            // a set of TILEPOST_SCALE …
  tilepost_gate_t gate = TILEPOST_GATE_HALVES;  // where B has gate and up (experts)
  bool gathers = false;    // whether rows are those of tokens (PatternRow::dispatches)
  int cluster = 1;         // tiles of a cluster, one below the other
  int band = 1;            // tile rows that are swept together (band_of)
  bool routed = false;     // whether every row goes to a place of its own (TILEPOST_ROUTING_ROWS)
  bool added = false;      // whether tiles are added to the memory they go to (TILEPOST_SUM_ADDED)
  bool tasks = false;      // whether a helper warp has tasks (tilepost_tasks_t)
  bool fused = false;      // whether the epilogue does all that crosses ranks (plan.h, fused)
  int sources = 0;         // parts that the epilogue adds to tiles of this rank's own
  bool whole_run = false;  // whether the kernel is a whole run (tilepost_plan_t::whole_run)
  // How kernels exchange tiles, and how many ranks do so.
  tilepost_shots_t shots = TILEPOST_SHOTS_NONE;
  int ranks = 1;
  // Rows of the share that each of these ranks gets, 1 where runs differ in rows. 0: each rank gets
  // all rows.
  int64_t share_rows = 0;
  bool normalises = false;  // whether kernels normalise rows of sums (RunPath::normalises)
  // Elements per access of kernels that address operands by pointers: as many as the starts of rows
  // are aligned to.
  int load_vector = 8;    // copies of A, and of B along K
  int load_vector_b = 8;  // copies of B along N (TILEPOST_NN)
  int store_vector = 8;   // stores of the output
};

// A kernel configuration that can serve the problem.
struct KernelChoice {
  KernelConfig config;
  KernelRequest request;
};

// Whether sums of these inputs are kept twice. Tensor cores sum some dtypes in fewer bits than
// fp32, so precise kernels add such sums to others in fp32.
inline bool sums_twice(tilepost_dtype_t element, tilepost_accumulate_t accumulate) {
  return row_of(element).sums_short() && accumulate == TILEPOST_PRECISE;
}

}  // namespace tilepost
