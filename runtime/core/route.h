// The checks of tilepost_op_route that need no other rank, and the arrays that it hands back.
#pragma once

#include <memory>
#include <vector>

#include "runtime/schedule/run_map.h"
#include "tilepost/tilepost.h"

namespace tilepost {

// Checks `route` against the plan. The error names the first value that is wrong. After success
// `inputs` points into the route, and its `most` is preliminary: the number of this rank's own
// rows.
tilepost_result_t check_route(const tilepost_plan_t& plan, const tilepost_route_t& route,
                              RouteInputs& inputs);

// Routed rows of A: checks that every rank has room for the rows that it would receive.
// `all_counts` is that of finish_route(). It is the same on all ranks, so the result is too.
tilepost_result_t check_received(const tilepost_plan_t& plan, std::span<const int64_t> all_counts);

// The arrays of a route's tilepost_arrivals_t.
class Arrivals {
 public:
  Arrivals() = default;
  // `run`: the run of a finished route.
  Arrivals(const RunMap& run, int rank, const RouteInputs& inputs)
      : rows_(run.counts.arriving(rank)),
        rows_from_(run.counts.from_each(rank)),
        landed_(landed_rows(run, rank, inputs)) {}

  tilepost_arrivals_t view() const {
    return {sizeof(tilepost_arrivals_t), rows_, rows_from_.data(), landed_.data()};
  }

 private:
  int64_t rows_ = 0;
  std::vector<int64_t> rows_from_, landed_;
};

}  // namespace tilepost
