// What must hold in plans by which tokens go to experts, apart from what holds in all plans.
#include <algorithm>
#include <cinttypes>
#include <limits>

#include "runtime/core/error.h"
#include "runtime/core/plan_check.h"
#include "runtime/map/patterns.h"
#include "runtime/map/run_path.h"
#include "runtime/map/tile_map.h"
#include "tilepost/internal/route_recipe.h"
#include "tilepost/internal/token_tiles.h"

namespace tilepost {

// The list of tile rows, and what says with which group a token comes, have bounds
// (internal/token_tiles.h).
tilepost_result_t check_tokens_of_plan(const char* name, const tilepost_plan_t& plan) {
  const auto in_range = [&](const char* what, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) return TILEPOST_OK;
    return fail(TILEPOST_INVALID_ARGUMENT,
                "'%s': the plan's %s is %" PRId64 ", expected %" PRId64 " to %" PRId64
                "; regenerate it",
                name, what, value, least, most);
  };
  const bool tokens = row_of(plan).has_tokens(), combines = row_of(plan).combines();
  const int64_t top = tokens ? kMostTop : 0, least = tokens ? 1 : 0;
  TILEPOST_TRY(in_range("top", plan.top, least, top));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  TILEPOST_TRY(
      in_range("most_rows", plan.most_rows, least, std::min(kMost, plan.map.m * plan.top)));
  if (!tokens) return TILEPOST_OK;
  TILEPOST_TRY(in_range("experts", plan.experts, 1, kMostExperts));
  if (!combines)
    TILEPOST_TRY(in_range("number of groups", plan.map.num_groups, 1, kMostTokenGroups));
  if (path_of(plan, true).sums_at_home)
    TILEPOST_TRY(in_range("ranks", plan.ranks, 1, TILEPOST_MOST_EXCHANGING));
  TILEPOST_TRY(in_range("neighbours", plan.neighbours, 0, 0));
  TILEPOST_TRY(in_range("task_parts", plan.task_parts, 0, 0));
  TILEPOST_TRY(in_range("fused", plan.fused, 0, 0));
  TILEPOST_TRY(in_range("row_gap", plan.row_gap, 0, 0));
  TILEPOST_TRY(in_range("sum", plan.sum, TILEPOST_SUM_STAGED, TILEPOST_SUM_STAGED));
  // Nothing brings own tokens to where others push theirs, so that a kernel reads them in `a`.
  const bool on_host = plan.kernel.launch == TILEPOST_LAUNCH_HOST;
  if (path_of(plan, true).pushes_tokens && !on_host)
    TILEPOST_TRY(in_range("reads_own", plan.reads_own, 1, 1));
  return in_range("access", plan.access, TILEPOST_ACCESS_MESSAGES, TILEPOST_ACCESS_WRITE);
}

}  // namespace tilepost
