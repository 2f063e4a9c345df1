#include "generator/plan/stores.h"

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

}  // namespace

bool stores_to_peers(const KernelConfig& config) {
  return is_sm90(config) || llvm::StringRef(config.kernel) == "gemm_host";
}

bool stages_whole_tile(const KernelConfig& config) {
  return is_sm90(config) && config.panels >= panels_of_tile(config);
}

int pace_of(const KernelConfig& config, const Plan& plan) {
  if (plan.access != TILEPOST_ACCESS_WRITE || !is_sm90(config)) return 0;
  constexpr double kPart = 0.9;               // of the main loop
  constexpr double kProductsPerCycle = 2048;  // of 16-bit inputs, an SM's tensor cores
  const double products = static_cast<double>(config.tile_m) * config.tile_n * plan.k;
  const double cycles = products * bytes_of(plan.input) / 2 / kProductsPerCycle;
  return static_cast<int>(kPart * cycles / panels_of_tile(config));
}

}  // namespace tilepost
