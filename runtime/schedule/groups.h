// Chooses the groups of a schedule with the model that a plan carries. The planner does this, and
// so does a run whose number of rows is known at run time only.
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
  bool overlaps = false;  // if not: one group, the whole GEMM, then one collective (plans with
                          // ARRIVALS: the collective, then the GEMM)
  tilepost_division_t division = TILEPOST_DIVISION_ROWS;
  std::vector<int32_t> cuts;  // as tilepost_map_t::cuts
  int32_t gemm_ctas = 0;      // grid of the GEMM
};

// `m`: rows that are multiplied. Requires 1 <= m <= plan.map.m, and rows_vary(plan) for an m other
// than plan.map.m. The schedule has no more groups than plan.map; for plan.map.m they are the
// plan's own.
RunSchedule schedule_for(const tilepost_plan_t& plan, int64_t m);

// How many of these CTAs a launch of so many positions of the schedule has use for.
int32_t launch_ctas(const tilepost_plan_t& plan, int32_t gemm_ctas, int32_t positions);

// ---- What the planner and schedule_for share

// A schedule whose groups are to be chosen.
struct GroupProblem {
  tilepost_map_t map;  // its cuts are not read
  int at_once;         // positions computed at a time
  int64_t unit_bytes;  // bytes per element of the send buffer; ARRIVALS: per row of A
  tilepost_model_t model;
  bool launches = false;  // ARRIVALS: the GEMM is launched for each group (Waits::launches)
};

struct Groups {
  std::vector<int32_t> cuts;  // as tilepost_map_t::cuts
  std::vector<int> waves;     // waves of each group; ARRIVALS: empty
  double end = 0;             // when the last collective, or the GEMM, ends; us
};

// The groups that end first. With round_robin, only groups are considered whose chunks are shares
// or equal parts of shares, for copies are the faster the larger they are. An AllGather of 8192 x
// 4096 x 3584 on four ranks is fastest with one chunk for each share: 327 us, against 330 to 332
// with more chunks and 394 with one.
Groups best_groups(const GroupProblem& problem);

// The fewest groups that end at most a part model.slack later than those of best_groups. There are
// no more than `most` (ARRIVALS: at least 2, the first of which is the own share).
Groups fewest_groups(const GroupProblem& problem, int most);

// For models without times (model.wave is 0): a group of one wave, then up to three groups of equal
// length, so that small problems have groups too; no more than `most`.
Groups even_groups(const GroupProblem& problem, int most);

// When a schedule with these cuts ends; us.
double end_of_groups(const GroupProblem& problem, const std::vector<int32_t>& cuts);

// When the first `positions` positions are computed, if they wait for nothing; us.
double computed_us(const GroupProblem& problem, int64_t positions);

// When a run without overlap ends: the collective and the whole GEMM follow each other, each with
// the GPU to itself; us. `problem` is that of the overlapped schedule.
double sequence_us(const GroupProblem& problem, int sequence_at_once);
// How long the GEMM of that run takes; us.
double sequence_gemm_us(const GroupProblem& problem, int sequence_at_once);

// Whether overlap is worth it. It must win by more than the model's error, which is a part `margin`
// of the sequence, since what it loses is certain.
bool overlap_pays(double overlapped_us, double sequence_us, double margin);

}  // namespace tilepost

#endif  // TILEPOST_GROUPS_H
