#include "generator/plan/kernels/sm90_experts/sm90_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "tilepost/internal/expert_ops.h"
#include "tilepost/internal/expert_tiles.h"
#include "tilepost/internal/whole_numbers.h"

namespace tilepost {
namespace {

constexpr int kRowBytes = 128;  // of an operand or a panel in shared memory: the swizzle's span
constexpr int kRowsOfB = 128;   // of a CTA
constexpr int kBarrierBytes = 1024;
constexpr int kConsumers = 2;

const ExpertsShape& shape_of(const KernelConfig& config) {
  return static_cast<const ExpertsShape&>(*config.shape);
}

// The columns of the output that a CTA has of a tile: gate and up share its rows of B.
int columns_of(const Plan& plan) {
  return combines_gate(plan.epilogue) ? kRowsOfB / 2 : kRowsOfB;
}

// The CTAs of a cluster.
struct Ctas {
  int down, across;
};

KernelConfig experts(const Plan& plan, int tile_m, int panel_m, int stages, Ctas ctas) {
  const int across = ctas.across;
  ExpertsShape shape;
  shape.panel_m = panel_m;
  shape.down = ctas.down;
  shape.copiers = row_of(plan).dispatches() ? 1 : 0;
  if (tile_m % shape.box_m != 0) shape.box_m = kExpertUnit;  // boxes divide a tile
  KernelConfig config{};
  config.family = &sm90_experts_family();
  config.row = "gemm_sm90/128x128/2";  // its clock: as much is moved for as many products
  config.tile_m = shape.down * tile_m;
  config.tile_n = across * columns_of(plan);
  config.tile_k = kRowBytes / 2;
  config.stages = stages;
  config.ctas_per_sm = 1;
  config.across = across * shape.down;
  config.epilogue = true;
  config.shape = std::make_shared<const ExpertsShape>(shape);
  return config;
}

// Rows of tokens cannot be shared by multicast. So CTAs share nothing, or B, which is worth it
// where experts have rows for two CTAs.
std::vector<Ctas> clusters(const Plan& plan) {
  if (row_of(plan).dispatches()) return {{1, 1}, {2, 1}};
  return {{1, plan.map.n > columns_of(plan) ? 2 : 1}};
}

// What sums of tokens take behind a GEMM of so many rows. They read every row, and write one for
// each token of all ranks. The rate is that of three layers on two H200
// (docs/internals/experts.md).
double sums_of_tokens_us(const MachineProfile& profile, const Plan& plan, int64_t rows) {
  constexpr double kOfMemory = 0.45;  // of the rate of memory
  const double bytes = static_cast<double>(rows + plan.map.m) * plan.map.n * bytes_of(plan.output);
  return bytes / (kOfMemory * profile.chip.memory_bytes_per_us);
}

class Sm90ExpertsFamily final : public KernelFamily {
 public:
  const char* name() const override { return "gemm_sm90_experts"; }
  tilepost_launch_t launch() const override { return TILEPOST_LAUNCH_TMA; }

  std::string why_not(const Plan& plan) const override {
    const int along_k = 16 / bytes_of(plan.input), along_n = 16 / bytes_of(plan.output);
    if (plan.k % along_k != 0)
      return fmt::format("TMA needs gemm.k a multiple of {}, not {}", along_k, plan.k);
    if (plan.map.n % along_n != 0)
      return fmt::format("TMA needs gemm.n a multiple of {}, not {}", along_n, plan.map.n);
    const int stage = kRowBytes / bytes_of(plan.input);
    const bool pairs = combines_gate(plan.epilogue) && plan.gate == TILEPOST_GATE_INTERLEAVED;
    if ((pairs || plan.operands == TILEPOST_NN) && plan.k % stage != 0)
      return fmt::format(
          "with {} gemm.k must be a multiple of {}, not {}, because other rows of B "
          "follow the last elements of K",
          pairs ? "gemm.gate 'interleaved'" : "gemm.layout 'nn'", stage, plan.k);
    return "";
  }

  // Tiles are as high as the experts' rows need, up to tile_m, so one configuration serves all.
  // Sums that are kept twice leave registers for fewer: with 80 rows ptxas serialises the matrix
  // instructions. A narrow output leaves nothing to share rows of A with.
  std::vector<KernelConfig> configs(const Plan& plan, const MachineProfile&) const override {
    std::vector<KernelConfig> configs;
    for (const Ctas& ctas : clusters(plan))
      configs.push_back(sums_twice(plan.input, plan.accumulate) ? experts(plan, 64, 64, 8, ctas)
                                                                : experts(plan, 160, 80, 5, ctas));
    return configs;
  }

  int threads(const KernelConfig& config) const override {
    return 128 * (1 + shape_of(config).copiers + kConsumers);
  }

  int64_t shared_bytes(const KernelConfig& config) const override {
    const ExpertsShape& shape = shape_of(config);
    return int64_t{config.stages} * (config.tile_m / shape.down + kRowsOfB) * kRowBytes +
           int64_t{kConsumers} * shape.panels * shape.panel_m * kRowBytes + kExpertTableBytes +
           kBarrierBytes;
  }

  int signals_per_tile(const KernelConfig&) const override { return 1; }
  bool loads_from_two_places() const override { return true; }
  bool fits_cluster(const KernelConfig&, int tiles) const override { return tiles == 1; }
  bool is_swapped(const KernelConfig&) const override { return true; }

  // An expert has the same number of rows as the others here, of m rows in all.
  GemmModel model(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                  const KernelRequest& request) const override {
    constexpr double kEfficiency = 0.93, kStart = 5;
    // Tokens are sent to all ranks' experts evenly.
    const int64_t all = row_of(plan).has_tokens()
                            ? std::max<int64_t>(1, plan.map.m * plan.top / plan.ranks)
                            : plan.map.m;
    const int64_t experts = std::min<int64_t>(all, plan.experts);
    const int rows = static_cast<int>((all + experts - 1) / experts);
    const int count = count_tile_rows(rows, config.tile_m);
    const int down = shape_of(config).down, across = config.across / down;
    const double height = std::max(1.0 * rows / count, 64.0 * down);
    const double products = multiply_cycles(plan, config, request, kEfficiency) * height /
                            config.tile_m * kRowsOfB / columns_of(plan);
    const double delivered = (height / down / across + 1.0 * kRowsOfB / down) * kRowBytes /
                             profile.chip.l2_bytes_per_clock;
    TileModel tile;
    tile.cycles = stages_of_tile(plan, config, request) * std::max(products, delivered);
    tile.ghz = profile.gemm.times_of(config.row).ghz * profile.gemm.sustained;
    tile.start_us = kStart;
    GemmModel model = gemm_of_tiles(profile, plan, config, request, tile);
    // The plan's table has the tiles of one expert with all rows.
    const int64_t columns = ceil_div(plan.map.n, config.tile_n);
    const int at_once = resident_sms(profile, plan, config.across) / config.across;
    const auto waves = [&](int64_t tile_rows) {
      return static_cast<double>(ceil_div(tile_rows * columns, at_once));
    };
    const double in_table = waves(count_tile_rows(static_cast<int>(plan.map.m), config.tile_m));
    model.wave *= waves(experts * count) / in_table;
    if (row_of(plan).combines()) model.wave += sums_of_tokens_us(profile, plan, all) / in_table;
    model.read_b *= static_cast<double>(experts) * kRowsOfB / columns_of(plan);
    return model;
  }

  void complete(const KernelConfig& config, const KernelRequest& request,
                KernelPlan& plan) const override {
    const ExpertsShape& shape = shape_of(config);
    const bool nn = request.operands == TILEPOST_NN;
    plan.kernel.cluster = config.across;
    plan.source.across = config.across;
    auto& tunables = plan.source.tunables;
    tunables["STAGES"] = std::to_string(config.stages);
    tunables["ACROSS"] = std::to_string(config.across / shape.down);
    tunables["DOWN"] = std::to_string(shape.down);
    tunables["BOX_M"] = std::to_string(shape.box_m);
    tunables["PANEL_M"] = std::to_string(shape.panel_m);
    tunables["PANELS"] = std::to_string(shape.panels);
    tunables["PRECISE"] = sums_twice(request.element, request.accumulate) ? "1" : "0";
    tunables["INTERLEAVED"] = request.gate == TILEPOST_GATE_INTERLEAVED ? "1" : "0";
    tunables["GATHERS"] = request.gathers ? "1" : "0";
    constexpr int kSlab = 64;  // columns of a panel, and of B where K is in rows
    plan.kernel.box_a = {plan.kernel.tile_k, shape.box_m, kRowBytes, 0};
    plan.kernel.box_b =
        nn ? tilepost_box_t{kSlab, plan.kernel.tile_k, kRowBytes, 0}
           : tilepost_box_t{plan.kernel.tile_k,
                            shape.down > 1 ? kSlab : config.tile_n / config.across, kRowBytes, 0};
    plan.kernel.box_c = {kSlab, shape.panel_m, kRowBytes, 0};
  }
};

}  // namespace

const KernelFamily& sm90_experts_family() {
  static const Sm90ExpertsFamily family;
  return family;
}

}  // namespace tilepost
