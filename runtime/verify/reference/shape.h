// The shape of one run on every rank: rows, routes, the rows of A that a rank multiplies, and where
// each row of the product ends. It is written from the description of the patterns (tilepost.h),
// without the runtime's code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/verify/reference/reference.h"
#include "tilepost/tilepost.h"

namespace tilepost::verify {

// The ways in which the rows of a routed run are spread over ranks.
enum class Spread { random, all_to_one, some_empty, even };

class RunShape {
 public:
  RunShape() = default;
  // `m`: the rows of all ranks together (all_gather_gemm) or of each rank. If a route determines
  // the number of rows, the numbers of the other ranks are random and at most m. Destinations
  // follow from the seed. If a row's rank has no room, the row goes to the next rank that has room.
  // It is left out if no rank has room.
  RunShape(const Problem& problem, int64_t m, Spread spread, uint64_t seed);

  int64_t m() const { return m_; }
  // The number of rows of the product of `rank`.
  int64_t rows(int rank) const { return rows_[rank]; }
  // The number of rows of A that `rank` brings. If rows are routed, these are the rows of its
  // route.
  int64_t a_rows(int rank) const;
  // The origins of the rows of A that `rank` multiplies. If empty, they are its own rows.
  std::span<const RowOrigin> input_rows(int rank) const;
  // The number of rows that `rank` multiplies.
  int64_t product_rows(int rank) const {
    return ends_.empty() ? rows(rank) : static_cast<int64_t>(arrived_[rank].size());
  }
  // The number of rows of out on `rank`.
  int64_t out_rows(int rank) const;
  // If tokens go to experts: how many tokens `rank` has, the ids of their experts, [tokens, top],
  // and for each of the rank's experts the row behind its last one.
  int64_t tokens(int rank) const { return static_cast<int64_t>(tokens_[rank]); }
  const std::vector<int32_t>& ids(int rank) const { return ids_[rank]; }
  const std::vector<int32_t>& ends(int rank) const { return ends_[rank]; }
  // A route is the rank of its token, and the index among the ids there.
  struct Route {
    int source;
    int64_t index;
  };
  // Returns the route that has row `row` of `rank`.
  Route route_of(int rank, int64_t row) const { return routes_[rank][static_cast<size_t>(row)]; }

  // The number of rows that `rank` gets from `source`, if rows are routed.
  int64_t rows_from(int rank, int source) const { return rows_from_[rank][source]; }

  // The row of out on `rank` that row `row` of the product of `source` becomes. It is -1 if another
  // rank gets the row. In patterns where every rank has all rows that it compares with, `source`
  // does not matter.
  int64_t out_row(int rank, int source, int64_t row) const;

  // A rank's share: ceil(m / ranks) rows from own_begin() on. The last ranks have what is left.
  int64_t share() const { return (m_ + ranks_ - 1) / ranks_; }
  int64_t own_begin(int rank) const;
  int64_t own_rows(int rank) const;
  // All m rows, share after share.
  std::span<const RowOrigin> shares() const { return shares_; }

  // The arguments of tilepost_op_route, in routed problems.
  const std::vector<int64_t>& splits(int rank) const { return splits_[rank]; }
  const std::vector<int32_t>& destinations(int rank) const { return destinations_[rank]; }
  // Checks the arrivals that tilepost_op_route hands back. Returns "" if they are right.
  std::string wrong_arrivals(int rank, const tilepost_arrivals_t& arrivals) const;

 private:
  void draw_rows(const Problem& problem, Spread spread, uint64_t seed);
  void send_rows(const Problem& problem, Spread spread, uint64_t seed);
  void land_rows();
  void share_rows();
  void draw_tokens(const Problem& problem, uint64_t seed);
  void dispatch(const Problem& problem);

  tilepost_pattern_t pattern_ = TILEPOST_GEMM;
  int ranks_ = 1;
  int64_t m_ = 0;
  std::vector<int64_t> rows_;      // [ranks]
  std::vector<RowOrigin> shares_;  // [m]
  // These are used if tokens go to experts.
  int64_t most_out_ = 0;
  std::vector<int64_t> tokens_;             // [ranks]
  std::vector<std::vector<int32_t>> ids_;   // [ranks][tokens * top]
  std::vector<std::vector<int32_t>> ends_;  // [ranks][experts of a rank]
  std::vector<std::vector<Route>> routes_;  // [ranks][rows of that rank]
  // These are used if rows are routed.
  std::vector<std::vector<int32_t>> destinations_;  // [ranks][rows of that rank]
  std::vector<std::vector<int64_t>> splits_;        // [ranks][ranks] rows to each rank
  std::vector<std::vector<int64_t>> landed_;        // [ranks][rows of that rank] the row at the
                                                    // destination
  std::vector<std::vector<int64_t>> rows_from_;     // [ranks][ranks]
  std::vector<std::vector<RowOrigin>> arrived_;     // [ranks][rows that come]
};

// The runs of one check.
struct RunList {
  std::vector<int64_t> m;  // run i has the m of element i modulo the length
  int count;               // the number of runs
  int at_once;             // how many consecutive runs have one route and are started back to back
};

// Lists the runs of a check. `asked`: the numbers of rows from the command line. If it is empty,
// the numbers are those at which tiles and shares end, and each of the `bounds` at which another
// kernel begins, with the number after it.
RunList list_runs(const Problem& problem, const std::vector<int64_t>& bounds,
                  const std::vector<int64_t>& asked, int runs);

// The shape of run `run` of the list.
RunShape shape_of(const Problem& problem, const RunList& list, int run, uint64_t seed);

}  // namespace tilepost::verify
