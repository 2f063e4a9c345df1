// Rows of A that go to the ranks that multiply them, and tiles that wait for these rows: what the
// checks of all patterns whose input moves have in common.
#pragma once

#include "generator/plan/verify/traffic.h"

namespace tilepost {

// What one rank has for another: `rows` rows of its A from `from` on, which lie among the rows that
// the other multiplies from `to` on.
struct RowBlock {
  int64_t from, to, rows;
};

// Where rows of A come from and lie.
struct RowBlocks {
  std::vector<std::vector<RowBlock>> blocks;  // [source][destination]
  // Whether a cut gives the part of a block that comes with a group, whatever the block's size. If
  // not, a cut gives the tile rows of the block that come.
  bool in_parts = false;
};

// PatternCheck::follow where rows of A arrive. Checks:
// - Every rank gets every row that is for it once, and the rows lie where the blocks say.
// - Sends and receives pair up. Where ranks share memory, a rank takes the rows that another rank
//   has stored only after both have announced.
// - In the division by arrivals a group brings what its cuts say, and every tile waits for the
//   group that brings the last of the rows it reads, and for no later one. Tile tables differ
//   between ranks, so those of ranks_to_check() are checked besides the plan's own.
void follow_arrivals(const Plan& plan, const Traffic& traffic, const RowBlocks& arrivals,
                     Findings& findings);

// PatternCheck::division and ::pushes_as_it_may of all patterns whose input moves.
tilepost_division_t division_of_arrivals(const Plan& plan);
bool pushes_arrivals(const Plan& plan);

}  // namespace tilepost
