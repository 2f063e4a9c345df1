// What the planner asks of a family of kernels: the configurations of one template, or the kernel
// of the user's own. A family is an object in a folder of its own here. The planner asks a family
// what it can do, and never which family it is.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/kernels/config.h"
#include "generator/plan/kernels/gemm_model.h"
#include "generator/plan/machine/profile.h"

namespace tilepost {

// What goes on beside a GEMM's tiles, and makes some of them take longer than others.
enum class Beside {
  rows_of_a,     // rows of A arrive
  fused_sums,    // the epilogue adds up what other ranks stored; each rank gets its sums
  pushed_sums,   // the epilogue adds it up, and all ranks get all sums
  helper_tasks,  // helper warps have tasks
};

class KernelFamily {
 public:
  virtual ~KernelFamily() = default;

  // ---- What it is

  // The template's function: "gemm_sm90". The name of an own kernel is its config's (make_kernel).
  virtual const char* name() const = 0;
  // The template's file: "gemm_sm90.cu".
  virtual std::string file() const { return std::string(name()) + ".cu"; }
  virtual tilepost_launch_t launch() const { return TILEPOST_LAUNCH_POINTERS; }

  // ---- What it offers

  // Why it cannot serve the plan with any configuration, "" if it may.
  virtual std::string why_not(const Plan& /*plan*/) const { return ""; }
  // Its configurations for the plan, in order of preference. Requires that why_not is "".
  virtual std::vector<KernelConfig> configs(const Plan& plan,
                                            const MachineProfile& profile) const = 0;
  // The most rows of A for which it is offered where it exchanges no tiles.
  virtual int64_t most_rows() const { return INT64_MAX; }

  // ---- What a CTA needs

  virtual int threads(const KernelConfig& config) const = 0;
  // Dynamic shared memory, bytes.
  virtual int64_t shared_bytes(const KernelConfig& config) const = 0;
  // Elements of K per pipeline stage.
  virtual int tile_k(const KernelConfig& config, tilepost_dtype_t element) const;
  // How often all CTAs that share a tile, together, raise the counter of its group for the tile.
  virtual int signals_per_tile(const KernelConfig& config) const { return config.across; }

  // ---- What a configuration can do

  // Whether `tiles` tiles, one below the other, may be in one cluster.
  virtual bool fits_cluster(const KernelConfig& config, int tiles) const;
  // Whether its registers hold the sums of a tile of the plan's inputs, and what its epilogue
  // reads.
  virtual bool holds_sums(const KernelConfig& /*config*/, const Plan& /*plan*/) const {
    return true;
  }
  // Whether it can load the plan's operands as they are laid out.
  virtual bool can_load(const KernelConfig& /*config*/, const Plan& /*plan*/) const { return true; }
  // Whether it can store each row of the output at a place of its own.
  virtual bool stores_rows(const KernelConfig& /*config*/, const Plan& /*plan*/) const {
    return true;
  }
  // Whether it stores whole boxes by tensor maps, one map for each rank that owns them.
  virtual bool stores_to_peers(const KernelConfig& /*config*/) const { return false; }
  // Whether it exchanges tiles with other ranks.
  virtual bool exchanges_tiles(const KernelConfig& /*config*/) const { return false; }
  // Whether a whole tile waits in shared memory while the next one is computed, so that all its
  // stores may take as long as that.
  virtual bool stages_whole_tile(const KernelConfig& /*config*/) const { return false; }
  // Whether its epilogue can add what other ranks have computed of its tiles, and does so fast.
  virtual bool adds_sources(const KernelConfig& /*config*/, const Plan& /*plan*/) const {
    return false;
  }
  // Whether a warp of it may begin and end runs by itself, while its store threads store tiles in
  // other ranks' outputs.
  virtual bool begins_runs(const KernelConfig& /*config*/, const Plan& /*plan*/) const {
    return false;
  }
  // Whether it has a helper warp: registers and shared memory are left for that warp's tasks.
  virtual bool has_helper_warp(const KernelConfig& /*config*/, const Plan& /*plan*/) const {
    return false;
  }
  // Whether the configuration is there for plans whose helper warps have tasks, and for no others.
  virtual bool is_for_tasks(const KernelConfig& /*config*/) const { return false; }
  // Whether its tiles can wait for rows of A that streams bring during the kernel.
  virtual bool waits_for_rows() const { return true; }
  // Whether it can load rows of A out of two memories: own rows where the caller has them, others
  // where they arrive.
  virtual bool loads_from_two_places() const { return false; }
  // Clock cycles between the stores of panels to other ranks (tilepost_view_t::pace), if the stores
  // of a tile are to take the part `paced` of the next tile's main loop; 0 where the kernel does
  // not pace.
  virtual int pace(const KernelConfig& /*config*/, const Plan& /*plan*/, double /*paced*/) const {
    return 0;
  }
  // Whether rows of the matrix instruction are columns of B.
  virtual bool is_swapped(const KernelConfig& /*config*/) const { return false; }
  // A word for what distinguishes the configuration from others that have its tile, stages, CTAs
  // per SM, split_k and across: "halves_swapped/2", for example. "" where nothing does.
  virtual std::string variant(const KernelConfig& /*config*/) const { return ""; }

  // ---- What time it takes

  // The time of the plan's product, with nothing beside it.
  virtual GemmModel model(const MachineProfile& profile, const Plan& plan,
                          const KernelConfig& config, const KernelRequest& request) const = 0;
  // By which factor its tiles take longer beside `what`, against other tiles.
  virtual double slower_beside(const MachineProfile& /*profile*/, const KernelConfig& /*config*/,
                               const KernelRequest& /*request*/, Beside /*what*/) const {
    return 1;
  }
  // By which factor it takes longer than modelled with m rows of A where it exchanges no tiles.
  virtual double slower_alone(const MachineProfile& /*profile*/, int64_t /*m*/) const { return 1; }

  // ---- What it is specialised to

  // Adds what only this family sets to a plan that already has what make_kernel sets for all
  // families.
  virtual void complete(const KernelConfig& config, const KernelRequest& request,
                        KernelPlan& plan) const = 0;
};

}  // namespace tilepost
