// A bound on the rows of experts of every rank (tilepost_plan_t::most_rows). All ranks see the rows
// of all ranks, and do the same.
#pragma once

#include <cstdint>

#include "tilepost/internal/route_recipe.h"

namespace tilepost::cuda {

struct RowsBound {
  const int32_t* rank_rows;  // [ranks] null if no routing can ask for too many
  int ranks, most;
  RowsFault* fault;  // gets the first rank with too many
};

}  // namespace tilepost::cuda
