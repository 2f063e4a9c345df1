#include "generator/plan/stores.h"

#include "generator/plan/operands.h"
#include "generator/plan/transports.h"
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
bool can_spare(const KernelConfig& config, const Plan& plan) {
  return is_sm90(config) && sums_held(config, plan) <= kMostBesideMore &&
         shared_bytes(config) + kSpareBytes <= arch_info(plan.arch).shared_per_block;
}

}  // namespace

bool stores_to_peers(const KernelConfig& config) {
  return is_sm90(config) || llvm::StringRef(config.kernel) == "gemm_host";
}

bool stages_whole_tile(const KernelConfig& config) {
  return is_sm90(config) && config.panels >= panels_of_tile(config);
}

int job_parts_of(const KernelConfig& config, const Plan& plan, Transport transport) {
  if (plan.arch == Arch::host || plan.ranks > kMostOnOneHost || !can_spare(config, plan)) return 0;
  if (plan.pattern == Pattern::all_gather_gemm) return shares_memory(transport) ? 1 : 0;
  if (transport != Transport::peer) return 0;
  if (!reduces(plan.pattern)) return 1;
  return plan.sum == Sum::staged ? plan.ranks : 0;
}

bool pushes_of(const Plan& plan) {
  if (plan.pattern == Pattern::all_gather_gemm) return plan.access != TILEPOST_ACCESS_MESSAGES;
  return plan.pattern == Pattern::gemm_all_reduce && plan.access == TILEPOST_ACCESS_WRITE &&
         plan.sum == Sum::staged && (plan.job_parts > 0 || plan.arch == Arch::host);
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
