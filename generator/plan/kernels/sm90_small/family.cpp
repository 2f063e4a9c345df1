#include <algorithm>

#include "generator/plan/kernels/exchange_boxes.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "runtime/map/quantised.h"

namespace tilepost {
namespace {

constexpr int kUnit = kExchangeUnit;
constexpr int kRowBytes = 128;        // of an operand in shared memory, and what all is aligned to
constexpr int kTileK = 64;            // 16-bit elements of such a row
constexpr int kConsumerColumns = 64;  // of C, per consumer warpgroup
constexpr int kBarrierBytes = 1024;
constexpr int kHalfOfSums = 64;  // of a consumer's thread: two sets of these fit its registers
constexpr int kSumsIn128 = 88;   // sums that fit 128 registers, where there is no epilogue
constexpr int kFewStages = 3;    // of a tall tile: with two, products wait for every load

int consumers(const KernelConfig& config) {
  return config.tile_n / kConsumerColumns;
}

// Sums of a consumer's thread.
int sums(const KernelConfig& config) {
  return config.tile_m / 2;
}

// The number of warps that exchange tiles with other ranks. An SM's registers are in four parts,
// each for a fourth of the warps. With more than twelve warps a thread has 128 registers, with
// twelve it has 168. Consumers of tall tiles, and consumers that keep two sets of sums, need more
// than 128. With two consumers, four helper warps would make fourteen warps.
int helper_warps(const KernelConfig& config, const KernelRequest& request) {
  const bool two_sums = sums_twice(request.element, request.accumulate);
  const int room = request.epilogue == 0 ? kSumsIn128 : kHalfOfSums;
  return (two_sums || sums(config) > room) && consumers(config) > 1 ? 2 : 4;
}

// The most units that a CTA has of a tile.
int most_owned(const KernelConfig& config) {
  return (config.tile_m / kUnit + config.split_k - 1) / config.split_k;
}

// Panels of C, and the partial sums that come from the other CTAs of the tile.
int64_t staging_bytes(const KernelConfig& config) {
  constexpr int kPartBytes = kUnit * kConsumerColumns * 4;
  const int64_t of_consumer =
      most_owned(config) * (int64_t{kUnit} * kRowBytes + (config.split_k - 1) * kPartBytes);
  return consumers(config) * of_consumer;
}

// Rows of K in shared memory. A stage has two where tiles have few rows of A, so that there are
// fewer waits.
int blocks_of_stage(int tile_m) {
  return tile_m <= 64 ? 2 : 1;
}

// Bytes of the scales of a stage. Such a row of e4m3 is a block, which has a scale in each row of A
// and one in B, which takes sixteen bytes.
int scale_bytes(const KernelConfig& config) {
  constexpr int kScaleBytes = 4, kOfB = 16;
  if (!config.scales) return 0;
  const int bytes = blocks_of_stage(config.tile_m) * (config.tile_m * kScaleBytes + kOfB);
  return (bytes + kRowBytes - 1) / kRowBytes * kRowBytes;
}

int64_t stage_bytes(const KernelConfig& config) {
  return int64_t{config.tile_m + config.tile_n} * config.tile_k * 2 + scale_bytes(config);
}

KernelConfig small(int tile_m, int tile_n, int split_k, int64_t in_flight, bool scales) {
  const int64_t bound = arch_info(Arch::sm_90a).shared_per_block - kBarrierBytes;
  KernelConfig config{};
  config.family = &sm90_small_family();
  config.row = "gemm_sm90_small";
  config.tile_m = tile_m;
  config.tile_n = tile_n;
  config.tile_k = blocks_of_stage(tile_m) * kTileK;
  config.epilogue = true;
  config.scales = scales;
  config.ctas_per_sm = 1;
  config.split_k = split_k;
  config.stages =
      static_cast<int>(std::min(in_flight, bound - staging_bytes(config)) / stage_bytes(config));
  return config;
}

// The height of the lowest tiles of which a column needs no more than of tiles of `most` rows.
int even_height(int64_t m, int64_t most) {
  const int64_t tile_rows = (m + most - 1) / most;
  const int64_t rows = (m + tile_rows - 1) / tile_rows;
  return rows <= 8 ? 8 : static_cast<int>((rows + 15) / 16 * 16);
}

class Sm90SmallFamily final : public KernelFamily {
 public:
  const char* name() const override { return "gemm_sm90_small"; }
  tilepost_launch_t launch() const override { return TILEPOST_LAUNCH_TMA; }
  std::string why_not(const Plan& plan) const override { return why_not_tma(plan); }
  std::vector<KernelConfig> configs(const Plan& plan,
                                    const MachineProfile& profile) const override {
    return small_configs(plan.map.m, profile.gemm.in_flight_bytes,
                         plan.scales != TILEPOST_SCALES_NONE);
  }
  int64_t most_rows() const override { return kMostSmallRows; }

  // A loader's and a storer's warp beside the consumers.
  int threads(const KernelConfig& config) const override {
    return 32 * (4 * consumers(config) + 2);
  }
  int64_t shared_bytes(const KernelConfig& config) const override {
    return config.stages * stage_bytes(config) + staging_bytes(config) + kBarrierBytes;
  }
  // Each CTA of a tile raises the group's counter for it.
  int signals_per_tile(const KernelConfig& config) const override { return config.split_k; }

  // CTAs of a cluster share tiles, not columns.
  bool fits_cluster(const KernelConfig&, int tiles) const override { return tiles == 1; }

  // Sums that are kept twice (sums_twice) share the registers with what the epilogue takes.
  bool holds_sums(const KernelConfig& config, const Plan& plan) const override {
    if (quantises_tiles(plan)) return false;
    const bool twice = sums_twice(plan.input, plan.accumulate);
    return sums(config) <= kHalfOfSums || !(twice || (plan.epilogue & TILEPOST_GELU) != 0);
  }
  bool stores_rows(const KernelConfig&, const Plan&) const override { return false; }
  bool exchanges_tiles(const KernelConfig&) const override { return true; }
  // The kernel can wait for rows of A only where kernels exchange these rows.
  bool waits_for_rows() const override { return false; }
  bool is_swapped(const KernelConfig&) const override { return true; }

  GemmModel model(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                  const KernelRequest& request) const override {
    const KernelTimes& times = profile.gemm.times_of(config.row);
    StageModel stage;
    stage.efficiency = times.efficiency;
    stage.ghz = times.ghz;
    stage.delivery = delivered_bytes(config, request) / profile.chip.l2_bytes_per_clock *
                     off_the_grid(plan.k * bytes_of(request.element), profile.gemm.small_off_lines,
                                  profile.gemm.small_off_sectors);
    TileModel tile = tile_of_stages(profile, plan, config, request, stage);
    if (!config.scales) return gemm_of_tiles(profile, plan, config, request, tile);
    tile.cycles += stages_of_tile(plan, config, request) * blocks_of_stage(config.tile_m) *
                   config.tile_m * consumers(config) * profile.gemm.scaled.small;
    // Consumers wait for partial sums in every wave. What profiles have for kernels without scales
    // was fitted to few waves, with one wait in all.
    GemmModel model = gemm_of_tiles(profile, plan, config, request, tile);
    const double exchange = exchange_us(profile, config);
    model.start -= exchange;
    model.wave += exchange;
    return model;
  }
  // It is slower with more rows than its short tiles are for.
  double slower_alone(const MachineProfile& profile, int64_t m) const override {
    return m > kMostShortRows && m <= kMostSmallRows ? profile.gemm.tall_small : 1;
  }

  // Boxes are one row of K high in a stage, whatever the stage's depth. Promotion in L2 costs 4% at
  // 16 rows of A.
  void complete(const KernelConfig& config, const KernelRequest& request,
                KernelPlan& plan) const override {
    constexpr int kSwizzle = 128, kPromote = 0;
    const int row = kRowBytes / bytes_of(request.element);
    const int box_m = box_rows(config, request);
    plan.source.tunables["PRECISE"] = sums_twice(request.element, request.accumulate) ? "1" : "0";
    plan.kernel.box_a = {row, config.tile_m, kSwizzle, kPromote};
    plan.kernel.box_b = request.operands == TILEPOST_NN
                            ? tilepost_box_t{kConsumerColumns, row, kSwizzle, kPromote}
                            : tilepost_box_t{row, config.tile_n, kSwizzle, kPromote};
    plan.kernel.box_c = {kConsumerColumns, box_m, kSwizzle, kPromote};
    plan.kernel.cluster = plan.source.split_k = config.split_k;
    plan.kernel.early = 1;
    plan.source.tunables["STAGES"] = std::to_string(config.stages);
    plan.source.tunables["SPLIT_K"] = std::to_string(config.split_k);
    if (request.shots == TILEPOST_SHOTS_NONE) return;
    const int helpers = helper_warps(config, request);
    plan.kernel.threads += 32 * helpers;
    plan.source.tunables["HELPER_WARPS"] = std::to_string(helpers);
    plan.source.tunables["BOX_M"] = std::to_string(box_m);
    // Panels are lent to helper warps, which store lines out of them, or need to know when the last
    // panel is there and rows may come.
    const bool rows = request.normalises && request.shots == TILEPOST_ONE_SHOT;
    if (rows || request.shots == TILEPOST_ONE_SHOT_LINES) plan.source.tunables["LENDS"] = "1";
  }
};

}  // namespace

const KernelFamily& sm90_small_family() {
  static const Sm90SmallFamily family;
  return family;
}

// Rows beyond the last row of A are multiplied like the others, so a tile has as few rows as the
// instruction allows. Above 128 rows there are several tile rows, or taller tiles, which ask less
// of L2 but are fewer. Short tiles are 64 columns wide, for the most CTAs. Tall tiles move less
// through shared memory where they are wider.
std::vector<KernelConfig> small_configs(int64_t m, int64_t in_flight, bool scales) {
  if (m > kMostExchangedRows) return {};
  int tile_m = even_height(m, kMostShortRows);
  std::vector<KernelConfig> configs;
  if (m <= kMostShortRows)
    for (const int split_k : {1, 2, 3, 4, 8})
      configs.push_back(small(tile_m, 64, split_k, in_flight, scales));
  if (m > 64)
    for (const int split_k : {1, 2, 4})
      configs.push_back(small(tile_m, 128, split_k, in_flight, scales));
  for (const int64_t most : {192, 256}) {
    if (even_height(m, most) == tile_m) continue;
    tile_m = even_height(m, most);
    for (const int split_k : {1, 2}) {
      const KernelConfig config = small(tile_m, 128, split_k, in_flight, scales);
      if (config.stages >= kFewStages) configs.push_back(config);
    }
  }
  return configs;
}

}  // namespace tilepost
