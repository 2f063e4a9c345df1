// Ranks that compute numbered elements and carry out steps on them one element at a time: an oracle
// for maps, routes and steps. It knows what every pattern promises and shares no code with what it
// judges but the tile tables and steps themselves.
#pragma once

#include <string>
#include <vector>

#include "runtime/map/patterns.h"
#include "runtime/map/steps.h"
#include "tests/exhaustive/numbers.h"

namespace tilepost::test {

// One problem on all ranks. With a route ranks may have different numbers of rows. m: where rows of
// A are routed, those that a rank sends at most.
struct World {
  tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE;
  tilepost_routing_t routing = TILEPOST_ROUTING_EVEN;
  tilepost_layout_t layout = TILEPOST_PANEL;
  tilepost_division_t division = TILEPOST_DIVISION_ROWS;
  int ranks = 1;
  int64_t m = 1, n = 1, k = 2;
  int64_t most = 0;  // where rows of A are routed: what a rank gets at most; 0: of all ranks' rows
  int tile_m = 1, tile_n = 1, cluster = 1, band = 1;
  bool overlaps = true;
  tilepost_access_t access = TILEPOST_ACCESS_MESSAGES;
  int stagger = 0;
  bool pushes = false;
  std::vector<int32_t> cuts;
  // Routed: [ranks] each rank's rows per destination, or destinations of its rows.
  std::vector<std::vector<int64_t>> splits;
  std::vector<std::vector<int32_t>> destinations;

  const PatternRow& row() const { return row_of(pattern); }
  // Whether rows of A come together and are then multiplied.
  bool gathers() const { return row().moves_input(); }
  bool has_shares() const { return row().has_shares(access); }
  int64_t share() const { return (m + ranks - 1) / ranks; }
  // Rows of the rank's share.
  int64_t own_rows(int rank) const;
  // Rows that any rank may multiply: what the map of all ranks is for.
  int64_t most_rows() const;
  // Where row `row` of source's goes.
  int destination(int source, int64_t row) const;
  // Rows of the rank's product or, where they are routed, of its A.
  int64_t rows(int rank) const;
  // Where rows of A come together.
  struct Piece {
    int64_t first, rows;
    bool has(int64_t row) const { return row >= first && row < first + rows; }
  };
  struct Input {
    // [ranks][ranks] where the rows lie on a rank that come from another: in one piece.
    std::vector<std::vector<Piece>> pieces;
    std::vector<std::vector<Number>> brought;   // [ranks] the elements of A that a rank has
    std::vector<std::vector<Number>> gathered;  // [ranks] and those that it multiplies in the end
  };
  Input input() const;
  // The recipe of all ranks; points into `cuts`.
  tilepost_map_t map() const;

 private:
  Input routed_input() const;
};

// Plays one run on all ranks, groups in their order; "" if every rank ends with what the pattern
// promises, else what went wrong first.
std::string play(const World& world);

// What it is, for messages.
std::string describe(const World& world);

}  // namespace tilepost::test
