#include "generator/plan/kernels/stores.h"

#include "generator/plan/kernels/operands.h"
#include "generator/plan/transports/transports.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {
namespace {

constexpr int kPanel = 64;  // rows and columns of gemm_sm90's box of C

// Panels that one thread stores of a tile: of gemm_sm90's two, each has half of the rows, or takes
// its turn at whole tiles.
int panels_of_tile(const KernelConfig& config) {
  const int panels = config.tile_m / kPanel * (config.tile_n / kPanel);
  return config.pingpong ? panels : panels / 2;
}

// A sum of a tile more, and gemm_sm90 leaves the warps that move data too few registers.
bool has_helper_warp(const KernelConfig& config, const Plan& plan) {
  return is_sm90(config) && sums_held(config, plan) <= kMostBesideMore &&
         shared_bytes(config) + kHelperBytes <= arch_info(plan.arch).shared_per_block;
}

}  // namespace

bool stores_to_peers(const KernelConfig& config) {
  return is_sm90(config) || llvm::StringRef(config.kernel) == "gemm_host";
}

bool stages_whole_tile(const KernelConfig& config) {
  return is_sm90(config) && config.panels >= panels_of_tile(config);
}

int task_parts_of(const KernelConfig& config, const Plan& plan, tilepost_transport_t transport) {
  if (plan.arch == Arch::host || plan.ranks > kMostOnOneHost || !has_helper_warp(config, plan))
    return 0;
  if (plan.pattern == TILEPOST_ALL_GATHER_GEMM) return shares_memory(transport) ? 1 : 0;
  if (transport != TILEPOST_TRANSPORT_PEER) return 0;
  if (!reduces(plan.pattern)) return 1;
  return plan.sum == TILEPOST_SUM_STAGED ? plan.ranks : 0;
}

bool pushes_of(const Plan& plan) {
  if (plan.pattern == TILEPOST_ALL_GATHER_GEMM) return plan.access != TILEPOST_ACCESS_MESSAGES;
  return plan.pattern == TILEPOST_GEMM_ALL_REDUCE && plan.access == TILEPOST_ACCESS_WRITE &&
         plan.sum == TILEPOST_SUM_STAGED && (plan.task_parts > 0 || plan.arch == Arch::host);
}

int pace_of(const KernelConfig& config, const Plan& plan) {
  if (!stores_tiles(plan) || !is_sm90(config)) return 0;
  constexpr double kPart = 0.9;               // of the main loop
  constexpr double kProductsPerCycle = 2048;  // of 16-bit inputs, an SM's tensor cores
  const double products = static_cast<double>(config.tile_m) * config.tile_n * plan.k;
  const double cycles = products * bytes_of(plan.input) / 2 / kProductsPerCycle;
  return static_cast<int>(kPart * cycles / panels_of_tile(config));
}

}  // namespace tilepost
