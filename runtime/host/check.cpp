#include "runtime/host/check.h"

#include <cinttypes>
#include <cstdint>
#include <limits>

#include "runtime/core/error.h"

namespace tilepost {
namespace {

constexpr int64_t kMaxExtent = std::numeric_limits<int32_t>::max();

const tilepost_plan_t* find_host_plan(const tilepost_program_t& program) {
  for (int i = 0; i < program.num_plans && program.plans != nullptr; ++i)
    if (program.plans[i].kernel.launch == TILEPOST_LAUNCH_HOST) return &program.plans[i];
  return nullptr;
}

tilepost_result_t check_support(const char* name, const tilepost_plan_t& plan) {
  const bool alone = plan.pattern == TILEPOST_GEMM;
  if (!alone && plan.pattern != TILEPOST_GEMM_ALL_REDUCE)
    return fail(TILEPOST_UNSUPPORTED, "'%s': the host target does not know pattern %d", name,
                static_cast<int>(plan.pattern));
  if (plan.transport != TILEPOST_TRANSPORT_NONE &&
      (alone || plan.transport != TILEPOST_TRANSPORT_HOST))
    return fail(TILEPOST_UNSUPPORTED,
                "'%s': the host target does not know transport %d; regenerate it with "
                "'transport: auto' or 'none'",
                name, static_cast<int>(plan.transport));
  const bool known = plan.output == TILEPOST_BF16 || plan.output == TILEPOST_F16;
  if (!known || (plan.input != plan.output && plan.input != TILEPOST_E4M3))
    return fail(
        TILEPOST_UNSUPPORTED,
        "'%s': the host target needs bf16 or f16 in and the same out, or e4m3 in and one of "
        "them out, got types %d and %d",
        name, static_cast<int>(plan.input), static_cast<int>(plan.output));
  const bool panel = plan.map.layout == TILEPOST_PANEL;
  if (!panel && plan.map.layout != TILEPOST_TILE)
    return fail(TILEPOST_UNSUPPORTED, "'%s': the host target does not know layout %d", name,
                static_cast<int>(plan.map.layout));
  const bool unpermute = plan.consumer == TILEPOST_CONSUMER_UNPERMUTE;
  if ((!unpermute && plan.consumer != TILEPOST_CONSUMER_NONE) || (unpermute && panel))
    return fail(TILEPOST_UNSUPPORTED,
                "'%s': the host target does not know consumer %d for layout %d", name,
                static_cast<int>(plan.consumer), static_cast<int>(plan.map.layout));
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
               {"num_groups", map.num_groups}};
  for (const auto& size : sizes)
    if (size.value < 1 || size.value > kMaxExtent)
      return bad_plan(name, size.what, size.value, "1 to 2147483647");
  const int64_t rows = (map.m + map.tile_m - 1) / map.tile_m;
  const int64_t padded = (rows + map.cluster - 1) / map.cluster * map.cluster;
  const int64_t columns = (map.n + map.tile_n - 1) / map.tile_n;
  if (padded > kMaxExtent / columns)
    return bad_plan(name, "number of tile rows", padded, "fewer than 2^31 tiles");
  if (map.cuts == nullptr || plan.groups == nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT, "'%s': the plan has no cuts or no groups", name);
  const bool panel = map.layout == TILEPOST_PANEL;
  for (int32_t g = 0, previous = 0; g < map.num_groups; previous = map.cuts[g++])
    if (map.cuts[g] <= previous ||
        (panel && g + 1 < map.num_groups && map.cuts[g] % map.cluster != 0))
      return bad_plan(name, "group cut", map.cuts[g], "increasing cuts on whole clusters");
  const int64_t end = panel ? rows : padded * columns;
  if (map.cuts[map.num_groups - 1] != end)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "'%s': the plan's last group ends at %d, the schedule at %" PRId64, name,
                map.cuts[map.num_groups - 1], end);
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
                                     HostPlan& checked) {
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
  TileMap map = build_tile_map(plan->map);
  if (const auto result = check_schedule(program.name, *plan, map); result != TILEPOST_OK)
    return result;
  checked = {plan, std::move(map)};
  return TILEPOST_OK;
}

}  // namespace tilepost
