// Groups of arrivals where the GEMM is launched once for each group, behind the collective that
// brings the group's rows (Waits::launches): when they end, and which groups are best.
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

// How long a launch of so many positions takes; us. It has a last wave of its own, and reads all of
// B and its own rows of A. A launch of no positions takes 0: it does not happen.
double launch_us(const GroupProblem& problem, int64_t positions);

// When the last launch ends; us. `own`: the number of positions that wait for no other rank, which
// are launched first. The groups behind them end at `points`.
double end_of_launches(const GroupProblem& problem, int64_t own,
                       const std::vector<CutPoint>& points);

// The fewest groups that end at most a part `slack` later than the groups that end first. There are
// at least 1 and at most `most` besides the own rows. They are found by an exact dynamic programme
// over the points and the number of groups. The choice's `ends` are indices of `points`, and its
// `end` is that of the last launch; us.
CutChoice best_launches(const GroupProblem& problem, int64_t own,
                        const std::vector<CutPoint>& points, double slack, int most);

}  // namespace tilepost

#endif  // TILEPOST_LAUNCHES_H
