// Ranks that compute numbered elements and carry out steps on them one element at a time: an oracle
// for maps, routes and steps. It has its own code for what every pattern promises, and shares only
// the tile tables and steps themselves with what it judges.
#pragma once

#include <string>
#include <vector>

#include "runtime/map/patterns.h"
#include "runtime/map/steps.h"
#include "tests/exhaustive/numbers.h"

namespace tilepost::test {

// One problem on all ranks. With a route ranks may have different numbers of rows. Where rows of A
// are routed, `m` is the most that a rank sends.
struct World {
  tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE;
  tilepost_routing_t routing = TILEPOST_ROUTING_EVEN;
  tilepost_layout_t layout = TILEPOST_PANEL;
  tilepost_division_t division = TILEPOST_DIVISION_ROWS;
  int ranks = 1;
  int64_t m = 1, n = 1, k = 2;
  // Where rows of A are routed: the most that a rank gets; 0: the rows of all ranks.
  int64_t most = 0;
  int tile_m = 1, tile_n = 1, cluster = 1, band = 1;
  bool overlaps = true;
  tilepost_access_t access = TILEPOST_ACCESS_MESSAGES;
  int stagger = 0;
  bool pushes = false;
  std::vector<int32_t> cuts;
  // Where rows are routed: for each rank, how many rows go to each rank, or where each of its rows
  // goes.
  std::vector<std::vector<int64_t>> splits;
  std::vector<std::vector<int32_t>> destinations;

  const PatternRow& row() const { return row_of(pattern); }
  // Whether rows of A are gathered and then multiplied.
  bool gathers() const { return row().moves_input(); }
  bool has_shares() const { return row().has_shares(access); }
  int64_t share() const { return (m + ranks - 1) / ranks; }
  // The number of rows in the rank's share.
  int64_t own_rows(int rank) const;
  // The most rows that any rank may multiply, for which the map of all ranks is made.
  int64_t most_rows() const;
  // The rank that gets row `row` of `source`.
  int destination(int source, int64_t row) const;
  // The number of rows of the rank's product or, where rows of A are routed, of its A.
  int64_t rows(int rank) const;
  // A range of the gathered rows of A.
  struct Piece {
    int64_t first, rows;
    bool has(int64_t row) const { return row >= first && row < first + rows; }
  };
  struct Input {
    // [ranks][ranks]: the piece of a rank's gathered rows that comes from another rank.
    std::vector<std::vector<Piece>> pieces;
    std::vector<std::vector<Number>> brought;  // [ranks]: the elements of A that a rank has
    // [ranks]: the elements that it multiplies in the end.
    std::vector<std::vector<Number>> gathered;
  };
  Input input() const;
  // The recipe of all ranks. It points into `cuts`.
  tilepost_map_t map() const;

 private:
  Input routed_input() const;
};

// Plays one run on all ranks, with the groups in order. Returns "" if every rank ends with what the
// pattern promises, or else the first fault.
std::string play(const World& world);

// Describes the problem for messages.
std::string describe(const World& world);

}  // namespace tilepost::test
