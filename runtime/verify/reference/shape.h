// What one run asks of every rank: rows, routes, and which row of the product ends where. Written
// from the description of the patterns (tilepost.h), not with the runtime's code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/verify/reference/reference.h"
#include "tilepost/tilepost.h"

namespace tilepost::verify {

// Where the rows of a routed run go.
enum class Spread { random, all_to_one, some_empty, even };

class RunShape {
 public:
  RunShape() = default;
  // m: rows of all ranks (all_gather_gemm) or of each rank; where a route says the number of rows,
  // the others' are random and at most m. Destinations follow from the seed.
  RunShape(const Problem& problem, int64_t m, Spread spread, uint64_t seed);

  int64_t m() const { return m_; }
  // Rows of rank's product.
  int64_t rows(int rank) const { return rows_[rank]; }
  // Rows of A that rank brings along.
  int64_t a_rows(int rank) const;
  // Rows of out on rank.
  int64_t out_rows(int rank) const;
  // Rows of out on rank that come from source (gemm_all_to_all).
  int64_t rows_from(int rank, int source) const { return rows_from_[rank][source]; }

  // The row of rank's out that row `row` of source's product becomes; -1: another rank gets it. Of
  // patterns where every rank has all rows it compares with, source is any.
  int64_t out_row(int rank, int source, int64_t row) const;

  // A rank's share: ceil(m / ranks) rows from own_begin on, the last ranks what is left.
  int64_t share() const { return (m_ + ranks_ - 1) / ranks_; }
  int64_t own_begin(int rank) const;
  int64_t own_rows(int rank) const;

  // What tilepost_op_route takes, of routed problems.
  const std::vector<int64_t>& splits(int rank) const { return splits_[rank]; }
  const std::vector<int32_t>& destinations(int rank) const { return destinations_[rank]; }
  // Checks what tilepost_op_route hands back; "" if it is right.
  std::string wrong_arrivals(int rank, const tilepost_arrivals_t& arrivals) const;

 private:
  void send_rows(Spread spread, tilepost_routing_t routing, uint64_t seed);
  void land_rows();

  tilepost_pattern_t pattern_ = TILEPOST_GEMM;
  int ranks_ = 1;
  int64_t m_ = 0;
  std::vector<int64_t> rows_;                       // [ranks]
  std::vector<std::vector<int32_t>> destinations_;  // gemm_all_to_all: [ranks][rows]
  std::vector<std::vector<int64_t>> splits_;        // [ranks][ranks] rows to each rank
  std::vector<std::vector<int64_t>> landed_;        // [ranks][rows] row of the destination's out
  std::vector<std::vector<int64_t>> rows_from_;     // [ranks][ranks]
};

// The runs of one check.
struct RunList {
  std::vector<int64_t> m;  // of run i, i modulo the length
  int count;               // runs
  int at_once;             // so many consecutive runs have one route and are started back to back
};

// `asked`: numbers of rows from the command line; empty: those at which tiles and shares end.
RunList list_runs(const Problem& problem, const std::vector<int64_t>& asked, int runs);

// The shape of run `run` of the list.
RunShape shape_of(const Problem& problem, const RunList& list, int run, uint64_t seed);

}  // namespace tilepost::verify
