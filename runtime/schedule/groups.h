// Chooses the groups of a schedule with the model that a plan carries. The planner does this, and
// so does a run whose number of rows is known only at run time.
//
// This code is built without floating-point contraction, so that the answer is the same on every
// rank and every machine.
#ifndef TILEPOST_GROUPS_H
#define TILEPOST_GROUPS_H

#include <cstdint>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost {

// How a run of `m` rows is scheduled.
struct RunSchedule {
  bool overlaps = false;  // whether the GEMM and the communication overlap. If not, there is one
                          // group: the whole GEMM, then one collective (plans with ARRIVALS: the
                          // collective, then the GEMM)
  tilepost_division_t division = TILEPOST_DIVISION_ROWS;
  std::vector<int32_t> cuts;  // as tilepost_map_t::cuts
  int32_t gemm_ctas = 0;      // the grid of the GEMM
};

// The schedule of a run in which `m` rows are multiplied. Requires 1 <= m <= plan.map.m. An m other
// than plan.map.m requires rows_vary(plan). The schedule has no more groups than plan.map. For
// plan.map.m its groups are the plan's own.
RunSchedule schedule_for(const tilepost_plan_t& plan, int64_t m);

// How many of `gemm_ctas` CTAs can be busy in a launch of `positions` positions of the schedule.
int32_t launch_ctas(const tilepost_plan_t& plan, int32_t gemm_ctas, int32_t positions);

// ---- Functions that the planner and schedule_for share

// A schedule whose groups are to be chosen.
struct GroupProblem {
  tilepost_map_t map;  // the tile map; its cuts are not read
  int at_once;         // how many positions are computed at a time
  int64_t unit_bytes;  // bytes per element of the send buffer; ARRIVALS: per row of A
  tilepost_model_t model;
  bool launches = false;  // whether the GEMM is launched for each group (ARRIVALS, Waits::launches)
};

struct Groups {
  std::vector<int32_t> cuts;  // as tilepost_map_t::cuts
  std::vector<int> waves;     // the number of waves of each group; ARRIVALS: empty
  double end = 0;             // when the last collective, or the GEMM, ends; us
};

// The groups that end first. With round_robin, only chunks that are whole shares or equal parts of
// shares are considered, because larger copies are faster. An AllGather of 8192 x 4096 x 3584 on
// four ranks is fastest with one chunk for each share: 327 us, against 330 to 332 us with more
// chunks and 394 us with one.
Groups best_groups(const GroupProblem& problem);

// The fewest groups that end at most a part model.slack later than those of best_groups. There are
// at most `most` groups. With ARRIVALS `most` is at least 2, and the first group is the own share.
Groups fewest_groups(const GroupProblem& problem, int most);

// The groups for models without times (model.wave is 0): a group of one wave, then up to three
// groups of equal length, so that small problems have groups too. There are at most `most` groups.
Groups even_groups(const GroupProblem& problem, int most);

// When a schedule with `cuts` ends; us.
double end_of_groups(const GroupProblem& problem, const std::vector<int32_t>& cuts);

// When the first `positions` positions are computed, if their tiles wait for nothing; us.
double computed_us(const GroupProblem& problem, int64_t positions);

// When a run without overlap ends; us. The collective and the whole GEMM follow each other, and
// each has the GPU to itself. `problem` is that of the overlapped schedule.
double sequence_us(const GroupProblem& problem, int sequence_at_once);
// The time of the GEMM in a run without overlap; us.
double sequence_gemm_us(const GroupProblem& problem, int sequence_at_once);

// Whether overlap is worth it. Overlap has certain costs, so it must win by more than the model's
// error. That error is a part `margin` of the sequence's time.
bool overlap_pays(double overlapped_us, double sequence_us, double margin);

}  // namespace tilepost

#endif  // TILEPOST_GROUPS_H
