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
constexpr int kRowsOfB = 128;   // of a consumer
constexpr int kBarrierBytes = 1024;
constexpr int kConsumers = 2;

const ExpertsShape& shape_of(const KernelConfig& config) {
  return static_cast<const ExpertsShape&>(*config.shape);
}

// The columns of the output that a consumer has of a tile: gate and up share its rows of B.
int columns_of(const Plan& plan) {
  return combines_gate(plan.epilogue) ? kRowsOfB / 2 : kRowsOfB;
}

// The CTAs of a cluster.
struct Ctas {
  int down, across;
};

// What a CTA has: tiles of up to tile_m rows, and `panels` panels of panel_m rows for each
// consumer.
struct Form {
  int tile_m, stages;
  int panel_m, panels = 1;
  int sharers = 1;
};

KernelConfig config_of(const Plan& plan, const Form& form, Ctas ctas) {
  ExpertsShape shape;
  shape.panel_m = form.panel_m;
  shape.panels = form.panels;
  shape.sharers = form.sharers;
  shape.down = ctas.down;
  if ((plan.epilogue & (TILEPOST_SCALE_ROWS | TILEPOST_SCALE_COLUMNS)) != 0)
    shape.scale_bytes = kConsumers * expert_scale_bytes(form.tile_m);
  shape.copiers = row_of(plan).dispatches() ? 1 : 0;
  if (form.tile_m % shape.box_m != 0) shape.box_m = kExpertUnit;  // boxes divide a tile
  KernelConfig config{};
  config.family = &sm90_experts_family();
  config.row = "gemm_sm90/128x128/2";  // its clock: as much is moved for as many products
  config.tile_m = ctas.down * form.tile_m;
  config.tile_n = ctas.across * form.sharers * columns_of(plan);
  config.tile_k = kRowBytes / 2;
  config.stages = form.stages;
  config.ctas_per_sm = 1;
  config.across = ctas.across * ctas.down;
  config.epilogue = true;
  config.shape = std::make_shared<const ExpertsShape>(shape);
  return config;
}

// CTAs side by side share rows of A. A narrow output leaves nothing to share them with.
KernelConfig side_by_side(const Plan& plan, const Form& form) {
  return config_of(plan, form, {1, plan.map.n > form.sharers * columns_of(plan) ? 2 : 1});
}

// A CTA whose consumers share tiles moves few bytes for its products. It needs no cluster: it would
// wait for the other CTA, and its tiles would leave more of a narrow output empty.
KernelConfig alone(const Plan& plan, const Form& form) {
  return config_of(plan, form, {1, 1});
}

// The rows of an expert, if all have as many. Tokens are sent to all ranks' experts evenly.
int64_t rows_of_all(const Plan& plan) {
  return row_of(plan).has_tokens() ? std::max<int64_t>(1, plan.map.m * plan.top / plan.ranks)
                                   : plan.map.m;
}
int rows_of_expert(const Plan& plan) {
  const int64_t all = rows_of_all(plan);
  return static_cast<int>(ceil_div(all, std::min<int64_t>(all, plan.experts)));
}

// Where K is long and experts have many rows, other things decide than elsewhere: not what a tile
// waits for, but how many bytes are moved for its products (docs/internals/experts.md).
bool has_many_products(const Plan& plan, int64_t least_rows) {
  constexpr int64_t kLongK = 4096;
  return plan.k >= kLongK && rows_of_expert(plan) >= least_rows;
}

// The stages of consumers that take turns.
int stages_in_turns(const Plan& plan) {
  return has_many_products(plan, 384) ? 4 : 5;
}

// Whether consumers may share tiles. Sums of tokens want many tiles.
bool may_share(const Plan& plan) {
  return has_many_products(plan, 1024) && !row_of(plan).combines();
}

// How many tiles the chip computes one after the other if it computes at_once of `tiles` tiles at a
// time. Experts have different numbers of rows, so that CTAs end at any time in their last tile.
// With rows of tokens, whose two forms were compared by them, these are whole waves.
double rounds(const Plan& plan, int64_t tiles, int at_once) {
  if (tiles <= at_once || row_of(plan).dispatches())
    return static_cast<double>(ceil_div(tiles, at_once));
  return static_cast<double>(tiles) / at_once + 0.5;
}

// What sums of tokens take behind a GEMM of so many rows. They read every row, and write one for
// each token of all ranks. The rate is that of three layers on two H200
// (docs/internals/experts.md).
double sums_of_tokens_us(const MachineProfile& profile, const Plan& plan, int64_t rows) {
  constexpr double kOfMemory = 0.45;  // of the rate of memory
  const double bytes = static_cast<double>(rows + plan.map.m) * plan.map.n * bytes_of(plan.output);
  return bytes / (kOfMemory * profile.chip.memory_bytes_per_us);
}

// The part of the tensor peak that a kernel reaches while it multiplies. `twice`: as sums_twice().
double efficiency_of(const KernelConfig& config, bool twice) {
  const ExpertsShape& shape = shape_of(config);
  const bool shares = shape.sharers > 1;
  if (twice) return shares ? 0.95 : 0.5;
  if (shares) return shape.copiers > 0 ? 0.9 : 0.98;
  return config.stages < 5 ? 0.95 : 0.93;
}

// The cycles of a tile's epilogue that nothing hides. Consumers that take turns hide all of them.
double epilogue_cycles(const KernelConfig& config, bool twice) {
  if (shape_of(config).sharers == 1) return 0;
  return twice ? 4000 : 1500;
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

  // Tiles are as high as the experts' rows need, up to tile_m, so few configurations serve all.
  // Sums that are kept twice leave registers for fewer rows. In turns a consumer keeps the products
  // of two blocks beside its sums: with 80 rows, or 64 in eight stages, ptxas serialises the matrix
  // instructions. Where consumers share tiles, it keeps those of one block, while the other
  // consumer multiplies. With four warpgroups, and with GELU in the epilogue, 192 rows spill;
  // consumers that share tiles of tokens have registers for 144.
  std::vector<KernelConfig> configs(const Plan& plan, const MachineProfile&) const override {
    const bool twice = sums_twice(plan.input, plan.accumulate);
    const Form low = twice ? Form{64, 7, 64} : Form{160, 5, 80};
    // Rows of tokens cannot be shared by multicast. So CTAs share nothing, or B, which is worth it
    // where experts have rows for two CTAs.
    if (row_of(plan).dispatches()) {
      const bool shares = !twice && has_many_products(plan, 128);
      const Form form = shares ? Form{144, 4, 48, 1, 2} : low;
      return {config_of(plan, form, {1, 1}), config_of(plan, form, {2, 1})};
    }
    if (twice) return {alone(plan, {128, 4, 32, 3, 2})};
    constexpr int kRegisters = TILEPOST_GELU | TILEPOST_GEGLU;
    if ((plan.epilogue & kRegisters) != 0) return {side_by_side(plan, low)};
    // Where two forms take about as long, the first one is chosen.
    std::vector<KernelConfig> configs;
    if (may_share(plan)) configs.push_back(alone(plan, {192, 3, 64, 3, 2}));
    configs.push_back(side_by_side(plan, {192, stages_in_turns(plan), 64}));
    return configs;
  }

  int threads(const KernelConfig& config) const override {
    return 128 * (1 + shape_of(config).copiers + kConsumers);
  }

  int64_t shared_bytes(const KernelConfig& config) const override {
    const ExpertsShape& shape = shape_of(config);
    return int64_t{config.stages} * (config.tile_m / shape.down + shape.sharers * kRowsOfB) *
               kRowBytes +
           int64_t{kConsumers} * shape.panels * shape.panel_m * kRowBytes + kExpertTableBytes +
           shape.scale_bytes + kBarrierBytes;
  }

  int signals_per_tile(const KernelConfig&) const override { return 1; }
  bool loads_from_two_places() const override { return true; }
  bool fits_cluster(const KernelConfig&, int tiles) const override { return tiles == 1; }
  bool is_swapped(const KernelConfig&) const override { return true; }

  // An expert has as many rows as the others here.
  GemmModel model(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                  const KernelRequest& request) const override {
    constexpr double kStart = 5;
    const ExpertsShape& shape = shape_of(config);
    const int64_t all = rows_of_all(plan), experts = std::min<int64_t>(all, plan.experts);
    const int rows = rows_of_expert(plan), count = count_tile_rows(rows, config.tile_m);
    const int down = shape.down, across = config.across / down;
    const bool twice = sums_twice(plan.input, plan.accumulate);
    const double efficiency = efficiency_of(config, twice);
    const double height = std::max(1.0 * rows / count, 64.0 * down);
    const double products = multiply_cycles(plan, config, request, efficiency) * height /
                            config.tile_m * kRowsOfB / columns_of(plan);
    const double delivered = (height / down / across + 1.0 * shape.sharers * kRowsOfB / down) *
                             kRowBytes / profile.chip.l2_bytes_per_clock;
    TileModel tile;
    tile.cycles = stages_of_tile(plan, config, request) * std::max(products, delivered) +
                  epilogue_cycles(config, twice);
    tile.ghz = profile.gemm.times_of(config.row).ghz * profile.gemm.sustained;
    tile.start_us = kStart;
    GemmModel model = gemm_of_tiles(profile, plan, config, request, tile);
    // The plan's table has the tiles of one expert with all rows.
    const int64_t columns = ceil_div(plan.map.n, config.tile_n);
    const int at_once = resident_sms(profile, plan, config.across) / config.across;
    const auto in_table = static_cast<double>(
        ceil_div(count_tile_rows(static_cast<int>(plan.map.m), config.tile_m) * columns, at_once));
    model.wave *= rounds(plan, experts * count * columns, at_once) / in_table;
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
    tunables["PINGPONG"] = shape.sharers > 1 ? "0" : "1";
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
                            shape.down > 1 ? kSlab * shape.sharers : config.tile_n / config.across,
                            kRowBytes, 0};
    plan.kernel.box_c = {kSlab, shape.panel_m, kRowBytes, 0};
  }
};

}  // namespace

const KernelFamily& sm90_experts_family() {
  static const Sm90ExpertsFamily family;
  return family;
}

}  // namespace tilepost
