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

// Where tiles and shares of a problem are, by arithmetic of the verifier's own. Requires positive
// sizes.
struct Geometry {
  explicit Geometry(const Plan& plan);

  int64_t m, n;  // elements
  int tile_m, tile_n;
  int64_t tiles_n;      // tile columns
  int64_t share;        // rows of an equal share: ceil(m / ranks); m where ranks have none
  int64_t share_tiles;  // tile rows of a share
  int shares;           // ranks, or 1
  bool anew;            // whether tile rows start anew with every share (TILEPOST_DIVISION_SHARES)

  int64_t rows_of(int rank) const { return std::clamp<int64_t>(m - rank * share, 0, share); }
  // Tile rows that have an entry in TileMap::positions, and the number of those that are stored.
  int64_t tile_rows() const;
  int64_t stored_tile_rows() const;
  // The tile row that starts at row `first`, -1 if none does. Requires 0 <= first < m.
  int64_t tile_row(int64_t first) const;
};

// Checks that every tile of the product has exactly one position, that TileMap::positions is the
// inverse, that padding is outside and not stored, that cluster-mates share a column and a group,
// that groups partition the schedule, and that targets are what is posted. Returns false if the
// groups do not fit the schedule, on which the other parts rely.
bool verify_tiles(const Plan& plan, const TileMap& map, Findings& findings);

// Checks what is peculiar to plans with experts, and that other plans have none (grouped_gemm.cpp).
void verify_experts(const Plan& plan, Findings& findings);

// Checks that the elements that the tiles of each group write form exactly the group's block, each
// once and in the order that the division promises, and that blocks follow each other from 0 to
// send_elements. Requires groups whose ranges lie inside the schedule.
void verify_blocks(const Plan& plan, const TileMap& map, Findings& findings);

// Checks the tile tables of the other ranks in the same way, where each rank has an order of its
// own (tilepost_map_t::stagger), and that all tables have the same groups. Builds these tables.
void verify_orders(const Plan& plan, Findings& findings);

// Where a kernel adds other ranks' tiles to its own: checks that no tile comes later on another
// rank than on its owner. Requires tables that verify_orders has found right.
void verify_turns(const Plan& plan, Findings& findings);

// Where kernels exchange tiles: checks that the plan has what they need, and nothing that runs
// beside them. Elsewhere: checks that it has nothing of an exchange.
void verify_exchange_of_tiles(const Plan& plan, Findings& findings);

// The ranks whose tile tables are checked where these differ: all ranks, or the first, the last and
// one between where tables are very large.
std::vector<int> ranks_to_check(const Plan& plan);

}  // namespace tilepost
