// The verifier: every invariant of a plan, checked from what the plan says and not with the code
// that made it. Linear in the tiles but for one sort per group.
#include <algorithm>
#include <numeric>

#include "generator/plan/arch.h"
#include "generator/plan/make_plan.h"
#include "generator/plan/verify_blocks.h"
#include "generator/plan/verify_operands.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilepost {
namespace {

using llvm::formatv;

int64_t rows_of_tiles(const Plan& plan) {
  return (plan.m + plan.kernel.tile_m - 1) / plan.kernel.tile_m;
}
int64_t columns_of_tiles(const Plan& plan) {
  return (plan.n + plan.kernel.tile_n - 1) / plan.kernel.tile_n;
}

// Sizes that everything below divides by or indexes with.
bool check_sizes(const Plan& plan, Findings& findings) {
  const KernelPlan& kernel = plan.kernel;
  if (plan.m < 1 || plan.n < 1 || plan.k < 1 || kernel.tile_m < 1 || kernel.tile_n < 1 ||
      kernel.cluster < 1 || kernel.ctas_per_sm < 1 || kernel.signals_per_tile < 1 ||
      kernel.split_k < 1 || plan.gemm_ctas < kernel.split_k || plan.ranks < 1) {
    findings.add("a size is not positive");
    return false;
  }
  const size_t covered = static_cast<size_t>(rows_of_tiles(plan)) * columns_of_tiles(plan);
  if (plan.map.positions.size() != covered) {
    findings.add(formatv("{0} tiles have a position, the output has {1}", plan.map.positions.size(),
                         covered));
    return false;
  }
  return true;
}

// Every tile of the output has exactly one position, `positions` is the inverse, padding lies
// outside the output and is not stored.
void check_bijection(const Plan& plan, Findings& findings) {
  const int64_t tiles_m = rows_of_tiles(plan), tiles_n = columns_of_tiles(plan);
  std::vector<bool> seen(plan.map.positions.size());
  int64_t stored = 0;
  for (size_t t = 0; t < plan.map.tiles.size() && !findings.full(); ++t) {
    const tilepost_tile_t& tile = plan.map.tiles[t];
    const bool inside = tile.m >= 0 && tile.m < tiles_m && tile.n >= 0 && tile.n < tiles_n;
    if (!inside) {
      if (tile.row >= 0)
        findings.add(formatv("position {0}: padding tile ({1}, {2}) is stored at row {3}", t,
                             tile.m, tile.n, tile.row));
      continue;
    }
    if (tile.row < 0) {
      findings.add(formatv("position {0}: tile ({1}, {2}) is not stored", t, tile.m, tile.n));
      continue;
    }
    const size_t index = static_cast<size_t>(tile.m) * tiles_n + tile.n;
    if (seen[index])
      findings.add(formatv("position {0}: tile ({1}, {2}) comes twice", t, tile.m, tile.n));
    else
      ++stored;
    seen[index] = true;
    if (plan.map.positions[index] != static_cast<int32_t>(t))
      findings.add(formatv("tile ({0}, {1}) is at position {2}, the inverse says {3}", tile.m,
                           tile.n, t, plan.map.positions[index]));
    if (plan.layout == OutputLayout::panel && tile.row != int64_t{tile.m} * plan.kernel.tile_m)
      findings.add(formatv("position {0}: tile row {1} goes to row {2} of a row-major output", t,
                           tile.m, tile.row));
  }
  if (stored != static_cast<int64_t>(seen.size()))
    findings.add(formatv("{0} of {1} tiles are stored", stored, seen.size()));
}

// Cluster-mates, which run at the same time and share B, have one tile column and consecutive rows.
void check_clusters(const Plan& plan, Findings& findings) {
  const size_t cluster = static_cast<size_t>(plan.kernel.cluster);
  const std::vector<tilepost_tile_t>& tiles = plan.map.tiles;
  if (tiles.size() % cluster != 0)
    findings.add(formatv("{0} positions are no whole clusters of {1}", tiles.size(), cluster));
  if (plan.gemm_ctas % plan.kernel.cluster != 0)
    findings.add(formatv("a grid of {0} is no whole clusters of {1}", plan.gemm_ctas, cluster));
  if (plan.kernel.launch_cluster < 1 || plan.gemm_ctas % plan.kernel.launch_cluster != 0)
    findings.add(formatv("a grid of {0} is no whole launched clusters of {1}", plan.gemm_ctas,
                         plan.kernel.launch_cluster));
  if (plan.kernel.launch_cluster % plan.kernel.split_k != 0)
    findings.add(formatv("the {0} CTAs of a tile are no part of a launched cluster of {1}",
                         plan.kernel.split_k, plan.kernel.launch_cluster));
  for (size_t t = 0; t < tiles.size() && !findings.full(); ++t) {
    if (t % cluster == 0) continue;
    if (tiles[t].n != tiles[t - 1].n || tiles[t].m != tiles[t - 1].m + 1)
      findings.add(
          formatv("positions {0} and {1} are cluster-mates but tiles ({2}, {3}) and ({4}, "
                  "{5}) are not below each other",
                  t - 1, t, tiles[t - 1].m, tiles[t - 1].n, tiles[t].m, tiles[t].n));
  }
}

// Groups partition the schedule; every tile raises its own group's counter, and the target is the
// sum of what they raise.
bool check_groups(const Plan& plan, Findings& findings) {
  const std::vector<tilepost_group_t>& groups = plan.map.groups;
  if (groups.empty() || groups.size() != plan.cuts.size()) {
    findings.add(formatv("{0} groups, {1} cuts", groups.size(), plan.cuts.size()));
    return false;
  }
  const int64_t schedule = static_cast<int64_t>(plan.map.tiles.size());
  int64_t end = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const tilepost_group_t& group = groups[g];
    if (group.first_tile != end || group.num_tiles < 1 || end + group.num_tiles > schedule) {
      findings.add(
          formatv("group {0} covers positions {1} to {2}, expected to start at {3} and end "
                  "by {4}",
                  g, group.first_tile, int64_t{group.first_tile} + group.num_tiles, end, schedule));
      return false;
    }
    end += group.num_tiles;
    for (int64_t t = group.first_tile; t < end && !findings.full(); ++t)
      if (plan.map.tiles[t].group != static_cast<int32_t>(g))
        findings.add(formatv("position {0} of group {1} raises the counter of group {2}", t, g,
                             plan.map.tiles[t].group));
    const int64_t raised = int64_t{group.num_tiles} * plan.kernel.signals_per_tile;
    if (group.target != raised)
      findings.add(formatv("group {0} waits for {1}, its tiles raise the counter {2} times", g,
                           group.target, raised));
  }
  if (end != schedule) findings.add(formatv("groups end at position {0} of {1}", end, schedule));
  return end == schedule;
}

// The cuts say where the groups end, and the groups' waves are the schedule's.
void check_cuts(const Plan& plan, Findings& findings) {
  for (size_t g = 0; g < plan.cuts.size(); ++g) {
    const tilepost_group_t& group = plan.map.groups[g];
    const bool panel = plan.layout == OutputLayout::panel;
    const int64_t said = panel
                             ? std::min(int64_t{plan.cuts[g]} * plan.kernel.tile_m, plan.m) * plan.n
                             : plan.cuts[g];
    const int64_t is =
        panel ? group.offset + group.count : int64_t{group.first_tile} + group.num_tiles;
    if (said != is)
      findings.add(formatv("group {0} ends at {1}, cut {2} means {3}", g, is, plan.cuts[g], said));
  }
  const int64_t positions = static_cast<int64_t>(plan.map.tiles.size());
  const int64_t waves = (positions + plan.at_once() - 1) / plan.at_once();
  if (plan.waves != waves)
    findings.add(formatv("{0} waves, {1} positions on {2} CTAs take {3}", plan.waves, positions,
                         plan.gemm_ctas, waves));
  const int64_t sum = std::accumulate(plan.group_waves.begin(), plan.group_waves.end(), int64_t{0});
  if (plan.group_waves.size() != plan.cuts.size() || sum != waves)
    findings.add(
        formatv("{0} groups of {1} waves in all, the schedule has {2} groups and {3} waves",
                plan.group_waves.size(), sum, plan.cuts.size(), waves));
}

// GEMM, collective and waiter run at the same time, so each needs SMs of its own: otherwise one of
// them could wait for ever for another that cannot start.
void check_budget(const Plan& plan, Findings& findings) {
  const int gemm_sms = (plan.gemm_ctas + plan.kernel.ctas_per_sm - 1) / plan.kernel.ctas_per_sm;
  if (plan.transport == Transport::none) {
    if (plan.comm_ctas != 0 || plan.cuts.size() != 1)
      findings.add(
          formatv("no overlap, but {0} CTAs are kept for the collective and there are {1} "
                  "groups",
                  plan.comm_ctas, plan.cuts.size()));
    if (gemm_sms > plan.sms)
      findings.add(formatv("the GEMM needs {0} SMs of {1}", gemm_sms, plan.sms));
  } else if (plan.comm_lanes < 1 || plan.comm_ctas < plan.comm_lanes ||
             int64_t{gemm_sms} + plan.comm_ctas + 1 > plan.sms) {
    findings.add(formatv("GEMM on {0} SMs, collective on {1} and the waiter on 1 do not fit on {2}",
                         gemm_sms, plan.comm_ctas, plan.sms));
  }
  if (plan.at_once() > static_cast<int64_t>(plan.map.tiles.size()))
    findings.add(formatv("a grid of {0} for {1} positions", plan.gemm_ctas, plan.map.tiles.size()));
  const ArchInfo& arch = arch_info(plan.arch);
  const KernelPlan& kernel = plan.kernel;
  if (kernel.shared_bytes > arch.shared_per_block)
    findings.add(formatv("{0} bytes of shared memory, a block of {1} has {2}", kernel.shared_bytes,
                         name_of(plan.arch), arch.shared_per_block));
  if (plan.arch == Arch::host) return;
  if ((kernel.shared_bytes + arch.shared_reserved) * kernel.ctas_per_sm > arch.shared_per_sm)
    findings.add(
        formatv("{0} CTAs of {1} bytes of shared memory do not fit on an SM of {2}, which "
                "has {3}",
                kernel.ctas_per_sm, kernel.shared_bytes, name_of(plan.arch), arch.shared_per_sm));
  if (kernel.threads * kernel.ctas_per_sm > arch.threads_per_sm)
    findings.add(formatv("{0} CTAs of {1} threads do not fit on an SM of {2}, which has {3}",
                         kernel.ctas_per_sm, kernel.threads, name_of(plan.arch),
                         arch.threads_per_sm));
}

}  // namespace

std::vector<std::string> verify_plan(const Plan& plan) {
  Findings findings;
  if (!check_sizes(plan, findings)) return findings.take();
  check_bijection(plan, findings);
  check_clusters(plan, findings);
  if (check_groups(plan, findings)) {
    verify_blocks(plan, findings);
    check_cuts(plan, findings);
  }
  verify_operands(plan, findings);
  check_budget(plan, findings);
  if (hash_tile_map(plan.map) != plan.map_hash)
    findings.add(formatv("the tile table hashes to {0:x}, the plan says {1:x}",
                         hash_tile_map(plan.map), plan.map_hash));
  return findings.take();
}

}  // namespace tilepost
