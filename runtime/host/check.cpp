#include "runtime/host/check.h"

#include <cinttypes>
#include <cstdint>
#include <limits>
#include <string>

#include "runtime/core/error.h"
#include "runtime/core/operands.h"
#include "runtime/map/tile_map.h"

namespace tilepost {
namespace {

constexpr int64_t kMaxExtent = std::numeric_limits<int32_t>::max();

const tilepost_plan_t* find_host_plan(const tilepost_program_t& program) {
  for (int i = 0; i < program.num_plans && program.plans != nullptr; ++i)
    if (program.plans[i].kernel.launch == TILEPOST_LAUNCH_HOST) return &program.plans[i];
  return nullptr;
}

tilepost_result_t unknown(const char* name, const char* what, int value) {
  return fail(TILEPOST_UNSUPPORTED, "'%s': the host target does not know %s %d", name, what, value);
}

// Whether ranks touch each other's memory.
bool shares_memory(const tilepost_plan_t& plan) {
  return plan.access != TILEPOST_ACCESS_MESSAGES;
}

// Which divisions a pattern's groups may have (plan.h).
bool division_fits(const tilepost_plan_t& plan) {
  const bool panel = plan.map.layout == TILEPOST_PANEL;
  const tilepost_division_t division = plan.map.division;
  switch (plan.pattern) {
    case TILEPOST_GEMM:
      return division == TILEPOST_DIVISION_ROWS;
    case TILEPOST_GEMM_ALL_REDUCE:
      return division == (shares_memory(plan) ? TILEPOST_DIVISION_SHARES : TILEPOST_DIVISION_ROWS);
    case TILEPOST_ALL_GATHER_GEMM:
      return panel &&
             (division == TILEPOST_DIVISION_ROWS || division == TILEPOST_DIVISION_ARRIVALS);
    case TILEPOST_GEMM_REDUCE_SCATTER:
    case TILEPOST_GEMM_ALL_TO_ALL:
      break;
  }
  if (!panel) return division == TILEPOST_DIVISION_COLUMNS;
  return division == TILEPOST_DIVISION_ROWS || division == TILEPOST_DIVISION_SHARES;
}

// Which consumers a pattern's output may have.
bool consumer_fits(const tilepost_plan_t& plan) {
  const bool panel = plan.map.layout == TILEPOST_PANEL;
  switch (plan.consumer) {
    case TILEPOST_CONSUMER_NONE:
      return true;
    case TILEPOST_CONSUMER_UNPERMUTE:
      return !panel;
    case TILEPOST_CONSUMER_RMS_NORM:
    case TILEPOST_CONSUMER_RESIDUAL_RMS_NORM:
      return plan.pattern == TILEPOST_GEMM || sums_ranks(plan);
  }
  return false;
}

// Which plans push what all ranks get (steps.h): an AllGather's rows are always pushed, sums of an
// AllReduce where kernels store the parts.
bool pushes_fit(const tilepost_plan_t& plan) {
  if (plan.pattern == TILEPOST_ALL_GATHER_GEMM) return (plan.pushes != 0) == shares_memory(plan);
  return plan.pushes == 0 ||
         (plan.pattern == TILEPOST_GEMM_ALL_REDUCE && plan.access == TILEPOST_ACCESS_WRITE);
}

// Which plans may read or write other ranks' memory.
bool access_fits(const tilepost_plan_t& plan) {
  if (!pushes_fit(plan)) return false;
  if (plan.access == TILEPOST_ACCESS_WRITE && plan.pattern == TILEPOST_GEMM_ALL_TO_ALL &&
      plan.routing != TILEPOST_ROUTING_EVEN)
    return false;
  return !shares_memory(plan) ||
         (plan.pattern != TILEPOST_GEMM && plan.transport == TILEPOST_TRANSPORT_HOST &&
          plan.map.layout == TILEPOST_PANEL);
}

tilepost_result_t check_access(const char* name, const tilepost_plan_t& plan) {
  if (plan.access < TILEPOST_ACCESS_MESSAGES || plan.access > TILEPOST_ACCESS_WRITE)
    return unknown(name, "access", plan.access);
  if (plan.sum < TILEPOST_SUM_STAGED || plan.sum > TILEPOST_SUM_ADDED)
    return unknown(name, "sum", plan.sum);
  if (access_fits(plan)) return TILEPOST_OK;
  return fail(TILEPOST_UNSUPPORTED,
              "'%s': the host target does not know access %d for pattern %d, layout %d, transport "
              "%d, routing %d and pushes %d; regenerate it with 'transport: auto' or 'none'",
              name, static_cast<int>(plan.access), static_cast<int>(plan.pattern),
              static_cast<int>(plan.map.layout), static_cast<int>(plan.transport),
              static_cast<int>(plan.routing), static_cast<int>(plan.pushes));
}

tilepost_result_t check_pattern(const char* name, const tilepost_plan_t& plan) {
  if (plan.pattern < TILEPOST_GEMM_ALL_REDUCE || plan.pattern > TILEPOST_ALL_GATHER_GEMM)
    return unknown(name, "pattern", plan.pattern);
  const bool alone = plan.pattern == TILEPOST_GEMM;
  if (plan.transport != TILEPOST_TRANSPORT_NONE &&
      (alone || plan.transport != TILEPOST_TRANSPORT_HOST))
    return fail(TILEPOST_UNSUPPORTED,
                "'%s': the host target does not know transport %d; regenerate it with "
                "'transport: auto' or 'none'",
                name, static_cast<int>(plan.transport));
  if (plan.routing < TILEPOST_ROUTING_EVEN || plan.routing > TILEPOST_ROUTING_ROWS)
    return unknown(name, "routing", plan.routing);
  return check_access(name, plan);
}

tilepost_result_t check_support(const char* name, const tilepost_plan_t& plan) {
  if (const auto result = check_pattern(name, plan); result != TILEPOST_OK) return result;
  const bool known = plan.output == TILEPOST_BF16 || plan.output == TILEPOST_F16;
  if (!known || (plan.input != plan.output && plan.input != TILEPOST_E4M3))
    return fail(
        TILEPOST_UNSUPPORTED,
        "'%s': the host target needs bf16 or f16 in and the same out, or e4m3 in and one of "
        "them out, got types %d and %d",
        name, static_cast<int>(plan.input), static_cast<int>(plan.output));
  if (plan.map.layout != TILEPOST_PANEL && plan.map.layout != TILEPOST_TILE)
    return unknown(name, "layout", plan.map.layout);
  if (!division_fits(plan))
    return fail(TILEPOST_UNSUPPORTED,
                "'%s': the host target does not know division %d for pattern %d and layout %d",
                name, static_cast<int>(plan.map.division), static_cast<int>(plan.pattern),
                static_cast<int>(plan.map.layout));
  if (!consumer_fits(plan))
    return fail(TILEPOST_UNSUPPORTED,
                "'%s': the host target does not know consumer %d for layout %d and pattern %d",
                name, static_cast<int>(plan.consumer), static_cast<int>(plan.map.layout),
                static_cast<int>(plan.pattern));
  return TILEPOST_OK;
}

tilepost_result_t bad_plan(const char* name, const char* what, int64_t value, const char* bound) {
  return fail(TILEPOST_INVALID_ARGUMENT, "'%s': the plan's %s is %" PRId64 ", expected %s", name,
              what, value, bound);
}

// What build_tile_map requires.
tilepost_result_t check_map(const char* name, const tilepost_plan_t& plan) {
  const tilepost_map_t& map = plan.map;
  const struct {
    const char* what;
    int64_t value;
  } sizes[] = {{"m", map.m},
               {"n", map.n},
               {"k", plan.k},
               {"tile_m", map.tile_m},
               {"tile_n", map.tile_n},
               {"cluster", map.cluster},
               {"band", map.band},
               {"signals_per_tile", map.signals_per_tile},
               {"num_groups", map.num_groups},
               {"ranks", plan.ranks}};
  for (const auto& size : sizes)
    if (size.value < 1 || size.value > kMaxExtent)
      return bad_plan(name, size.what, size.value, "1 to 2147483647");
  const int64_t rows = (map.m + map.tile_m - 1) / map.tile_m;
  const int64_t padded = (rows + map.cluster - 1) / map.cluster * map.cluster;
  const int64_t columns = (map.n + map.tile_n - 1) / map.tile_n;
  if (padded > kMaxExtent / columns)
    return bad_plan(name, "number of tile rows", padded, "fewer than 2^31 tiles");
  const bool shares = plan.pattern == TILEPOST_GEMM_ALL_REDUCE ? shares_memory(plan)
                                                               : plan.pattern != TILEPOST_GEMM;
  const int ranks = shares ? plan.ranks : 1;
  if (map.ranks != ranks)
    return bad_plan(name, "number of shares", map.ranks, std::to_string(ranks).c_str());
  if (map.stagger < 0 || (map.stagger > 0 && map.division != TILEPOST_DIVISION_SHARES))
    return bad_plan(name, "stagger", map.stagger, "0, or more where groups are parts of shares");
  const bool round_robin =
      map.division == TILEPOST_DIVISION_ARRIVALS && plan.access == TILEPOST_ACCESS_READ;
  if (map.round_robin != (round_robin ? 1 : 0))
    return bad_plan(name, "round_robin", map.round_robin,
                    "1 where groups are arrivals of copies, 0 elsewhere");
  if (map.cuts == nullptr || plan.groups == nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT, "'%s': the plan has no cuts or no groups", name);
  if (!cuts_are_valid(map))
    return fail(TILEPOST_INVALID_ARGUMENT,
                "'%s': the plan's %d group cuts do not increase up to the end of the schedule on "
                "whole clusters; regenerate it",
                name, map.num_groups);
  if (plan.transport == TILEPOST_TRANSPORT_NONE && map.num_groups != 1)
    return bad_plan(name, "number of groups", map.num_groups, "1 where nothing overlaps");
  return TILEPOST_OK;
}

// The schedule must be the one the planner verified, tile by tile and group by group.
tilepost_result_t check_schedule(const char* name, const tilepost_plan_t& plan,
                                 const TileMap& map) {
  const uint64_t hash = hash_tile_map(map);
  if (hash != plan.map_hash)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "'%s': the tile map hashes to %016" PRIx64 ", the plan says %016" PRIx64
                "; regenerate it with this version",
                name, hash, plan.map_hash);
  for (size_t g = 0; g < map.groups.size(); ++g) {
    const tilepost_group_t& built = map.groups[g];
    const tilepost_group_t& stated = plan.groups[g];
    if (built.first_tile != stated.first_tile || built.num_tiles != stated.num_tiles ||
        built.target != stated.target || built.offset != stated.offset ||
        built.count != stated.count)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "'%s': group %zu of the plan is not that of its tile map; regenerate it", name,
                  g);
  }
  return TILEPOST_OK;
}

}  // namespace

tilepost_result_t check_host_program(const tilepost_program_t& program, int world,
                                     const tilepost_plan_t*& checked) {
  const tilepost_plan_t* plan = find_host_plan(program);
  if (plan == nullptr)
    return fail(TILEPOST_UNSUPPORTED,
                "'%s' has no plan for the host target; generate it with 'arch: host'",
                program.name);
  if (const auto result = check_support(program.name, *plan); result != TILEPOST_OK) return result;
  if (plan->kernel.host_function == nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT, "'%s': the plan has no host kernel", program.name);
  if (plan->pattern != TILEPOST_GEMM && plan->ranks != world)
    return fail(TILEPOST_INVALID_ARGUMENT, "'%s' was planned for %d ranks, the communicator has %d",
                program.name, plan->ranks, world);
  if (const auto result = check_map(program.name, *plan); result != TILEPOST_OK) return result;
  const TileMap map = build_tile_map(plan->map);
  if (const auto result = check_schedule(program.name, *plan, map); result != TILEPOST_OK)
    return result;
  checked = plan;
  return TILEPOST_OK;
}

}  // namespace tilepost
