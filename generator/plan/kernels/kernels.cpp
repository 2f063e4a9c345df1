#include "generator/plan/kernels/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/small_kernel.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

KernelConfig sm80(const char* row, int tile_m, int tile_n, int tile_k, int stages, int warp_m,
                  int warp_n, int ctas_per_sm) {
  KernelConfig config{};
  config.kernel = "gemm_sm80";
  config.row = row;
  config.tile_m = tile_m;
  config.tile_n = tile_n;
  config.tile_k = tile_k;
  config.stages = stages;
  config.epilogue = true;
  config.warp_m = warp_m;
  config.warp_n = warp_n;
  config.ctas_per_sm = ctas_per_sm;
  return config;
}

bool is_host(const KernelConfig& config) {
  return std::string_view(config.kernel) == "gemm_host";
}

const char* dtype_name(tilepost_dtype_t type) {
  switch (type) {
    case TILEPOST_BF16:
      return "tilepost::DType::bf16";
    case TILEPOST_F16:
      return "tilepost::DType::f16";
    case TILEPOST_E4M3:
      return "tilepost::DType::e4m3";
    case TILEPOST_F32:
      return "tilepost::DType::f32";
  }
  std::abort();
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
  plan.source.tunables["PANEL_M"] = std::to_string(config.panel_m);
  plan.source.tunables["PANEL_N"] = std::to_string(config.panel_n);
  plan.source.tunables["CONSUMERS"] = std::to_string(config.consumers);
  plan.source.tunables["SWAP"] = config.swapped ? "1" : "0";
  plan.source.tunables["PANELS"] = std::to_string(config.panels);
  plan.source.tunables["CLUSTER"] = std::to_string(request.cluster);
  plan.source.tunables["PINGPONG"] = config.pingpong ? "1" : "0";
  if (config.across > 1) plan.source.tunables["ACROSS"] = std::to_string(config.across);
  plan.source.tunables["ROUTED"] = request.routed ? "1" : "0";
  plan.source.tunables["PRECISE"] = is_precise(request) ? "1" : "0";
  plan.source.tunables["ADD"] = request.added ? "1" : "0";
  plan.source.tunables["HELPER"] = std::to_string(plan.kernel.helper_bytes);
  if (request.sources > 0) plan.source.tunables["SOURCES"] = std::to_string(request.sources);
  if (request.meets) plan.source.tunables["EARLY"] = "1";
}

// Boxes of operands are as wide as the swizzle's span, 128 bytes. Cluster-mates load B in equal
// parts, or A, where they have columns of their own; where B is [k, n] a part is some of the
// stage's rows, and the kernel asks for one box per 64 columns.
void set_sm90_boxes(const KernelConfig& config, const KernelRequest& request, KernelPlan& plan) {
  constexpr int kSwizzle = 128, kPromote = 0;
  constexpr int kColumns = 64;  // of 16-bit elements
  const int rows_b = columns_of_cta(config) / request.cluster;
  plan.kernel.box_a = {plan.kernel.tile_k, config.tile_m / config.across, kSwizzle, kPromote};
  plan.kernel.box_b =
      request.operands == TILEPOST_NN
          ? tilepost_box_t{kColumns, plan.kernel.tile_k / request.cluster, kSwizzle, kPromote}
          : tilepost_box_t{plan.kernel.tile_k, rows_b, kSwizzle, kPromote};
  plan.kernel.box_c = {config.panel_n, config.panel_m, kSwizzle, kPromote};
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
  return std::string_view(config.kernel) == "gemm_sm90";
}

// The clusters of gemm_sm90_small share tiles, not columns.
bool fits_cluster(const KernelConfig& config, int tiles) {
  constexpr int kMostCtas =
      8;  // on every device (CUDA C++ Programming Guide, Thread Block Clusters)
  return tiles == 1 || (!is_small(config) && tiles * config.across <= kMostCtas);
}

const std::vector<KernelConfig>& sm80_configs(Arch arch) {
  static const std::vector<KernelConfig> large = {
      sm80("gemm_sm80/256x128x64", 256, 128, 64, 3, 64, 64, 1),
      sm80("gemm_sm80/128x256x32", 128, 256, 32, 4, 64, 64, 1),
      sm80("gemm_sm80/128x128x32", 128, 128, 32, 4, 64, 64, 1),
      sm80("gemm_sm80/64x128x64", 64, 128, 64, 3, 32, 64, 1),
  };
  static const std::vector<KernelConfig> small = {
      sm80("gemm_sm80/256x128x32", 256, 128, 32, 3, 64, 64, 1),
      sm80("gemm_sm80/128x128x32/2 per SM", 128, 128, 32, 3, 64, 64, 2),
      sm80("gemm_sm80/64x128x64", 64, 128, 64, 3, 32, 64, 1),
  };
  return arch == Arch::sm_86 || arch == Arch::sm_89 ? small : large;
}

const std::vector<KernelConfig>& sm80_e4m3_configs(Arch arch, tilepost_accumulate_t accumulate) {
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

KernelConfig host_config(int tile_m, int tile_n) {
  KernelConfig config{};
  config.kernel = config.row = "gemm_host";
  config.tile_m = tile_m;
  config.tile_n = tile_n;
  config.tile_k = config.stages = config.ctas_per_sm = 1;
  config.epilogue = true;
  return config;
}

// Its main loop is not known: a stage is as deep as the tensor cores' products of 16-bit elements.
KernelConfig own_config(std::shared_ptr<const OwnKernel> own) {
  KernelConfig config{};
  config.kernel = own->name.c_str();
  config.row = "own";
  config.tile_m = static_cast<int>(own->spec.tile.value[0]);
  config.tile_n = static_cast<int>(own->spec.tile.value[1]);
  config.tile_k = 16;
  config.stages = 1;
  config.ctas_per_sm = static_cast<int>(own->spec.blocks_per_sm.value);
  config.own = std::move(own);
  return config;
}

int64_t shared_bytes(const KernelConfig& config) {
  if (is_host(config)) return 0;
  if (config.own)
    return config.own->count_at < 0 ? config.own->shared_bytes : config.own->count_at + 16;
  if (is_small(config)) return small_shared_bytes(config);
  const int64_t rows = config.tile_m + columns_of_cta(config);  // of K, in a stage
  const int64_t pipeline = int64_t{config.stages} * rows * config.tile_k * 2;
  // Rows of panels are as long as the swizzle's span; 1024 bytes align the first stage to its
  // period and hold the barriers.
  if (is_sm90(config))
    return pipeline + int64_t{config.consumers} * config.panels * config.panel_m * 128 + 1024;
  // The epilogue stages the tile in the pipeline's buffers, rows padded by 16 bytes against bank
  // conflicts.
  return std::max(pipeline, int64_t{config.tile_m} * (config.tile_n + 8) * 2);
}

int threads(const KernelConfig& config) {
  if (is_host(config)) return 1;
  if (config.own) return config.own->threads[0] * config.own->threads[1] * config.own->threads[2];
  if (is_small(config)) return small_threads(config);
  if (is_sm90(config)) return 128 * (1 + config.consumers);  // and a warpgroup of movers
  return config.tile_m / config.warp_m * (config.tile_n / config.warp_n) * 32;
}

int tile_k(const KernelConfig& config, tilepost_dtype_t element) {
  return is_host(config) ? config.tile_k : config.tile_k * 2 / bytes_of(element);
}

// gemm_sm90: each consumer has a thread that stores its part of the tile and posts it.
// gemm_sm90_small: each CTA of a tile does.
int signals_per_tile(const KernelConfig& config) {
  if (config.own) return static_cast<int>(config.own->spec.signals.value);
  if (is_small(config)) return config.split_k;
  return config.across * (is_sm90(config) ? sharers_of(config) : 1);
}

int bytes_of(tilepost_dtype_t type) {
  return static_cast<int>(element_bytes(type));
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
  if (config.own) {
    plan.source.own = config.own;
    plan.source.file = config.own->spec.file.value;
    std::ranges::copy(config.own->threads, plan.kernel.block);
    plan.kernel.num_user = static_cast<int32_t>(config.own->spec.user.value.size());
    if (config.own->marked || config.own->spec.launcher.given() || plan.kernel.num_user > 0)
      plan.kernel.launch = TILEPOST_LAUNCH_CUSTOM;
    if (stores_to_peers(config)) {
      const std::vector<int64_t>& box = config.own->spec.store_box.value;
      plan.kernel.box_c = {static_cast<int32_t>(box[1]), static_cast<int32_t>(box[0]),
                           static_cast<int32_t>(box[2]), 0};
    }
    plan.kernel.cluster = request.cluster;
    plan.kernel.tile_per_cta = config.own->persistent ? 0 : 1;
    return plan;
  }
  add_tunables(config, request, plan);
  if (is_sm90(config)) {
    if (request.tasks) plan.kernel.helper_bytes = kHelperBytes;
    plan.kernel.shared_bytes += plan.kernel.helper_bytes;
    plan.kernel.cluster = request.cluster * config.across;
    plan.source.across = config.across;
    plan.kernel.early = request.meets ? 1 : 0;
    add_sm90_tunables(config, request, plan);
    set_sm90_boxes(config, request, plan);
  } else if (is_small(config)) {
    plan.source.tunables["PRECISE"] = is_precise(request) ? "1" : "0";
    complete_small(config, request, plan);
  } else if (!is_host(config)) {
    add_sm80_tunables(config, request, plan);
  } else if (request.shots != TILEPOST_SHOTS_NONE) {
    plan.kernel.box_c = {config.tile_n, box_rows(config, request), 0, 0};
    plan.source.tunables["BOX_M"] = std::to_string(plan.kernel.box_c.rows);
  }
  return plan;
}

int band_of(const KernelConfig& config, int cluster, int64_t m, int64_t rows) {
  const int64_t tile_rows = (m + config.tile_m - 1) / config.tile_m;
  const int64_t wanted = std::min(std::max<int64_t>(1, rows / config.tile_m), tile_rows);
  return static_cast<int>((wanted + cluster - 1) / cluster * cluster);
}

int sharers_of(const KernelConfig& config) {
  return config.pingpong ? 1 : config.consumers;
}

int sums_of_thread(const KernelConfig& config) {
  constexpr int kThreads = 128;  // of a consumer
  return config.tile_m * columns_of_cta(config) / kThreads / sharers_of(config);
}

bool fills_registers(const KernelConfig& config) {
  constexpr int kAll = 192;
  return is_sm90(config) && !config.swapped && config.across > 1 && sums_of_thread(config) >= kAll;
}

bool stores_to_peers(const KernelConfig& config) {
  if (config.own) return config.own->spec.store_box.given();
  if (fills_registers(config)) return false;
  return is_sm90(config) || is_host(config);
}

bool exchanges_tiles(const KernelConfig& config) {
  return is_small(config) || (is_host(config) && config.tile_m % kExchangeUnit == 0);
}

int panels_of_tile(const KernelConfig& config) {
  const int columns = columns_of_cta(config);
  const int panels = config.tile_m / config.panel_m * (columns / config.panel_n);
  return config.pingpong ? panels : panels / config.consumers;
}

bool stages_whole_tile(const KernelConfig& config) {
  return is_sm90(config) && config.panels >= panels_of_tile(config);
}

bool adds_sources(const KernelConfig& config, const Plan& plan) {
  constexpr int kAtOnce = 16;  // columns of four words
  constexpr int kLeast = 4;    // with two panels of four 8192x4096x1024 takes 158 us, not 151
  // Consumers that take turns have time to use each panel twice.
  const int uses = config.pingpong ? 2 : 1;
  return is_sm90(config) && config.consumers == 2 && !config.swapped && !config.helped &&
         config.panel_n % kAtOnce == 0 && uses * config.panels >= panels_of_tile(config) &&
         config.panels >= std::min(kLeast, panels_of_tile(config)) && stores_to_peers(config) &&
         bytes_of(plan.output) == 2;
}

// A sum of a tile more, and gemm_sm90 leaves the warps that move data too few registers. Three
// consumers take all of them to store.
bool has_helper_warp(const KernelConfig& config, const Plan& plan) {
  return is_sm90(config) && config.consumers == 2 && sums_held(config, plan) <= kMostBesideMore &&
         shared_bytes(config) + kHelperBytes <= arch_info(plan.arch).shared_per_block;
}

int pace_of(const KernelConfig& config, const Plan& plan, double paced) {
  if (!path_of(plan, true).by_owner || !is_sm90(config)) return 0;
  const double per_cycle = arch_info(plan.arch).tensor_flops_per_clock / 2;  // products
  const double products = static_cast<double>(config.tile_m) * columns_of_cta(config) * plan.k;
  const double cycles = products * bytes_of(plan.input) / 2 / per_cycle;
  // A consumer that takes turns has as long as two tiles take.
  const int tiles = plan.fused_sum != 0 && config.pingpong ? 2 : 1;
  return static_cast<int>(paced * tiles * cycles / panels_of_tile(config));
}

}  // namespace tilepost
