// Groups of arrivals where the GEMM is launched once for each group, behind the collective that
// brings the group's rows (Waits::launches). These functions compute when such groups end, and
// which groups are best.
//
// This code is built without floating-point contraction, like groups.h.
#ifndef TILEPOST_LAUNCHES_H
#define TILEPOST_LAUNCHES_H

#include <cstdint>
#include <vector>

#include "runtime/map/cut_points.h"
#include "runtime/schedule/cuts.h"
#include "runtime/schedule/groups.h"

namespace tilepost {

// The time of a launch of `positions` positions; us. The launch has a last wave of its own, and
// reads all of B and its own rows of A. A launch of no positions does not happen and takes 0.
double launch_us(const GroupProblem& problem, int64_t positions);

// When the last launch ends; us. `own`: the number of positions that wait for no other rank, which
// are launched first. The groups behind them end at `points`.
double end_of_launches(const GroupProblem& problem, int64_t own,
                       const std::vector<CutPoint>& points);

// Chooses the fewest groups that end at most a part `slack` later than the groups that end first.
// Besides the own rows there are at least 1 and at most `most` groups. The choice is found by an
// exact dynamic programme over the points and the number of groups. Its `ends` are indices of
// `points`, and its `end` is when the last launch ends; us.
CutChoice best_launches(const GroupProblem& problem, int64_t own,
                        const std::vector<CutPoint>& points, double slack, int most);

}  // namespace tilepost

#endif  // TILEPOST_LAUNCHES_H
