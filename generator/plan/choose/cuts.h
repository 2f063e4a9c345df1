// The groups a user asks for.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/map/cuts.h"

namespace tilepost {

// The most groups a schedule can be cut into, each with at least one unit (tilepost/cuts.h), and in
// slot order with at least one wave. ARRIVALS: without the own share.
int64_t max_groups(const tilepost_map_t& map, int at_once);

// The cuts of groups of `waves` waves each. Requires that they sum to schedule_waves(map, at_once)
// and are no more than max_groups(). Every group gets at least one unit.
std::vector<int32_t> cuts_of_waves(const tilepost_map_t& map, int at_once,
                                   const std::vector<int>& waves);

// ARRIVALS: the cuts of chunks whose sizes are to each other as `sizes`, each of at least one
// unit. Requires no more than max_groups() of them, all positive.
std::vector<int32_t> cuts_of_chunks(const tilepost_map_t& map, const std::vector<int>& sizes);

}  // namespace tilepost
