// The groups of a schedule by the model that a plan carries: for the planner, and for a run whose
// number of rows is known at run time only.
//
// Built without floating-point contraction: the same answer on every rank and every machine.
#ifndef TILEPOST_GROUPS_H
#define TILEPOST_GROUPS_H

#include <cstdint>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost {

// How a run of `m` rows is scheduled.
struct RunSchedule {
  bool overlaps = false;  // if not: one group, the whole GEMM, then one collective (ARRIVALS plans:
                          // the collective, then the GEMM)
  tilepost_division_t division = TILEPOST_DIVISION_ROWS;
  std::vector<int32_t> cuts;  // as tilepost_map_t::cuts
  int32_t gemm_ctas = 0;      // grid of the GEMM
};

// `m`: rows that are multiplied. Requires 1 <= m <= plan.map.m, and rows_vary(plan) for another
// than plan.map.m. Never more groups than plan.map has; for plan.map.m the plan's own.
RunSchedule schedule_for(const tilepost_plan_t& plan, int64_t m);

// Of these CTAs, those that a launch of so many positions of the schedule has use for.
int32_t launch_ctas(const tilepost_plan_t& plan, int32_t gemm_ctas, int32_t positions);

// ---- What the planner and schedule_for share

// A schedule without its groups.
struct GroupProblem {
  tilepost_map_t map;  // its cuts are not looked at
  int at_once;         // positions computed at a time
  int64_t unit_bytes;  // bytes per element of the send buffer; ARRIVALS: per row of A
  tilepost_model_t model;
  bool launches = false;  // ARRIVALS: the GEMM is launched for each group (Waits::launches)
};

struct Groups {
  std::vector<int32_t> cuts;  // as tilepost_map_t::cuts
  std::vector<int> waves;     // of each group; ARRIVALS: empty
  double end = 0;             // when the last collective, or the GEMM, ends; us
};

// The groups that end first. ARRIVALS in turns: of those whose chunks are shares, or equal parts of
// them, for copies are the faster the larger they are. AllGather of 8192 x 4096 x 3584 on four
// ranks took 327 us in three chunks, a share each, 330 and 332 in four and six, 394 in one.
Groups best_groups(const GroupProblem& problem);

// The fewest groups that end at most model.slack of best_groups' time later, and no more than
// `most` (ARRIVALS: at least 2, the first of which is the own share).
Groups fewest_groups(const GroupProblem& problem, int most);

// Where nothing is timed (model.wave is 0): one wave, then up to three groups of equal length, so
// that small problems have groups too; no more than `most`.
Groups even_groups(const GroupProblem& problem, int most);

// When groups with these cuts end; us.
double end_of_groups(const GroupProblem& problem, const std::vector<int32_t>& cuts);

// When the first `positions` positions are computed, if nothing is waited for; us.
double computed_us(const GroupProblem& problem, int64_t positions);

// When the collective and the whole GEMM end one after the other, each with the GPU to itself; us.
// `problem` is that of the overlapped schedule.
double sequence_us(const GroupProblem& problem, int sequence_at_once);

// Whether overlap is worth it: it must win by more than the model's error, a part `margin` of the
// sequence, since what it loses is certain.
bool overlap_pays(double overlapped_us, double sequence_us, double margin);

}  // namespace tilepost

#endif  // TILEPOST_GROUPS_H
