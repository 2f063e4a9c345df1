// Weaves a kernel that has no marks, of which is known which block of it makes which tile.
//
// Its body stays as it is, token for token: it becomes a device function that is told which block
// it is, and a kernel of ours calls it with the block that makes the position's tile, and with an
// output that is moved by whole rows to where the tile goes. No store is edited.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "generator/diagnostics.h"
#include "generator/weave/own_request.h"
#include "generator/weave/weave.h"

namespace tilepost {

// In the texts `row` and `column` are the tile's among all tiles, of which there are `rows` and
// `columns`.
struct UnmarkedRequest : OwnRequest {
  std::string helpers;  // declarations in front of the kernel, that the texts below need
  std::array<std::string, 3> block, grid;  // x, y and z of the plain kernel's
  bool clears_output = false;  // a tile of it is zero when the block begins: it reads it
};

// Reports every refusal at its place in `source` and returns nothing if there was one.
std::optional<WovenKernel> weave_unmarked(const UnmarkedRequest& request, Diagnostics& diagnostics);

// What of the kernel's file it needs, as its author wrote it, in a namespace `user`, and behind it
// the launch that its author would write, with a block for every tile:
//   int launch(const void* a, const void* b, void* c, const tilepost_shape_t& shape,
//              void* const* user, void* stream)
// It returns a cudaError_t.
std::optional<WovenKernel> cut_plain_kernel(const UnmarkedRequest& request,
                                            Diagnostics& diagnostics);

}  // namespace tilepost
