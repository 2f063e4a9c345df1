#include "generator/plan/kernels/exchange_boxes.h"
#include "generator/plan/kernels/host/host.h"
#include "runtime/map/quantised.h"
#include "tilepost/internal/expert_tiles.h"

namespace tilepost {
namespace {

// What kernels of the host have in common.
class HostKernels : public KernelFamily {
 public:
  tilepost_launch_t launch() const override { return TILEPOST_LAUNCH_HOST; }

  std::vector<KernelConfig> configs(const Plan& plan, const MachineProfile&) const override {
    return {default_host_config(plan, false)};
  }

  int threads(const KernelConfig&) const override { return 1; }
  int64_t shared_bytes(const KernelConfig&) const override { return 0; }
  int tile_k(const KernelConfig& config, tilepost_dtype_t) const override { return config.tile_k; }

  // The speed of the host is not modelled.
  GemmModel model(const MachineProfile&, const Plan&, const KernelConfig&,
                  const KernelRequest&) const override {
    return {};
  }
};

class HostFamily final : public HostKernels {
 public:
  const char* name() const override { return "gemm_host"; }
  std::string file() const override { return "gemm_host.cpp"; }

  bool stores_to_peers(const KernelConfig&) const override { return true; }
  bool exchanges_tiles(const KernelConfig& config) const override {
    return config.tile_m % kExchangeUnit == 0;
  }

  void complete(const KernelConfig& config, const KernelRequest& request,
                KernelPlan& plan) const override {
    if (request.shots == TILEPOST_SHOTS_NONE) return;
    plan.kernel.box_c = {config.tile_n, box_rows(config, request), 0, 0};
    plan.source.tunables["BOX_M"] = std::to_string(plan.kernel.box_c.rows);
  }
};

// Tile rows of experts are cut by the same code as on GPUs (expert_tiles.h).
class HostExpertsFamily final : public HostKernels {
 public:
  const char* name() const override { return "gemm_host_experts"; }
  std::string file() const override { return "gemm_host_experts.cpp"; }

  // Behind it tokens are summed, and these sums are stored.
  bool stores_to_peers(const KernelConfig&) const override { return true; }

  void complete(const KernelConfig&, const KernelRequest& request,
                KernelPlan& plan) const override {
    plan.source.tunables["INTERLEAVED"] = request.gate == TILEPOST_GATE_INTERLEAVED ? "1" : "0";
    plan.source.tunables["GATHERS"] = request.gathers ? "1" : "0";
  }
};

}  // namespace

const KernelFamily& host_experts_family() {
  static const HostExpertsFamily family;
  return family;
}

const KernelFamily& host_family() {
  static const HostFamily family;
  return family;
}

KernelConfig host_config(int tile_m, int tile_n) {
  KernelConfig config{};
  config.family = &host_family();
  config.row = "gemm_host";
  config.tile_m = tile_m;
  config.tile_n = tile_n;
  config.tile_k = config.stages = config.ctas_per_sm = 1;
  config.epilogue = true;
  return config;
}

KernelConfig host_config(const Plan& plan, int tile_m, int tile_n) {
  KernelConfig config = host_config(tile_m, tile_n);
  if (!row_of(plan).has_experts()) return config;
  config.family = &host_experts_family();
  config.row = "gemm_host_experts";
  return config;
}

KernelConfig default_host_config(const Plan& plan, bool exchanges) {
  const auto clip = [](int64_t extent, int least) {
    constexpr int kMost = 64;
    int size = least;
    while (size < extent && size < kMost) size *= 2;
    return size;
  };
  const int least = row_of(plan).has_experts() ? kExpertUnit : exchanges ? kExchangeUnit : 1;
  const int least_n = quantises_tiles(plan) ? TILEPOST_SCALE_BLOCK : 1;
  return host_config(plan, clip(plan.map.m, least), clip(plan.map.n, least_n));
}

}  // namespace tilepost
