#include "generator/plan/kernels.h"

#include <algorithm>

#include "llvm/ADT/StringRef.h"

namespace tilepost {
namespace {

constexpr int kTileK90 = 64;

KernelConfig sm90(int tile_m, int tile_n, int stages, int panels, double epilogue_cycles) {
  return {"gemm_sm90", tile_m, tile_n, kTileK90, stages, panels, 0, 0, 1, 0.994, epilogue_cycles};
}

KernelConfig sm80(int tile_m, int tile_n, int tile_k, int stages, int warp_m, int warp_n,
                  int ctas_per_sm, double efficiency) {
  return {"gemm_sm80", tile_m, tile_n,      tile_k,     stages, 0,
          warp_m,      warp_n, ctas_per_sm, efficiency, 2000};
}

bool is_sm90(const KernelConfig& config) {
  return llvm::StringRef(config.kernel) == "gemm_sm90";
}
bool is_host(const KernelConfig& config) {
  return llvm::StringRef(config.kernel) == "gemm_host";
}

void add_sm90_tunables(const KernelConfig& config, const KernelRequest& request, KernelPlan& plan) {
  plan.tunables["STAGES"] = std::to_string(config.stages);
  plan.tunables["PANELS"] = std::to_string(config.panels);
  plan.tunables["CLUSTER"] = std::to_string(request.cluster);
}

void add_sm80_tunables(const KernelConfig& config, const KernelRequest& request, KernelPlan& plan) {
  plan.tunables["TILE_K"] = std::to_string(config.tile_k);
  plan.tunables["STAGES"] = std::to_string(config.stages);
  plan.tunables["WARP_M"] = std::to_string(config.warp_m);
  plan.tunables["WARP_N"] = std::to_string(config.warp_n);
  plan.tunables["CTAS_PER_SM"] = std::to_string(config.ctas_per_sm);
  plan.tunables["LOAD_VECTOR"] = std::to_string(request.load_vector);
  plan.tunables["STORE_VECTOR"] = std::to_string(request.store_vector);
}

}  // namespace

const std::vector<KernelConfig>& sm90_configs() {
  static const std::vector<KernelConfig> configs = {
      sm90(128, 256, 3, 4, 1000), sm90(128, 256, 4, 2, 1710), sm90(256, 128, 4, 2, 1710),
      sm90(128, 192, 4, 3, 810),  sm90(128, 128, 5, 2, 600),
  };
  return configs;
}

const std::vector<KernelConfig>& sm80_configs(Arch arch) {
  static const std::vector<KernelConfig> large = {
      sm80(256, 128, 64, 3, 64, 64, 1, 0.85),
      sm80(128, 256, 32, 4, 64, 64, 1, 0.82),
      sm80(128, 128, 32, 4, 64, 64, 1, 0.70),
      sm80(64, 128, 64, 3, 32, 64, 1, 0.60),
  };
  static const std::vector<KernelConfig> small = {
      sm80(256, 128, 32, 3, 64, 64, 1, 0.82),
      sm80(128, 128, 32, 3, 64, 64, 2, 0.80),
      sm80(64, 128, 64, 3, 32, 64, 1, 0.60),
  };
  return arch == Arch::sm_86 || arch == Arch::sm_89 ? small : large;
}

KernelConfig host_config(int tile_m, int tile_n) {
  return {"gemm_host", tile_m, tile_n, 1, 1, 0, 0, 0, 1, 1, 0};
}

int64_t shared_bytes(const KernelConfig& config) {
  if (is_host(config)) return 0;
  const int64_t pipeline =
      int64_t{config.stages} * (config.tile_m + config.tile_n) * config.tile_k * 2;
  // Two consumer warpgroups stage panels of 64 x 64; 1024 bytes align the first stage to the
  // swizzle's period and hold the barriers.
  if (is_sm90(config)) return pipeline + int64_t{2} * config.panels * 64 * 64 * 2 + 1024;
  // The epilogue stages the tile in the pipeline's buffers, rows padded by 16 bytes against bank
  // conflicts.
  return std::max(pipeline, int64_t{config.tile_m} * (config.tile_n + 8) * 2);
}

int threads(const KernelConfig& config) {
  if (is_host(config)) return 1;
  if (is_sm90(config)) return 384;  // a producer and two consumer warpgroups
  return config.tile_m / config.warp_m * (config.tile_n / config.warp_n) * 32;
}

KernelPlan make_kernel(const KernelConfig& config, const KernelRequest& request) {
  KernelPlan plan;
  plan.name = plan.function = config.kernel;
  plan.file = plan.name + (is_host(config) ? ".cpp" : ".cu");
  plan.launch = is_sm90(config)   ? LaunchKind::tma
                : is_host(config) ? LaunchKind::host
                                  : LaunchKind::pointers;
  plan.tile_m = config.tile_m;
  plan.tile_n = config.tile_n;
  plan.tile_k = config.tile_k;
  plan.stages = config.stages;
  plan.cluster = request.cluster;
  plan.threads = threads(config);
  plan.ctas_per_sm = config.ctas_per_sm;
  plan.shared_bytes = shared_bytes(config);
  plan.signals_per_tile = is_sm90(config) ? 2 : 1;  // gemm_sm90: one per store warp
  plan.tunables["TILE_M"] = std::to_string(config.tile_m);
  plan.tunables["TILE_N"] = std::to_string(config.tile_n);
  plan.tunables["BAND"] = std::to_string(request.band);
  plan.tunables["ELEMENT"] =
      request.element == ElementType::bf16 ? "tilepost::DType::bf16" : "tilepost::DType::f16";
  if (is_sm90(config))
    add_sm90_tunables(config, request, plan);
  else if (!is_host(config))
    add_sm80_tunables(config, request, plan);
  return plan;
}

int band_of(const KernelConfig& config, int cluster, int64_t m) {
  constexpr int kRowsInBand = 2048;
  const int64_t tile_rows = (m + config.tile_m - 1) / config.tile_m;
  const int64_t wanted = std::min<int64_t>(std::max(1, kRowsInBand / config.tile_m), tile_rows);
  return static_cast<int>((wanted + cluster - 1) / cluster * cluster);
}

}  // namespace tilepost
