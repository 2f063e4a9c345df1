#include <algorithm>
#include <memory>

#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "runtime/map/quantised.h"
#include "tilepost/internal/block_scales.h"

namespace tilepost {
namespace {

constexpr int kRowBytes = 128;  // of an operand or a panel in shared memory: the swizzle's span
constexpr int kBarrierBytes = 1024;

// The most sums of a thread where registers are also needed for an epilogue, for routing rows or
// for the tasks of a helper warp.
constexpr int kMostBesideMore = 128;
// The same where the output's scales are computed behind an epilogue.
constexpr int kMostBesideScales = 96;

// Sums of a tile in a thread. Precise sums of narrow inputs are kept twice (sums_twice): the tensor
// cores' own, and those in fp32 that they are added to. With scales of blocks the tensor cores' own
// are those of 64 rows at a time.
int sums_held(const KernelConfig& config, const Plan& plan) {
  constexpr int kRows = 64, kThreads = 128;  // of a matrix instruction; of a consumer
  const int sums = sums_of_thread(config, sm90_shape(config));
  if (plan.scales == TILEPOST_SCALES_NONE)
    return sums * (sums_twice(plan.input, plan.accumulate) ? 2 : 1);
  return sums + kRows * columns_of_cta(config) / kThreads;
}

// Blocks of 64 rows, of the matrix instruction, that a consumer multiplies where these are rows of
// A.
int blocks_of_consumer(const KernelConfig& config) {
  constexpr int kRows = 64;
  return config.tile_m / sharers_of(sm90_shape(config)) / kRows;
}

// Whether gemm_sm90 has scales of blocks for the tile. The tile's rows of A must be the matrix
// instruction's, and its columns lie in at most two blocks of B.
bool can_scale_blocks(const KernelConfig& config) {
  return !sm90_shape(config).swapped && in_two_scale_blocks(columns_of_cta(config));
}

// Whether gemm_sm90 quantises what it stores of the tile. A panel then has a block of columns, in
// the bytes of half as many of 16 bits. Rows of the product must be the matrix instruction's.
bool can_quantise(const KernelConfig& config) {
  return !sm90_shape(config).swapped && columns_of_cta(config) % TILEPOST_SCALE_BLOCK == 0;
}

class Sm90Family final : public KernelFamily {
 public:
  const char* name() const override { return "gemm_sm90"; }
  tilepost_launch_t launch() const override { return TILEPOST_LAUNCH_TMA; }
  std::string why_not(const Plan& plan) const override { return why_not_tma(plan); }
  std::vector<KernelConfig> configs(const Plan& plan, const MachineProfile&) const override {
    return plan.scales != TILEPOST_SCALES_NONE ? sm90_block_configs() : sm90_configs();
  }

  int threads(const KernelConfig& config) const override {
    return 128 * (1 + sm90_shape(config).consumers);  // and a warpgroup of movers
  }

  // 1024 bytes align the first stage to the swizzle's period and hold the barriers.
  int64_t shared_bytes(const KernelConfig& config) const override {
    const Sm90Shape& shape = sm90_shape(config);
    const int64_t rows = config.tile_m + columns_of_cta(config);  // of K, in a stage
    return int64_t{config.stages} * rows * config.tile_k * 2 +
           int64_t{shape.consumers} * shape.panels * shape.panel_m * kRowBytes + kBarrierBytes +
           (shape.scales ? scale_bytes(shape.consumers, blocks_of_consumer(config)) : 0);
  }

  // Each consumer has a thread that stores its part of the tile and raises the counter for it.
  int signals_per_tile(const KernelConfig& config) const override {
    return config.across * sharers_of(sm90_shape(config));
  }

  bool holds_sums(const KernelConfig& config, const Plan& plan) const override {
    if (plan.scales != TILEPOST_SCALES_NONE && !can_scale_blocks(config)) return false;
    if (quantises_tiles(plan) && !can_quantise(config)) return false;
    const int most = sm90_shape(config).consumers == 3 ? 104 : 192;  // gemm_sm90.cu asserts it
    const int beside = quantises_tiles(plan) ? kMostBesideScales : kMostBesideMore;
    return sums_held(config, plan) <= (plan.epilogue == 0 ? most : std::min(most, beside));
  }

  // A B of [k, n] is loaded in whole slabs of 64 columns.
  bool can_load(const KernelConfig& config, const Plan& plan) const override {
    constexpr int kSlab = 64;
    return plan.operands != TILEPOST_NN ||
           (columns_of_cta(config) % kSlab == 0 && !fills_registers(config));
  }

  // Each row is stored by the thread that has it.
  bool stores_rows(const KernelConfig& config, const Plan& plan) const override {
    constexpr int kWhole = 64;  // columns of a panel: with fewer, the warp lacks registers
    const Sm90Shape& shape = sm90_shape(config);
    return !shape.pingpong && config.across == 1 && !shape.swapped && shape.consumers == 2 &&
           shape.panel_n == kWhole && sums_held(config, plan) <= kMostBesideMore;
  }

  bool stores_to_peers(const KernelConfig& config) const override {
    return !fills_registers(config);
  }

  bool stages_whole_tile(const KernelConfig& config) const override {
    const Sm90Shape& shape = sm90_shape(config);
    return shape.panels >= panels_of_tile(config, shape);
  }

  // Panels need a shape in which sources can be added.
  bool adds_sources(const KernelConfig& config, const Plan& plan) const override {
    constexpr int kAtOnce = 16;  // columns of four words
    const Sm90Shape& shape = sm90_shape(config);
    return begins_runs(config, plan) && !shape.swapped && shape.panel_n % kAtOnce == 0;
  }

  // One of the warps that move data is free to begin and end runs. There are enough panels that
  // stores to other ranks, which take their time, and sources do not wait for each other's panels.
  bool begins_runs(const KernelConfig& config, const Plan& plan) const override {
    constexpr int kLeast = 4;  // with two panels of four 8192x4096x1024 takes 158 us, not 151
    const Sm90Shape& shape = sm90_shape(config);
    const int needed = panels_of_tile(config, shape);
    // Consumers that take turns have time to use each panel twice.
    const int uses = shape.pingpong ? 2 : 1;
    return shape.consumers == 2 && !shape.for_tasks && uses * shape.panels >= needed &&
           shape.panels >= std::min(kLeast, needed) && stores_to_peers(config) &&
           bytes_of(plan.output) == 2;
  }

  // If a thread held more sums, the warps that move data would have too few registers. Three
  // consumers take all of these warps to store.
  bool has_helper_warp(const KernelConfig& config, const Plan& plan) const override {
    return sm90_shape(config).consumers == 2 && sums_held(config, plan) <= kMostBesideMore &&
           shared_bytes(config) + kHelperBytes <= arch_info(plan.arch).shared_per_block;
  }

  bool is_for_tasks(const KernelConfig& config) const override {
    return sm90_shape(config).for_tasks;
  }
  bool loads_from_two_places() const override { return true; }
  bool is_swapped(const KernelConfig& config) const override { return sm90_shape(config).swapped; }

  // How consumers share tiles, then their panels: "halves_swapped/2", "turns/4", "halves_tasks/3".
  std::string variant(const KernelConfig& config) const override {
    const Sm90Shape& shape = sm90_shape(config);
    const char* const shared = shape.pingpong         ? "turns"
                               : shape.consumers == 3 ? "thirds"
                                                      : "halves";
    return std::string(shared) + (shape.swapped ? "_swapped" : "") +
           (shape.for_tasks ? "_tasks" : "") + "/" + std::to_string(shape.panels);
  }

  int pace(const KernelConfig& config, const Plan& plan, double paced) const override {
    const Sm90Shape& shape = sm90_shape(config);
    const double per_cycle = arch_info(plan.arch).tensor_flops_per_clock / 2;  // products
    const double products = static_cast<double>(config.tile_m) * columns_of_cta(config) * plan.k;
    const double cycles = products * bytes_of(plan.input) / 2 / per_cycle;
    // A consumer that takes turns has as long as two tiles take.
    const int tiles = plan.fused != 0 && shape.pingpong ? 2 : 1;
    return static_cast<int>(paced * tiles * cycles / panels_of_tile(config, shape));
  }

  GemmModel model(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                  const KernelRequest& request) const override {
    return model_sm90(profile, plan, config, request);
  }

  double slower_beside(const MachineProfile& profile, const KernelConfig& config,
                       const KernelRequest& request, Beside what) const override {
    const int ctas = request.cluster * config.across;
    const bool few_stages = config.stages < 4;
    switch (what) {
      case Beside::rows_of_a:
        return ctas == 1 ? profile.peers.copies.alone : 1;
      case Beside::fused_sums:
        return few_stages ? profile.peers.fused.few_stages : 1;
      case Beside::pushed_sums:
        return few_stages ? profile.peers.fused.few_stages_beside_pushes : 1;
      case Beside::helper_tasks:
        break;
    }
    double factor = ctas == 1 ? profile.peers.tasks.alone : 1;
    if (few_stages) factor *= profile.peers.tasks.few_stages;
    if (sm90_shape(config).swapped) factor *= profile.peers.tasks.swapped;
    if (ctas == 4) factor *= profile.peers.tasks.clusters_of_4;
    return factor;
  }

  void complete(const KernelConfig& config, const KernelRequest& request,
                KernelPlan& plan) const override {
    if (request.tasks) plan.kernel.helper_bytes = kHelperBytes;
    plan.kernel.shared_bytes += plan.kernel.helper_bytes;
    plan.kernel.cluster = request.cluster * config.across;
    plan.source.across = config.across;
    plan.kernel.early = request.whole_run ? 1 : 0;
    add_tunables(config, request, plan);
    set_boxes(config, request, plan);
  }

 private:
  static int panel_columns(const Sm90Shape& shape, const KernelRequest& request) {
    return request.quantises ? TILEPOST_SCALE_BLOCK : shape.panel_n;
  }

  static void add_tunables(const KernelConfig& config, const KernelRequest& request,
                           KernelPlan& plan) {
    const Sm90Shape& shape = sm90_shape(config);
    auto& tunables = plan.source.tunables;
    tunables["STAGES"] = std::to_string(config.stages);
    tunables["PANEL_M"] = std::to_string(shape.panel_m);
    tunables["PANEL_N"] = std::to_string(panel_columns(shape, request));
    tunables["CONSUMERS"] = std::to_string(shape.consumers);
    tunables["SWAP"] = shape.swapped ? "1" : "0";
    tunables["PANELS"] = std::to_string(shape.panels);
    tunables["CLUSTER"] = std::to_string(request.cluster);
    tunables["PINGPONG"] = shape.pingpong ? "1" : "0";
    if (config.across > 1) tunables["ACROSS"] = std::to_string(config.across);
    tunables["ROUTED"] = request.routed ? "1" : "0";
    tunables["PRECISE"] = sums_twice(request.element, request.accumulate) ? "1" : "0";
    if (request.scales_arrive) tunables["SCALES_ARRIVE"] = "1";
    tunables["ADD"] = request.added ? "1" : "0";
    tunables["HELPER_BYTES"] = std::to_string(plan.kernel.helper_bytes);
    if (request.fused) tunables["FUSED"] = "1";
    if (request.sources > 0) tunables["SOURCES"] = std::to_string(request.sources);
    if (request.whole_run) tunables["EARLY"] = "1";
  }

  // Boxes of operands are as wide as the swizzle's span. CTAs of a cluster load B in equal parts,
  // or A, where they have columns of their own. Where B is [k, n] a part is some of the stage's
  // rows, and the kernel asks for one box per 64 columns.
  static void set_boxes(const KernelConfig& config, const KernelRequest& request,
                        KernelPlan& plan) {
    constexpr int kPromote = 0;
    constexpr int kColumns = 64;  // of 16-bit elements
    const Sm90Shape& shape = sm90_shape(config);
    const int rows_b = columns_of_cta(config) / request.cluster;
    plan.kernel.box_a = {plan.kernel.tile_k, config.tile_m / config.across, kRowBytes, kPromote};
    plan.kernel.box_b =
        request.operands == TILEPOST_NN
            ? tilepost_box_t{kColumns, plan.kernel.tile_k / request.cluster, kRowBytes, kPromote}
            : tilepost_box_t{plan.kernel.tile_k, rows_b, kRowBytes, kPromote};
    plan.kernel.box_c = {panel_columns(shape, request), shape.panel_m, kRowBytes, kPromote};
  }
};

}  // namespace

const KernelFamily& sm90_family() {
  static const Sm90Family family;
  return family;
}

const Sm90Shape& sm90_shape(const KernelConfig& config) {
  return static_cast<const Sm90Shape&>(*config.shape);
}

KernelConfig with_shape(KernelConfig config, const Sm90Shape& shape) {
  config.shape = std::make_shared<const Sm90Shape>(shape);
  return config;
}

int sharers_of(const Sm90Shape& shape) {
  return shape.pingpong ? 1 : shape.consumers;
}

int sums_of_thread(const KernelConfig& config, const Sm90Shape& shape) {
  constexpr int kThreads = 128;  // of a consumer
  return config.tile_m * columns_of_cta(config) / kThreads / sharers_of(shape);
}

int panels_of_tile(const KernelConfig& config, const Sm90Shape& shape) {
  const int columns = columns_of_cta(config);
  const int panels = config.tile_m / shape.panel_m * (columns / shape.panel_n);
  return shape.pingpong ? panels : panels / shape.consumers;
}

bool fills_registers(const KernelConfig& config) {
  constexpr int kAll = 192;
  const Sm90Shape& shape = sm90_shape(config);
  return !shape.swapped && config.across > 1 && sums_of_thread(config, shape) >= kAll;
}

}  // namespace tilepost
