// The plan: every number decided. The emitter and the weaver only print what stands here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "generator/own/own_kernel.h"
#include "generator/spec/spec.h"
#include "runtime/map/run_path.h"
#include "runtime/map/steps.h"

namespace tilepost {

// What only the planner knows of the chosen kernel. What the runtime knows of it is
// tilepost_kernel_t.
struct KernelSource {
  std::string file;                             // template: "gemm_sm90.cu"
  std::map<std::string, std::string> tunables;  // name -> literal as it goes into the source
  int stages = 0;                               // pipeline depth
  int split_k = 1;                              // CTAs that share the products of a tile
  int across = 1;                               // CTAs that have the columns of a tile side by side
  std::string variant;                          // KernelFamily::variant
  bool exchanges_tiles = false;          // whether the kernel can exchange tiles with other ranks
  std::shared_ptr<const OwnKernel> own;  // the user's kernel, in place of a template

  // CTAs of a launched cluster that compute a tile together.
  int ctas_of_tile() const { return split_k * across; }
};

// A kernel with every number that it is specialised to. `kernel.arch` and the functions are unset.
struct KernelPlan {
  KernelPlan() { kernel.cluster = kernel.ctas_per_sm = 1; }

  tilepost_kernel_t kernel = {};
  KernelSource source;
};

// What the schedule is expected to take on the machine that is planned for (docs/architecture.md),
// us.
struct Prediction {
  double gemm = 0;                       // the whole GEMM on its SMs
  double total = 0;                      // until the last collective, or the GEMM, ends
  double sequence = 0;                   // GEMM on all SMs, then one collective
  double sequence_gemm = 0;              // the GEMM's part of that; 0: no kernel runs in sequence
  double without_neighbours = 0;         // total of the plan without `neighbours`; 0: not asked
  std::vector<double> group_ready;       // when each group's tiles are done
  std::vector<double> collective_start;  // per group
  std::vector<double> collective_end;    // per group
};

// The entry of a tuning file by which a plan was chosen (generator/tuning).
struct TunedBy {
  std::string file;     // the file's name without its folder; "" for a plan that the model chose
  std::string machine;  // the GPUs that were measured: "2 x NVIDIA H200"
  double us = 0;        // what the plan took on them

  bool known() const { return !file.empty(); }
};

// One architecture's plan: what the runtime executes, and what only the planner knows. Pure data:
// the same Spec gives the same Plan, byte for byte.
//
// A Plan is a tilepost_plan_t, but for the kernel's functions, which only generated code has.
// Copies share the arrays that map.cuts and groups point to. Only set_cuts, set_tile_map and
// own_tile_map set these pointers.
struct Plan : tilepost_plan_t {
  Plan();

  std::string name;
  Arch arch = Arch::host;
  // The transport as planned. On the host target threads take its place, and
  // tilepost_plan_t::transport says so.
  tilepost_transport_t planned_transport = TILEPOST_TRANSPORT_NCCL;
  KernelSource source;
  // Which half of a layer of experts the plan is of (generator/spec/layer.h). The plans of a
  // layer's program are those of its first half, then those of its second.
  Half half = Half::none;
  // Which of the plans for an architecture this is (runtime/core/ranges.h), and the rows of the
  // smallest run that no other plan serves.
  int range = 0;
  int64_t least_m = 1;
  double wait_us = 0;            // what `wait` takes on the machine predicted for
  int waves = 0;                 // ceil(positions / at_once())
  std::vector<int> group_waves;  // as asked or chosen, sums to waves
  Prediction prediction;
  std::string profile;               // the machine predicted for
  std::string gpu;                   // MachineProfile::gpu of that machine
  double link_bytes_per_us = 0;      // the most that a rank sends to others on that machine
  TunedBy tuned;                     // where the choice was read; not known where it was planned
  std::vector<std::string> reasons;  // why the planner chose what it chose, one line each

  // Whether other plans serve some of the operation's runs.
  bool takes_turns() const { return range > 0 || least_m > 1; }
  // Positions of the schedule that are computed at a time.
  int at_once() const { return gemm_ctas / source.ctas_of_tile(); }
  // What map.cuts points to.
  const std::vector<int32_t>& cuts() const { return *cuts_; }
  // The schedule of rank 0.
  const TileMap& tile_map() const { return *tile_map_; }

  // Sets planned_transport, transport and access. Requires `arch`.
  void set_transport(tilepost_transport_t planned);
  // Sets kernel and source. Requires `arch`.
  void set_kernel(KernelPlan chosen);
  void set_cuts(std::vector<int32_t> cuts);
  // Sets tile_map(), groups and map_hash.
  void set_tile_map(TileMap tile_map);
  // The schedule, for changes that do not reach copies of this plan. Leaves map_hash as it is.
  TileMap& own_tile_map();

 private:
  std::shared_ptr<const std::vector<int32_t>> cuts_ =
      std::make_shared<const std::vector<int32_t>>();
  std::shared_ptr<TileMap> tile_map_ = std::make_shared<TileMap>();
};

// Of the plans of a layer, that of the second half for the most rows and the architecture of
// `first`.
const Plan& second_half_of(const std::vector<Plan>& plans, const Plan& first);

// Sets the division of a map of the plan for a transport with this access. Also sets what follows
// from the division: the shares of the rows, and whether they arrive in turns.
void set_division(tilepost_map_t& map, const Plan& plan, tilepost_division_t division,
                  tilepost_access_t access);

}  // namespace tilepost
