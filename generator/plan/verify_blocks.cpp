#include "generator/plan/verify_blocks.h"

#include <algorithm>
#include <vector>

#include "llvm/Support/FormatVariadic.h"

namespace tilepost {
namespace {

// Destination rows [row, end) of one tile, in tile column `n`.
struct Strip {
  int32_t n;
  int64_t row, end;
  bool operator<(const Strip& other) const { return n != other.n ? n < other.n : row < other.row; }
};

// Panel layout: a tile writes a rectangle of a row-major matrix of plan.n columns. Tile columns
// partition the columns, so the group's elements are a block of whole rows exactly if in every tile
// column the rectangles' rows follow each other from the block's first row to its last.
void verify_panel_group(const Plan& plan, size_t g, std::vector<Strip>& strips,
                        Findings& findings) {
  const tilepost_group_t& group = plan.map.groups[g];
  const int64_t columns = (plan.n + plan.kernel.tile_n - 1) / plan.kernel.tile_n;
  if (group.offset % plan.n != 0 || group.count % plan.n != 0) {
    findings.add(
        llvm::formatv("group {0} is not a block of whole rows: offset {1}, count {2}, rows "
                      "of {3}",
                      g, group.offset, group.count, plan.n));
    return;
  }
  const int64_t first_row = group.offset / plan.n;
  const int64_t end_row = first_row + group.count / plan.n;
  strips.clear();
  for (int32_t t = group.first_tile; t < group.first_tile + group.num_tiles; ++t) {
    const tilepost_tile_t& tile = plan.map.tiles[t];
    if (tile.row < 0) continue;
    // Rows beyond the output are clipped where they are computed, not where they are stored.
    const int64_t height =
        std::min<int64_t>(plan.kernel.tile_m, plan.m - int64_t{tile.m} * plan.kernel.tile_m);
    strips.push_back({tile.n, tile.row, tile.row + height});
  }
  std::sort(strips.begin(), strips.end());
  size_t next = 0;
  for (int32_t n = 0; n < columns; ++n) {
    int64_t row = first_row;
    for (; next < strips.size() && strips[next].n == n; ++next) {
      if (strips[next].row != row)
        return findings.add(
            llvm::formatv("group {0}, tile column {1}: a tile starts at row {2}, "
                          "expected {3}",
                          g, n, strips[next].row, row));
      row = strips[next].end;
    }
    if (row != end_row)
      return findings.add(
          llvm::formatv("group {0}, tile column {1}: tiles end at row {2}, the "
                        "block at row {3}",
                        g, n, row, end_row));
  }
}

// Tile layout: a tile writes one whole slot of tile_m * tile_n elements.
void verify_slot_group(const Plan& plan, size_t g, std::vector<int64_t>& slots,
                       Findings& findings) {
  const tilepost_group_t& group = plan.map.groups[g];
  slots.clear();
  for (int32_t t = group.first_tile; t < group.first_tile + group.num_tiles; ++t)
    if (plan.map.tiles[t].row >= 0)
      slots.push_back(int64_t{plan.map.tiles[t].row} * plan.kernel.tile_n);
  std::sort(slots.begin(), slots.end());
  int64_t element = group.offset;
  for (const int64_t slot : slots) {
    if (slot != element)
      return findings.add(
          llvm::formatv("group {0}: a slot starts at element {1}, expected {2}", g, slot, element));
    element += int64_t{plan.kernel.tile_m} * plan.kernel.tile_n;
  }
  if (element != group.offset + group.count)
    findings.add(llvm::formatv("group {0}: slots end at element {1}, the block at {2}", g, element,
                               group.offset + group.count));
}

}  // namespace

void verify_blocks(const Plan& plan, Findings& findings) {
  std::vector<Strip> strips;
  std::vector<int64_t> slots;
  int64_t end = 0;
  for (size_t g = 0; g < plan.map.groups.size() && !findings.full(); ++g) {
    const tilepost_group_t& group = plan.map.groups[g];
    if (group.count <= 0) findings.add(llvm::formatv("group {0} sends nothing", g));
    if (group.offset != end)
      findings.add(llvm::formatv("group {0} starts at element {1}, the one before ends at {2}", g,
                                 group.offset, end));
    end = group.offset + group.count;
    if (plan.layout == OutputLayout::panel)
      verify_panel_group(plan, g, strips, findings);
    else
      verify_slot_group(plan, g, slots, findings);
  }
  if (end != plan.map.send_elements)
    findings.add(llvm::formatv("groups end at element {0}, the send buffer at {1}", end,
                               plan.map.send_elements));
}

}  // namespace tilepost
