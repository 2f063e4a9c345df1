// The plan: every number decided. The emitter and the weaver only print what stands here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "generator/spec/spec.h"
#include "runtime/map/run_path.h"
#include "runtime/map/steps.h"

namespace tilepost {

// Whether every rank has a share of the rows of its own (tilepost_division_t): not where all ranks
// get all rows at once, which NCCL's AllReduce does.
inline bool has_shares(tilepost_pattern_t pattern, tilepost_access_t access) {
  return pattern != TILEPOST_GEMM &&
         (pattern != TILEPOST_GEMM_ALL_REDUCE || access != TILEPOST_ACCESS_MESSAGES);
}

// The chosen kernel with every number it is specialised to.
struct KernelPlan {
  std::string name;      // "gemm_sm90"
  std::string file;      // template: "gemm_sm90.cu"
  std::string function;  // "gemm_sm90"
  tilepost_launch_t launch = TILEPOST_LAUNCH_TMA;
  std::map<std::string, std::string> tunables;        // name -> literal as it goes into the source
  int tile_m = 0, tile_n = 0, tile_k = 0;             // elements
  int stages = 0;                                     // pipeline depth
  int cluster = 1;                                    // tilepost_map_t::cluster
  int launch_cluster = 1;                             // CTAs per cluster of the launch
  int split_k = 1;                                    // CTAs that share the products of a tile
  bool early = false;                                 // tilepost_kernel_t::early
  tilepost_box_t box_a = {}, box_b = {}, box_c = {};  // TILEPOST_LAUNCH_TMA
  int threads = 0;                                    // per CTA
  int ctas_per_sm = 1;
  int64_t shared_bytes = 0;  // dynamic, per CTA
  int helper_bytes = 0;      // of it, a helper warp's
  int signals_per_tile = 1;
};

// What the schedule is expected to take on the machine the planner knows (docs/architecture.md),
// µs.
struct Prediction {
  double gemm = 0;                       // the whole GEMM on its SMs
  double total = 0;                      // until the last collective, or the GEMM, ends
  double sequence = 0;                   // GEMM on all SMs, then one collective
  std::vector<double> group_ready;       // when each group's tiles are done
  std::vector<double> collective_start;  // per group
  std::vector<double> collective_end;    // per group
};

// One architecture's plan. Pure data: the same Spec gives the same Plan, byte for byte.
struct Plan {
  std::string name;
  tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE;
  tilepost_routing_t routing = TILEPOST_ROUTING_EVEN;
  Arch arch = Arch::host;
  int ranks = 1;
  bool any_m = false;  // m is a bound
  int64_t m = 0, n = 0, k = 0;
  tilepost_dtype_t input = TILEPOST_BF16, output = TILEPOST_BF16;
  tilepost_operands_t operands = TILEPOST_TN;
  tilepost_accumulate_t accumulate = TILEPOST_PRECISE;
  int epilogue = 0;                           // a set of TILEPOST_SCALE …
  tilepost_layout_t layout = TILEPOST_PANEL;  // never automatic
  tilepost_division_t division = TILEPOST_DIVISION_ROWS;
  tilepost_transport_t transport = TILEPOST_TRANSPORT_NCCL;  // never automatic
  tilepost_access_t access = TILEPOST_ACCESS_MESSAGES;       // access_of(transport)
  tilepost_sum_t sum = TILEPOST_SUM_STAGED;   // TILEPOST_ACCESS_WRITE; never automatic
  bool pushes = false;                        // tilepost_plan_t::pushes
  int task_parts = 0;                         // tilepost_plan_t::task_parts
  int pace = 0;                               // tilepost_plan_t::pace
  tilepost_wait_t wait = TILEPOST_WAIT_POLL;  // never automatic
  tilepost_consumer_t consumer = TILEPOST_CONSUMER_NONE;
  KernelPlan kernel;

  int sms = 0;         // of the GPU planned for
  int gemm_ctas = 0;   // grid; when overlapping it leaves comm_ctas SMs and, if there are any, one
                       // for waits
  int comm_ctas = 0;   // over all lanes
  int comm_lanes = 1;  // communicators that take turns at the groups; their collectives overlap
  int waves = 0;       // ceil(positions / at_once())
  std::vector<int> group_waves;  // as asked or chosen, sums to waves
  std::vector<int32_t> cuts;     // tilepost_map_t::cuts
  int band = 1;                  // tilepost_map_t::band
  int stagger = 0;               // tilepost_map_t::stagger
  TileMap map;                   // of rank 0
  uint64_t map_hash = 0;
  tilepost_model_t model = {};  // any_m
  Prediction prediction;
  std::vector<std::string> reasons;  // why the planner chose what it chose, one line each

  // Positions of the schedule that are computed at a time.
  int at_once() const { return gemm_ctas / kernel.split_k; }
};

// Whether the kernel stores tiles into the memory of the ranks that own them.
inline bool stores_tiles(const Plan& plan) {
  return plan.access == TILEPOST_ACCESS_WRITE && plan.pattern != TILEPOST_ALL_GATHER_GEMM;
}

// The recipe of the plan's tile map; points into `plan`.
tilepost_map_t map_of(const Plan& plan);

// The problem as far as communication goes; points into `plan`.
Exchange exchange_of(const Plan& plan);

}  // namespace tilepost
