// The parts of the verifier (verify_plan.h). Each derives what must hold from the problem and
// compares it with what the plan says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// Collects what is wrong; stops collecting after a few, since one fault shows in many places.
class Findings {
 public:
  static constexpr size_t kMax = 8;
  void add(std::string what) {
    if (list_.size() < kMax) list_.push_back(std::move(what));
  }
  bool full() const { return list_.size() >= kMax; }
  bool empty() const { return list_.empty(); }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

// Where tiles and shares of a problem are, by arithmetic of its own. Requires positive sizes.
struct Geometry {
  explicit Geometry(const Plan& plan);

  int64_t m, n;  // elements
  int tile_m, tile_n;
  int64_t tiles_n;      // tile columns
  int64_t share;        // rows of an equal share: ceil(m / ranks); m where ranks have none
  int64_t share_tiles;  // tile rows of one
  int shares;           // ranks, or 1
  bool anew;            // tile rows start anew with every share (TILEPOST_DIVISION_SHARES)

  int64_t rows_of(int rank) const { return std::clamp<int64_t>(m - rank * share, 0, share); }
  // Tile rows that have an entry in TileMap::positions, and how many of them are there.
  int64_t tile_rows() const;
  int64_t stored_tile_rows() const;
  // The tile row that starts at row `first`, -1 if none does. Requires 0 <= first < m.
  int64_t tile_row(int64_t first) const;
};

// Every tile of the product has exactly one position, TileMap::positions is the inverse, padding is
// outside and not stored, cluster-mates share a column and a group, groups partition the schedule,
// targets are what is posted. False if the groups do not fit the schedule, on which the other parts
// rely.
bool verify_tiles(const Plan& plan, const TileMap& map, Findings& findings);

// The elements that the tiles of each group write form exactly the group's block, each once, in the
// order that the division promises, and blocks follow each other from 0 to send_elements. Requires
// groups whose ranges lie inside the schedule.
void verify_blocks(const Plan& plan, const TileMap& map, Findings& findings);

// The same of the tile tables of the other ranks where each has an order of its own
// (tilepost_map_t::stagger), and that all have the same groups. Builds them.
void verify_orders(const Plan& plan, Findings& findings);

// Where a kernel adds other ranks' tiles to its own: no tile comes later on another rank than on
// its owner. Requires tables that verify_orders has found right.
void verify_turns(const Plan& plan, Findings& findings);

// Where kernels exchange tiles: the plan has what they need, and nothing that goes on beside them;
// elsewhere none of it.
void verify_exchange_of_tiles(const Plan& plan, Findings& findings);

// The ranks whose own tile tables are looked at, where they differ: all, or of very large ones the
// first, the last and one between.
std::vector<int> ranks_to_check(const Plan& plan);

}  // namespace tilepost
