#include "generator/plan/kernels/kernels.h"

#include <algorithm>

#include "generator/plan/kernels/small_kernel.h"
#include "generator/plan/kernels/stores.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

namespace tilepost {
namespace {

constexpr int kTileK90 = 64;

// Tensor-bound kernels run at the power limit, so each has a clock of its own: the less it moves
// into shared memory per flop, the higher.
KernelConfig sm90(int tile_m, int tile_n, int stages, int panels, double epilogue_cycles,
                  double ghz) {
  KernelConfig config{};
  config.kernel = "gemm_sm90";
  config.tile_m = tile_m;
  config.tile_n = tile_n;
  config.tile_k = kTileK90;
  config.stages = stages;
  config.panels = panels;
  config.ctas_per_sm = 1;
  config.efficiency = 0.995;
  config.epilogue_cycles = epilogue_cycles;
  config.ghz = ghz;
  return config;
}

KernelConfig with_epilogue(KernelConfig config) {
  config.epilogue = true;
  return config;
}

KernelConfig beside(KernelConfig config) {
  config.beside = true;
  return config;
}

// The next tile's products hide a ping-pong kernel's rounding and storing.
KernelConfig pingpong(int tile_m, int tile_n, int stages, int panels, double ghz) {
  KernelConfig config = sm90(tile_m, tile_n, stages, panels, 0, ghz);
  config.pingpong = true;
  return config;
}

KernelConfig sm80(int tile_m, int tile_n, int tile_k, int stages, int warp_m, int warp_n,
                  int ctas_per_sm, double efficiency) {
  KernelConfig config{};
  config.kernel = "gemm_sm80";
  config.tile_m = tile_m;
  config.tile_n = tile_n;
  config.tile_k = tile_k;
  config.stages = stages;
  config.beside = config.epilogue = true;
  config.warp_m = warp_m;
  config.warp_n = warp_n;
  config.ctas_per_sm = ctas_per_sm;
  config.efficiency = efficiency;
  config.epilogue_cycles = 2000;
  return config;
}

bool is_host(const KernelConfig& config) {
  return llvm::StringRef(config.kernel) == "gemm_host";
}

const char* dtype_name(tilepost_dtype_t type) {
  switch (type) {
    case TILEPOST_BF16:
      return "tilepost::DType::bf16";
    case TILEPOST_F16:
      return "tilepost::DType::f16";
    case TILEPOST_E4M3:
      return "tilepost::DType::e4m3";
  }
  llvm_unreachable("element type");
}

// Sums of 16-bit inputs are precise in every kernel, with nothing done for it.
bool is_precise(const KernelRequest& request) {
  return request.element == TILEPOST_E4M3 && request.accumulate == TILEPOST_PRECISE;
}

// What every bundled kernel declares.
void add_tunables(const KernelConfig& config, const KernelRequest& request, KernelPlan& plan) {
  plan.source.tunables["TILE_M"] = std::to_string(config.tile_m);
  plan.source.tunables["TILE_N"] = std::to_string(config.tile_n);
  plan.source.tunables["BAND"] = std::to_string(request.band);
  plan.source.tunables["ELEMENT"] = dtype_name(request.element);
  plan.source.tunables["OUTPUT"] = dtype_name(request.output);
  plan.source.tunables["EPILOGUE"] = std::to_string(request.epilogue);
  plan.source.tunables["NN"] = request.operands == TILEPOST_NN ? "1" : "0";
}

void add_sm90_tunables(const KernelConfig& config, const KernelRequest& request, KernelPlan& plan) {
  plan.source.tunables["STAGES"] = std::to_string(config.stages);
  plan.source.tunables["PANELS"] = std::to_string(config.panels);
  plan.source.tunables["CLUSTER"] = std::to_string(request.cluster);
  plan.source.tunables["PINGPONG"] = config.pingpong ? "1" : "0";
  plan.source.tunables["ROUTED"] = request.routed ? "1" : "0";
  plan.source.tunables["PRECISE"] = is_precise(request) ? "1" : "0";
  plan.source.tunables["ADD"] = request.added ? "1" : "0";
  plan.source.tunables["HELPER"] = std::to_string(plan.kernel.helper_bytes);
}

// Every box is as wide as the swizzle's span, 128 bytes. Cluster-mates load B in equal parts; where
// B is [k, n] a part is some of the stage's rows, and the kernel asks for one box per 64 columns.
void set_sm90_boxes(const KernelConfig& config, const KernelRequest& request, KernelPlan& plan) {
  constexpr int kSwizzle = 128, kPromote = 0;
  constexpr int kColumns = 64;  // of 16-bit elements
  plan.kernel.box_a = {plan.kernel.tile_k, config.tile_m, kSwizzle, kPromote};
  plan.kernel.box_b =
      request.operands == TILEPOST_NN
          ? tilepost_box_t{kColumns, plan.kernel.tile_k / request.cluster, kSwizzle, kPromote}
          : tilepost_box_t{plan.kernel.tile_k, config.tile_n / request.cluster, kSwizzle, kPromote};
  plan.kernel.box_c = {kColumns, 64, kSwizzle, kPromote};
}

void add_sm80_tunables(const KernelConfig& config, const KernelRequest& request, KernelPlan& plan) {
  plan.source.tunables["TILE_K"] = std::to_string(plan.kernel.tile_k);
  plan.source.tunables["STAGES"] = std::to_string(config.stages);
  plan.source.tunables["WARP_M"] = std::to_string(config.warp_m);
  plan.source.tunables["WARP_N"] = std::to_string(config.warp_n);
  plan.source.tunables["CTAS_PER_SM"] = std::to_string(config.ctas_per_sm);
  plan.source.tunables["LOAD_VECTOR"] = std::to_string(request.load_vector);
  plan.source.tunables["LOAD_VECTOR_B"] = std::to_string(request.load_vector_b);
  plan.source.tunables["STORE_VECTOR"] = std::to_string(request.store_vector);
  // Sums are added up every stage of 128 products; rows with shorter stages are for mma that sums
  // in fp32 anyway.
  constexpr int kProducts = 128;
  plan.source.tunables["PRECISE"] =
      is_precise(request) && plan.kernel.tile_k == kProducts ? "1" : "0";
}

}  // namespace

bool is_sm90(const KernelConfig& config) {
  return llvm::StringRef(config.kernel) == "gemm_sm90";
}

const std::vector<KernelConfig>& sm90_configs() {
  static const std::vector<KernelConfig> configs = {
      beside(with_epilogue(sm90(128, 256, 3, 4, 890, 1.587))),
      pingpong(128, 192, 5, 1, 1.565),
      sm90(256, 192, 3, 3, 1960, 1.618),
      pingpong(128, 128, 6, 2, 1.570),
      beside(sm90(128, 256, 4, 2, 1090, 1.585)),
      beside(sm90(256, 128, 4, 2, 850, 1.553)),
      beside(with_epilogue(sm90(128, 192, 4, 3, 810, 1.560))),
      beside(with_epilogue(sm90(128, 128, 5, 2, 600, 1.560))),
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

const std::vector<KernelConfig>& sm80_e4m3_configs(Arch arch, tilepost_accumulate_t accumulate) {
  // A second set of sums leaves a warp half the tile.
  static const std::vector<KernelConfig> precise = {sm80(128, 128, 64, 3, 64, 32, 1, 0.70)};
  static const std::vector<KernelConfig> fast = {
      sm80(256, 128, 32, 3, 64, 64, 1, 0.82),
      sm80(128, 128, 32, 3, 64, 64, 2, 0.80),
  };
  // sm_90a's mma has no 8-bit unit: inputs become f16 first, at half the rate and in registers that
  // larger warp tiles do not leave.
  static const std::vector<KernelConfig> widened = {sm80(128, 128, 32, 4, 64, 32, 1, 0.35)};
  static const std::vector<KernelConfig> none;
  if (arch == Arch::sm_90a) return widened;
  if (arch != Arch::sm_89) return none;
  return accumulate == TILEPOST_PRECISE ? precise : fast;
}

KernelConfig host_config(int tile_m, int tile_n) {
  KernelConfig config{};
  config.kernel = "gemm_host";
  config.tile_m = tile_m;
  config.tile_n = tile_n;
  config.tile_k = config.stages = config.ctas_per_sm = 1;
  config.beside = config.epilogue = true;
  config.efficiency = 1;
  return config;
}

int64_t shared_bytes(const KernelConfig& config) {
  if (is_host(config)) return 0;
  if (is_small(config)) return small_shared_bytes(config);
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
  if (is_small(config)) return small_threads(config);
  if (is_sm90(config)) return 384;  // a producer and two consumer warpgroups
  return config.tile_m / config.warp_m * (config.tile_n / config.warp_n) * 32;
}

int tile_k(const KernelConfig& config, tilepost_dtype_t element) {
  return is_host(config) ? config.tile_k : config.tile_k * 2 / bytes_of(element);
}

// gemm_sm90: each consumer has a thread that stores its part of the tile and posts it.
// gemm_sm90_small: each CTA of a tile does.
int signals_per_tile(const KernelConfig& config) {
  if (is_small(config)) return config.split_k;
  return is_sm90(config) && !config.pingpong ? 2 : 1;
}

int bytes_of(tilepost_dtype_t type) {
  return type == TILEPOST_E4M3 ? 1 : 2;
}

KernelPlan make_kernel(const KernelConfig& config, const KernelRequest& request) {
  KernelPlan plan;
  plan.kernel.name = config.kernel;
  plan.source.file = std::string(config.kernel) + (is_host(config) ? ".cpp" : ".cu");
  plan.kernel.launch = is_sm90(config) || is_small(config) ? TILEPOST_LAUNCH_TMA
                       : is_host(config)                   ? TILEPOST_LAUNCH_HOST
                                                           : TILEPOST_LAUNCH_POINTERS;
  plan.kernel.tile_k = tile_k(config, request.element);
  plan.source.stages = config.stages;
  plan.kernel.threads = threads(config);
  plan.kernel.ctas_per_sm = config.ctas_per_sm;
  plan.kernel.shared_bytes = static_cast<int32_t>(shared_bytes(config));
  add_tunables(config, request, plan);
  if (is_sm90(config)) {
    if (request.tasks) plan.kernel.helper_bytes = kHelperBytes;
    plan.kernel.shared_bytes += plan.kernel.helper_bytes;
    plan.kernel.cluster = request.cluster;
    add_sm90_tunables(config, request, plan);
    set_sm90_boxes(config, request, plan);
  } else if (is_small(config)) {
    plan.source.tunables["PRECISE"] = is_precise(request) ? "1" : "0";
    complete_small(config, request, plan);
  } else if (!is_host(config)) {
    add_sm80_tunables(config, request, plan);
  }
  return plan;
}

int band_of(const KernelConfig& config, int cluster, int64_t m) {
  constexpr int kRowsInBand = 2048;
  const int64_t tile_rows = (m + config.tile_m - 1) / config.tile_m;
  const int64_t wanted = std::min<int64_t>(std::max(1, kRowsInBand / config.tile_m), tile_rows);
  return static_cast<int>((wanted + cluster - 1) / cluster * cluster);
}

}  // namespace tilepost
