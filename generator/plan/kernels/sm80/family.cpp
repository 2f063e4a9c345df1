#include <algorithm>
#include <memory>

#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/sm80/sm80.h"

namespace tilepost {
namespace {

KernelConfig sm80(const char* row, int tile_m, int tile_n, int tile_k, int stages, int warp_m,
                  int warp_n, int ctas_per_sm) {
  Sm80Shape shape;
  shape.warp_m = warp_m;
  shape.warp_n = warp_n;
  KernelConfig config{};
  config.family = &sm80_family();
  config.row = row;
  config.tile_m = tile_m;
  config.tile_n = tile_n;
  config.tile_k = tile_k;
  config.stages = stages;
  config.epilogue = true;
  config.ctas_per_sm = ctas_per_sm;
  config.shape = std::make_shared<const Sm80Shape>(shape);
  return config;
}

class Sm80Family final : public KernelFamily {
 public:
  const char* name() const override { return "gemm_sm80"; }

  std::vector<KernelConfig> configs(const Plan& plan, const MachineProfile&) const override {
    return row_of(plan.input).is_narrow() ? sm80_narrow_configs(plan.arch, plan.accumulate)
                                          : sm80_configs(plan.arch);
  }

  int threads(const KernelConfig& config) const override {
    const Sm80Shape& shape = sm80_shape(config);
    return config.tile_m / shape.warp_m * (config.tile_n / shape.warp_n) * 32;
  }

  // The epilogue stages the tile in the pipeline's buffers, rows padded by 16 bytes against bank
  // conflicts.
  int64_t shared_bytes(const KernelConfig& config) const override {
    const int64_t pipeline =
        int64_t{config.stages} * (config.tile_m + config.tile_n) * config.tile_k * 2;
    return std::max(pipeline, int64_t{config.tile_m} * (config.tile_n + 8) * 2);
  }

  // What L2 delivers is not known, so products alone count. On sm_90a mma.sync reaches a part of
  // the tensor peak.
  GemmModel model(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                  const KernelRequest& request) const override {
    const KernelTimes& times = profile.gemm.times_of(config.row);
    const double peak = plan.arch == Arch::sm_90a ? profile.gemm.mma_sync : 1.0;
    StageModel stage;
    stage.efficiency =
        times.efficiency * peak * interpolate(profile.gemm.load_vector, request.load_vector);
    stage.ghz = arch_info(plan.arch).clock_ghz;
    return gemm_of_tiles(profile, plan, config, request,
                         tile_of_stages(profile, plan, config, request, stage));
  }

  void complete(const KernelConfig& config, const KernelRequest& request,
                KernelPlan& plan) const override {
    // Sums are added up every stage of 128 products; configurations with shorter stages are for mma
    // that sums in fp32 anyway.
    constexpr int kProducts = 128;
    const bool precise = sums_twice(request.element, request.accumulate);
    const Sm80Shape& shape = sm80_shape(config);
    auto& tunables = plan.source.tunables;
    tunables["TILE_K"] = std::to_string(plan.kernel.tile_k);
    tunables["STAGES"] = std::to_string(config.stages);
    tunables["WARP_M"] = std::to_string(shape.warp_m);
    tunables["WARP_N"] = std::to_string(shape.warp_n);
    tunables["CTAS_PER_SM"] = std::to_string(config.ctas_per_sm);
    tunables["LOAD_VECTOR"] = std::to_string(request.load_vector);
    tunables["LOAD_VECTOR_B"] = std::to_string(request.load_vector_b);
    tunables["STORE_VECTOR"] = std::to_string(request.store_vector);
    tunables["PRECISE"] = precise && plan.kernel.tile_k == kProducts ? "1" : "0";
  }
};

}  // namespace

const KernelFamily& sm80_family() {
  static const Sm80Family family;
  return family;
}

const Sm80Shape& sm80_shape(const KernelConfig& config) {
  return static_cast<const Sm80Shape&>(*config.shape);
}

// Few rows have few tiles, and each of them waits for memory, so small tiles have many stages.
const std::vector<KernelConfig>& sm80_configs(Arch arch) {
  static const std::vector<KernelConfig> large = {
      sm80("gemm_sm80/256x128x64", 256, 128, 64, 3, 64, 64, 1),
      sm80("gemm_sm80/128x256x64", 128, 256, 64, 3, 64, 64, 1),
      sm80("gemm_sm80/128x128x64", 128, 128, 64, 4, 64, 64, 1),
      sm80("gemm_sm80/64x128x64", 64, 128, 64, 6, 32, 64, 1),
      sm80("gemm_sm80/64x64x64", 64, 64, 64, 8, 32, 32, 1),
      sm80("gemm_sm80/16x32x64", 16, 32, 64, 12, 16, 16, 1),
  };
  static const std::vector<KernelConfig> small = {
      sm80("gemm_sm80/256x128x32", 256, 128, 32, 3, 64, 64, 1),
      sm80("gemm_sm80/128x128x32/2 per SM", 128, 128, 32, 3, 64, 64, 2),
      sm80("gemm_sm80/64x128x64", 64, 128, 64, 4, 32, 64, 1),
      sm80("gemm_sm80/64x64x64", 64, 64, 64, 6, 32, 32, 1),
      sm80("gemm_sm80/16x32x64", 16, 32, 64, 12, 16, 16, 1),
  };
  return arch == Arch::sm_86 || arch == Arch::sm_89 ? small : large;
}

const std::vector<KernelConfig>& sm80_narrow_configs(Arch arch, tilepost_accumulate_t accumulate) {
  // A second set of sums leaves a warp half the tile.
  static const std::vector<KernelConfig> precise = {
      sm80("gemm_sm80/128x128x64/e4m3 precise", 128, 128, 64, 3, 64, 32, 1)};
  static const std::vector<KernelConfig> fast = {
      sm80("gemm_sm80/256x128x32", 256, 128, 32, 3, 64, 64, 1),
      sm80("gemm_sm80/128x128x32/2 per SM", 128, 128, 32, 3, 64, 64, 2),
  };
  // sm_90a's mma has no 8-bit unit: inputs become f16 first, at half the rate and in registers that
  // larger warp tiles do not leave.
  static const std::vector<KernelConfig> widened = {
      sm80("gemm_sm80/128x128x32/e4m3 widened", 128, 128, 32, 4, 64, 32, 1)};
  static const std::vector<KernelConfig> none;
  if (arch == Arch::sm_90a) return widened;
  if (arch != Arch::sm_89) return none;
  return accumulate == TILEPOST_PRECISE ? precise : fast;
}

}  // namespace tilepost
