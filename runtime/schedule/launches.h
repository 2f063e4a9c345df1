// Groups of arrivals where the GEMM is launched once for each of them, behind the collective that
// brings its rows (Waits::launches): when they end, and where they best are.
//
// Built without floating-point contraction, as groups.h.
#ifndef TILEPOST_LAUNCHES_H
#define TILEPOST_LAUNCHES_H

#include <cstdint>
#include <vector>

#include "runtime/map/cut_points.h"
#include "runtime/schedule/cuts.h"
#include "runtime/schedule/groups.h"

namespace tilepost {

// What a launch of so many positions takes: it has a last wave of its own, reads all of B and its
// rows of A; us. 0 for none, which is not launched.
double launch_us(const GroupProblem& problem, int64_t positions);

// When the last launch ends; us. `own`: positions that wait for no other rank, which are launched
// first. Groups end at `points`.
double end_of_launches(const GroupProblem& problem, int64_t own,
                       const std::vector<CutPoint>& points);

// The fewest groups, at least 1 and at most `most` besides the own rows, that end at most a part
// `slack` later than those that end first: an exact dynamic programme over the points and the
// number of groups. What `ends` has are indices of `points`; `end` is that of the last launch.
CutChoice best_launches(const GroupProblem& problem, int64_t own,
                        const std::vector<CutPoint>& points, double slack, int most);

}  // namespace tilepost

#endif  // TILEPOST_LAUNCHES_H
