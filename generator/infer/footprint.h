// Finds out where a kernel stores, for all threads of all blocks, and whether each block stores a
// tile.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/infer/state/effects.h"
#include "generator/infer/values/launch.h"
#include "generator/infer/values/nodes.h"

namespace tilepost::inference {

struct Footprint {
  std::vector<int64_t> blocks;  // the list of Inferred::blocks for one shape
  std::vector<Complaint> complaints;
  clang::SourceLocation meeting;  // a barrier to which not all warps come, or invalid
};

// Evaluates the stores of all blocks. Complains about a block that does not store exactly one tile,
// about a read of the output outside of the tile that its block stores, and about a meeting to
// which only some lanes of a warp come.
Footprint find_footprint(const Nodes& nodes, const Effects& effects, const KernelFacts& facts);

}  // namespace tilepost::inference
