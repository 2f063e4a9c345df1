// The pass that lists the kernels which can serve a spec on one architecture, or reports why none
// can.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "generator/plan/choose/draft.h"
#include "generator/plan/kernels/exchange_boxes.h"
#include "generator/plan/kernels/host/host.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/transports/transports.h"
#include "generator/spec/layer.h"
#include "runtime/map/cut_points.h"
#include "tilepost/internal/expert_tiles.h"

namespace tilepost {
namespace {

std::string tile_name(int64_t tile_m, int64_t tile_n) {
  return fmt::format("{0}x{1}", tile_m, tile_n);
}

// "3", "3 or 4", "3, 4 or 6".
std::string list_stages(const std::set<int>& stages) {
  std::string text;
  for (auto it = stages.begin(); it != stages.end(); ++it)
    text += (text.empty()                    ? ""
             : std::next(it) == stages.end() ? " or "
                                             : ", ") +
            std::to_string(*it);
  return text;
}

// "choose one of 128x256 (3 or 4 stages), 256x128 (4 stages)". Of many tiles it lists those whose
// extents are nearest to the ones asked for.
std::string list_tiles(const std::vector<KernelConfig>& configs,
                       const std::vector<int64_t>& asked) {
  constexpr size_t kMost = 12;
  using Tile = std::pair<int, int>;
  std::map<Tile, std::set<int>> stages;  // of each tile
  for (const KernelConfig& config : configs)
    stages[{config.tile_m, config.tile_n}].insert(config.stages);
  const auto ratio = [](int have, int64_t want) {
    return std::abs(std::log(have / static_cast<double>(std::max<int64_t>(want, 1))));
  };
  std::multimap<double, Tile> nearest;
  for (const auto& [tile, of] : stages)
    nearest.emplace(ratio(tile.first, asked[0]) + ratio(tile.second, asked[1]), tile);
  std::vector<std::string> names;
  for (const auto& [distance, tile] : nearest)
    if (names.size() < kMost)
      names.push_back(fmt::format("{0} ({1} stages)", tile_name(tile.first, tile.second),
                                  list_stages(stages[tile])));
  const std::string lead = stages.size() <= kMost
                               ? "choose one of "
                               : fmt::format("of {0} tiles the nearest are ", stages.size());
  return lead + fmt::format("{}", fmt::join(names, ", "));
}

// The host target takes any tile.
KernelConfig host_tile(const Draft& draft) {
  const auto& tile = draft.spec.schedule.tile;
  if (tile)
    return host_config(draft.plan, static_cast<int>(tile->value[0]),
                       static_cast<int>(tile->value[1]));
  return default_host_config(draft.plan,
                             draft.spec.transport.value == TILEPOST_TRANSPORT_PEER_TILES);
}

// Whether the tile that the spec asks for goes with the transport. Apart from that the host takes
// any tile.
bool check_host_tile(Draft& draft, const std::vector<KernelConfig>& configs) {
  if (!configs.empty()) return true;
  const auto& tile = *draft.spec.schedule.tile;
  draft.diagnostics.error(
      tile.where, fmt::format("tile '{0}' is not possible with transport 'peer_tiles', whose "
                              "kernels exchange {1} rows at a time; use a multiple of {1} rows",
                              tile_name(tile.value[0], tile.value[1]), kExchangeUnit));
  return false;
}

// The clusters to try: as asked, or those the kernel profits from.
bool clusters(Draft& draft, bool tma, const std::string& why_not_tma, std::vector<int>& out) {
  const auto& asked = draft.spec.schedule.cluster;
  const Arch arch = draft.plan.arch;
  if (!asked) {
    // Clusters of 4 find no place beside collectives, whose CTAs sit on single SMs all over the
    // chip.
    out = !tma ? std::vector<int>{1}
          : row_of(draft.plan).communicates() || draft.plan.epilogue != 0
              ? std::vector<int>{2, 1}
              : std::vector<int>{2, 4, 1};
    return true;
  }
  out = {static_cast<int>(asked->value)};
  const bool any = tma || arch == Arch::host;
  if (any ? asked->value == 1 || asked->value == 2 || asked->value == 4 : asked->value == 1)
    return true;
  if (any)
    draft.diagnostics.error(
        asked->where, fmt::format("cluster '{0}' is not available; use 1, 2 or 4", asked->value));
  else
    draft.diagnostics.error(
        asked->where,
        fmt::format("cluster '{0}' is not available on {1}: {2}; use 1", asked->value,
                    name_of(arch), why_not_tma.empty() ? "clusters need sm_90a" : why_not_tma));
  return false;
}

// Keeps the rows of the catalogue that have the tile asked for.
bool filter_tile(Draft& draft, const std::string& why_not_tma, std::vector<KernelConfig>& configs) {
  const auto& tile = draft.spec.schedule.tile;
  if (!tile) return true;
  const std::string available = list_tiles(configs, tile->value);
  std::erase_if(configs, [&](const KernelConfig& config) {
    return config.tile_m != tile->value[0] || config.tile_n != tile->value[1];
  });
  if (!configs.empty()) return true;
  const bool tma = draft.plan.arch == Arch::sm_90a && why_not_tma.empty();
  draft.diagnostics.error(
      tile->where, fmt::format("tile '{0}' is not available on {1}{2}; {3}{4}",
                               tile_name(tile->value[0], tile->value[1]), name_of(draft.plan.arch),
                               why_not_tma.empty() ? "" : " (" + why_not_tma + ")", available,
                               tma ? ", with a cluster of 1, 2 or 4 where K is not split" : ""));
  return false;
}

// Gives the configurations the stages asked for and keeps those that fit into shared memory.
bool apply_stages(Draft& draft, std::vector<KernelConfig>& configs) {
  const auto& asked = draft.spec.schedule.stages;
  if (!asked) return true;
  constexpr int64_t kMinStages = 2;  // one is filled while the other is read
  if (asked->value < kMinStages) {
    draft.diagnostics.error(
        asked->where,
        fmt::format("stages is '{0}', a pipeline needs at least {1}", asked->value, kMinStages));
    return false;
  }
  const int64_t bound = arch_info(draft.plan.arch).shared_per_block;
  const int stages = static_cast<int>(std::min<int64_t>(asked->value, 1 << 16));
  int64_t least = INT64_MAX;
  std::string tile;
  for (KernelConfig& config : configs) {
    config.stages = stages;
    if (shared_bytes(config) >= least) continue;
    least = shared_bytes(config);
    tile = tile_name(config.tile_m, config.tile_n);
  }
  const ArchInfo& arch = arch_info(draft.plan.arch);
  std::erase_if(configs, [&](const KernelConfig& config) {
    return shared_bytes(config) > bound ||
           (shared_bytes(config) + arch.shared_reserved) * config.ctas_per_sm > arch.shared_per_sm;
  });
  if (!configs.empty()) return true;
  draft.diagnostics.error(
      asked->where,
      fmt::format("{0} stages of tile {1} need {2} bytes of shared memory, {3} has {4} per block; "
                  "ask for fewer stages or a smaller 'tile'",
                  asked->value, tile, least, name_of(draft.plan.arch), bound));
  return false;
}

// Rows of the buffer where tiles are stored, each as wide as the output or as a tile.
int64_t stored_rows(const tilepost_map_t& map) {
  switch (map.division) {
    case TILEPOST_DIVISION_COLUMNS:
      return slab_rows(map) * tiles_n(map);
    case TILEPOST_DIVISION_SHARES:
      return int64_t{share_tiles(map)} * map.tile_m * map.ranks;
    case TILEPOST_DIVISION_ROWS:
    case TILEPOST_DIVISION_ARRIVALS:
      break;
  }
  return map.layout == TILEPOST_TILE ? schedule_positions(map) * map.tile_m : map.m;
}

// Planning and emitting kMaxPositions positions takes seconds and 200 to 450 MB for each
// architecture, as measured with panels and with single rows of tiles. In tiles of 128x128 they are
// an output of 64 GiB.
constexpr int64_t kMaxPositions = 1 << 21;
constexpr int64_t kMaxTileRows = 1 << 15;  // the search for groups chooses among them

// Keeps the kernels that can address the output, and reports an error if there are none. Where the
// spec leaves the transport open, this checks with nccl, which every pattern has.
bool fits_table(Draft& draft) {
  const tilepost_transport_t transport =
      draft.spec.transport.value.value_or(TILEPOST_TRANSPORT_NCCL);
  const KernelChoice* largest = nullptr;
  int64_t least = INT64_MAX;
  for (const KernelChoice& kernel : draft.kernels) {
    const int64_t positions = schedule_positions(draft.recipe(kernel, transport));
    if (positions >= least) continue;
    least = positions;
    largest = &kernel;
  }
  const auto too_large = [&](const KernelChoice& kernel) {
    return !can_address(draft.recipe(kernel, transport));
  };
  std::vector<KernelChoice> kept = draft.kernels;
  std::erase_if(kept, too_large);
  if (kept.empty()) {
    const Place where =
        draft.spec.schedule.tile ? draft.spec.schedule.tile->where : draft.spec.gemm.where;
    draft.diagnostics.error(
        where, fmt::format(
                   "an output of {0}x{1} has {2} tiles of {3}, stored in {4} rows; the bounds "
                   "are {5} tiles, {6} of them one below the other, and {7} rows; use larger tiles",
                   draft.plan.map.m, draft.plan.map.n, least,
                   tile_name(largest->config.tile_m, largest->config.tile_n),
                   stored_rows(draft.recipe(*largest, transport)), kMaxPositions, kMaxTileRows,
                   INT32_MAX));
    return false;
  }
  draft.kernels = std::move(kept);
  return true;
}

// Reports that a cluster was asked for where only configurations of gemm_sm90_small are left.
bool no_cluster(Draft& draft) {
  const auto& cluster = *draft.spec.schedule.cluster;
  draft.diagnostics.error(
      cluster.where,
      fmt::format("cluster '{0}' leaves no kernel: with this tile and these stages there is "
                  "gemm_sm90_small only, whose clusters share K; remove it or use 1",
                  cluster.value));
  return false;
}

// Whether the transport that is asked for can go with the kernels that the alignment of rows
// allows. Reports an error if not. `why_not_tma`: why TMA cannot address the rows, "" if it can.
bool can_store(Draft& draft, const std::string& why_not_tma) {
  const std::optional<tilepost_transport_t> wish = draft.spec.transport.value;
  if (!wish || why_not_tma.empty()) return true;
  const std::string why = transport_of(*wish).why_not_rows(why_not_tma);
  if (!why.empty()) draft.diagnostics.error(draft.spec.transport.where, why);
  return why.empty();
}

// Whether kernels may exchange tiles. If so, gemm_sm90_small takes more rows than otherwise.
bool may_exchange(const Draft& draft) {
  return std::ranges::any_of(
      transports_to_try(draft.spec, draft.plan, draft.profile),
      [](const Transport* transport) { return transport->access() == TILEPOST_ACCESS_TILES; });
}

// Whether the kernel is offered for `m` rows. With more than its family's most_rows() it is offered
// only for exchanging tiles.
bool has_few_enough_rows(const KernelConfig& config, int64_t m, bool exchange) {
  return m <= config.family->most_rows() || (exchange && exchanges_tiles(config));
}

// The configurations that can serve the draft at all.
std::vector<KernelConfig> usable(Draft& draft) {
  const Plan& plan = draft.plan;
  const bool exchange = may_exchange(draft);
  const std::optional<tilepost_transport_t> wish = draft.spec.transport.value;
  std::vector<KernelConfig> configs = plan.arch == Arch::host
                                          ? std::vector<KernelConfig>{host_tile(draft)}
                                          : offered_configs(plan, draft.profile);
  std::erase_if(configs, [&](const KernelConfig& config) {
    return !has_few_enough_rows(config, plan.map.m, exchange) || !can_sum(config, plan) ||
           !can_load(config, plan) || !can_route(config, plan) ||
           (is_for_tasks(config) && !row_of(plan).communicates()) ||
           (wish && !transport_of(*wish).stores(config));
  });
  return configs;
}

// Keeps the kernels that can go with the transport that is asked for.
bool keep_kernels(Draft& draft) {
  const std::optional<tilepost_transport_t> wish = draft.spec.transport.value;
  return !wish ||
         transport_of(*wish).keep_kernels(draft.spec, draft.plan, draft.kernels, draft.diagnostics);
}

// Whether a kernel can serve experts as the spec has them. Reports why none can.
bool can_have_experts(Draft& draft) {
  const Spec& spec = draft.spec;
  const Arch arch = draft.plan.arch;
  const std::string why = why_not_preferred(draft.plan);
  if (!why.empty())
    draft.diagnostics.error(spec.pattern.where,
                            fmt::format("pattern '{0}' has no kernel for {1}: {2}",
                                        pattern_name(spec), name_of(arch), why));
  const auto& tile = spec.schedule.tile;
  const bool whole = !tile || tile->value[0] % kExpertUnit == 0;
  if (!whole)
    draft.diagnostics.error(
        tile->where,
        fmt::format("tile '{0}' is not possible with pattern '{1}', whose tiles have "
                    "a multiple of {2} rows; use a multiple of {2}",
                    tile_name(tile->value[0], tile->value[1]), pattern_name(spec), kExpertUnit));
  const auto& cluster = spec.schedule.cluster;
  const bool alone = !cluster || cluster->value == 1;
  if (!alone)
    draft.diagnostics.error(
        cluster->where,
        fmt::format("cluster '{0}' is not available with pattern '{1}': tiles one below the other "
                    "may be of different experts, which have no columns of B in common; use 1",
                    cluster->value, pattern_name(spec)));
  return why.empty() && whole && alone;
}

}  // namespace

bool can_address(const tilepost_map_t& map) {
  return schedule_positions(map) <= kMaxPositions && tiles_m(map) <= kMaxTileRows &&
         stored_rows(map) <= INT32_MAX;
}

bool select_kernels(Draft& draft) {
  if (draft.own) return select_own(draft) && fits_table(draft);
  const Plan& plan = draft.plan;
  if (const std::string why = why_not_input(plan); !why.empty()) {
    draft.diagnostics.error(draft.spec.gemm.a.where, why);
    return false;
  }
  if (row_of(plan).has_experts() && !can_have_experts(draft)) return false;
  const bool host = plan.arch == Arch::host;
  const std::string not_tma = why_not_preferred(plan);
  const bool tma = plan.arch == Arch::sm_90a && not_tma.empty();
  if (plan.scales != TILEPOST_SCALES_NONE && !not_tma.empty()) {
    draft.diagnostics.error(draft.spec.gemm.scales.where,
                            fmt::format("gemm.scales 'blocks' is for gemm_sm90 alone: {}; pad N or "
                                        "K, or remove gemm.scales",
                                        not_tma));
    return false;
  }
  if (plan.quantised != 0 && !not_tma.empty()) {
    draft.diagnostics.error(
        draft.spec.gemm.out.where,
        fmt::format("gemm.out '{}' is for gemm_sm90 alone: {}; pad N or K, or use another gemm.out",
                    name_of(draft.spec.gemm.out.value), not_tma));
    return false;
  }
  std::vector<KernelConfig> configs = usable(draft);
  std::vector<int> cluster_choices;
  // All checks report before any of them stops the planning.
  const bool cluster_ok = clusters(draft, tma, not_tma, cluster_choices);
  const bool tile_ok =
      host ? check_host_tile(draft, configs) : filter_tile(draft, not_tma, configs);
  const bool stages_ok = host || !tile_ok || apply_stages(draft, configs);
  const bool stores_ok = can_store(draft, not_tma);
  if (!cluster_ok || !tile_ok || !stages_ok || !stores_ok) return false;

  if (!not_tma.empty()) draft.add_reason("kernel gemm_sm80 compiled for sm_90a: " + not_tma);
  KernelRequest request = request_for(plan);
  for (const KernelConfig& config : configs) {
    for (const int cluster : cluster_choices) {
      if (!fits_cluster(config, cluster)) continue;
      request.cluster = cluster;
      request.band = band_of(config, cluster, plan.map.m, draft.profile.gemm.band_rows);
      draft.kernels.push_back({config, request});
    }
  }
  if (draft.kernels.empty()) return no_cluster(draft);
  if (!keep_kernels(draft)) return false;
  return fits_table(draft);
}

}  // namespace tilepost
