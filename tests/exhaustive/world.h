// Ranks that compute numbered elements and carry out steps on them one element at a time: an oracle
// for maps, routes and steps. It knows what every pattern promises and shares no code with what it
// judges but the tile tables and steps themselves.
#pragma once

#include <string>
#include <vector>

#include "runtime/map/steps.h"

namespace tilepost::test {

// One problem on all ranks. With a route ranks may have different numbers of rows.
struct World {
  tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE;
  tilepost_routing_t routing = TILEPOST_ROUTING_EVEN;
  tilepost_layout_t layout = TILEPOST_PANEL;
  tilepost_division_t division = TILEPOST_DIVISION_ROWS;
  int ranks = 1;
  int64_t m = 1, n = 1, k = 2;
  int tile_m = 1, tile_n = 1, cluster = 1, band = 1;
  bool overlaps = true;
  tilepost_access_t access = TILEPOST_ACCESS_MESSAGES;
  int stagger = 0;
  bool pushes = false;
  std::vector<int32_t> cuts;
  // Routed: [ranks] each rank's rows per destination, or destinations of its rows.
  std::vector<std::vector<int64_t>> splits;
  std::vector<std::vector<int32_t>> destinations;

  bool has_shares() const {
    return pattern != TILEPOST_GEMM &&
           (pattern != TILEPOST_GEMM_ALL_REDUCE || access != TILEPOST_ACCESS_MESSAGES);
  }
  int64_t share() const { return (m + ranks - 1) / ranks; }
  // Rows of the rank's product.
  int64_t rows(int rank) const;
  // The recipe of all ranks; points into `cuts`.
  tilepost_map_t map() const;
};

// Plays one run on all ranks, groups in their order; "" if every rank ends with what the pattern
// promises, else what went wrong first.
std::string play(const World& world);

// What it is, for messages.
std::string describe(const World& world);

}  // namespace tilepost::test
