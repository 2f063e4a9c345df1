// Weaves a kernel without marks, for which it is known which block makes which tile.
//
// The kernel's body stays as it is, token for token. It becomes a device function that gets the
// index of its block as an argument. The woven kernel calls this function with the block that makes
// the position's tile, and with an output pointer that is moved by whole rows to the tile's place.
// No store is edited.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "generator/diagnostics.h"
#include "generator/weave/own_request.h"
#include "generator/weave/weave.h"

namespace tilepost {

// In the texts `row` and `column` are the place of the tile, out of `rows` and `columns`, all
// counted in tiles.
struct UnmarkedRequest : OwnRequest {
  std::string helpers;  // declarations before the kernel that the texts below need
  std::array<std::string, 3> block, grid;  // x, y and z of the plain kernel's block and grid
  bool clears_output = false;              // the block reads its tile, which must be zero before
};

// Reports every refusal at its place in `source`. Returns nothing if anything was refused.
std::optional<WovenKernel> weave_unmarked(const UnmarkedRequest& request, Diagnostics& diagnostics);

// The parts of the kernel's file that the kernel needs, as its author wrote them, in a namespace
// `user`. Behind them comes the launch that its author would write, with a block for every tile:
//   int launch(const void* a, const void* b, void* c, const tilepost_shape_t& shape,
//              void* const* user, void* stream)
// The launch returns a cudaError_t.
std::optional<WovenKernel> cut_plain_kernel(const UnmarkedRequest& request,
                                            Diagnostics& diagnostics);

}  // namespace tilepost
