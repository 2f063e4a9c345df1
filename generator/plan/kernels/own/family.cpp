#include <algorithm>
#include <memory>
#include <utility>

#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/own/own.h"

namespace tilepost {
namespace {

const std::shared_ptr<const OwnKernel>& kernel_of(const KernelConfig& config) {
  return static_cast<const OwnShape&>(*config.shape).kernel;
}

class OwnFamily final : public KernelFamily {
 public:
  const char* name() const override { return "own"; }

  // The family has one configuration for each kernel that a spec describes (own_config).
  std::vector<KernelConfig> configs(const Plan&, const MachineProfile&) const override {
    return {};
  }

  int threads(const KernelConfig& config) const override {
    const auto& block = kernel_of(config)->threads;
    return block[0] * block[1] * block[2];
  }

  int64_t shared_bytes(const KernelConfig& config) const override {
    const OwnKernel& own = *kernel_of(config);
    return own.count_at < 0 ? own.shared_bytes : own.count_at + 16;
  }

  int signals_per_tile(const KernelConfig& config) const override {
    return static_cast<int>(kernel_of(config)->spec.signals.value);
  }

  bool stores_to_peers(const KernelConfig& config) const override {
    return kernel_of(config)->spec.store_box.given();
  }

  // The spec says how fast the kernel is. What L2 delivers to it is not known.
  GemmModel model(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                  const KernelRequest& request) const override {
    StageModel stage;
    stage.efficiency = kernel_of(config)->spec.efficiency.value;
    stage.ghz = arch_info(plan.arch).clock_ghz;
    return gemm_of_tiles(profile, plan, config, request,
                         tile_of_stages(profile, plan, config, request, stage));
  }

  void complete(const KernelConfig& config, const KernelRequest& request,
                KernelPlan& plan) const override {
    const OwnKernel& own = *kernel_of(config);
    plan.kernel.name = own.name.c_str();
    plan.source.tunables.clear();
    plan.source.own = kernel_of(config);
    plan.source.file = own.spec.file.value;
    std::ranges::copy(own.threads, plan.kernel.block);
    plan.kernel.num_user = static_cast<int32_t>(own.spec.user.value.size());
    if (own.marked || own.spec.launcher.given() || plan.kernel.num_user > 0)
      plan.kernel.launch = TILEPOST_LAUNCH_CUSTOM;
    if (stores_to_peers(config)) {
      const std::vector<int64_t>& box = own.spec.store_box.value;
      plan.kernel.box_c = {static_cast<int32_t>(box[1]), static_cast<int32_t>(box[0]),
                           static_cast<int32_t>(box[2]), 0};
    }
    plan.kernel.cluster = request.cluster;
    plan.kernel.tile_per_cta = own.persistent ? 0 : 1;
  }
};

}  // namespace

const KernelFamily& own_family() {
  static const OwnFamily family;
  return family;
}

// The kernel's main loop is not known. A stage is taken to be as deep as one product of the tensor
// cores, in 16-bit elements.
KernelConfig own_config(std::shared_ptr<const OwnKernel> own) {
  KernelConfig config{};
  config.family = &own_family();
  config.row = "own";
  config.tile_m = static_cast<int>(own->spec.tile.value[0]);
  config.tile_n = static_cast<int>(own->spec.tile.value[1]);
  config.tile_k = 16;
  config.stages = 1;
  config.ctas_per_sm = static_cast<int>(own->spec.blocks_per_sm.value);
  OwnShape shape;
  shape.kernel = std::move(own);
  config.shape = std::make_shared<const OwnShape>(std::move(shape));
  return config;
}

}  // namespace tilepost
