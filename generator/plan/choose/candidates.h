// Every combination of kernel, transport, SM budget and groups that can serve a draft, predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "generator/plan/choose/draft.h"
#include "generator/plan/transports/transports.h"
#include "runtime/schedule/groups.h"

namespace tilepost {

// One combination.
struct Candidate {
  const KernelChoice* kernel = nullptr;
  const Transport* transport = nullptr;
  int comm_ctas = 0;
  int comm_lanes = 1;
  int task_parts = 0;      // tilepost_plan_t::task_parts
  bool reads_own = false;  // tilepost_plan_t::reads_own
  bool fused = false;      // tilepost_plan_t::fused
  tilepost_shots_t shots = TILEPOST_SHOTS_NONE;
  int gemm_ctas = 0;
  GroupProblem problem = {};  // map, positions at a time, model
  int64_t waves = 0;
  std::vector<int> group_waves;  // empty with TILEPOST_DIVISION_ARRIVALS
  std::vector<int32_t> cuts;
  double end = 0;            // predicted, us
  double sequence_gemm = 0;  // the GEMM's part of `end`, us; only of candidates in sequence

  bool overlaps() const { return transport->row.overlaps; }
  // Whether there is only one group. Kernels that exchange tiles, or add them up in their epilogue,
  // do so tile by tile and need no groups. Kernels that exchange rows of A have one group for the
  // rows of other ranks. Plans for the host target have the same groups.
  bool is_one_group() const { return transport->access() == TILEPOST_ACCESS_TILES || fused; }
};

// All overlapped combinations whose groups this transport carries, each with its best groups. With
// `groups` given, only the combinations that these groups fit.
std::vector<Candidate> overlapped(const Draft& draft, const Transport& transport,
                                  const std::optional<std::vector<int>>& groups);

// Regroups an overlapped candidate that has its best groups: takes the fewest groups that end
// hardly later. Requires !is_one_group().
void merge_groups(Candidate& candidate);

// Gives an overlapped candidate the groups of these cuts, which must be possible, and their end.
void set_cuts(const std::vector<int32_t>& cuts, Candidate& candidate);

// When the candidate is predicted to end after merge_groups(), us.
double merged_end(const Candidate& candidate);

// By which fraction of its end an overlapped candidate counts as later when it is compared with
// candidates of other transports (AccuracyProfile::doubt, or 0).
double doubt_of(const Draft& draft, const Candidate& candidate);

// The whole GEMM on all SMs and one collective, if the pattern has any: one candidate per kernel.
std::vector<Candidate> in_sequence(const Draft& draft);

// The most preferred of the candidates that end first, to within the profile's noise. Of these, one
// whose GEMM is shorter by more than AccuracyProfile::hidden is taken instead. Null if there are no
// candidates.
const Candidate* best(std::span<const Candidate> candidates, const MachineProfile& profile);

// ---- Groups that a user asks for

// Waves in all groups.
int64_t total_waves(const std::vector<int>& groups);

// The most groups a schedule can be cut into. Each has at least one unit (runtime/map/cut_points.h)
// and, where tiles are stored in slot order, at least one wave. With ARRIVALS the group of the own
// share does not count.
int64_t max_groups(const tilepost_map_t& map, int at_once);

// The cuts of groups of `waves` waves each. Requires that the waves sum to schedule_waves(map,
// at_once), and no more groups than max_groups(). Every group gets at least one unit.
std::vector<int32_t> cuts_of_waves(const tilepost_map_t& map, int at_once,
                                   const std::vector<int>& waves);

// ARRIVALS: the cuts of chunks whose sizes are in the ratios of `sizes`, each of at least one unit.
// Requires no more than max_groups() chunks, all with positive sizes.
std::vector<int32_t> cuts_of_chunks(const tilepost_map_t& map, const std::vector<int>& sizes);

// ---- Why, in words: the lines that explain prints last (reasons.cpp)

// Explains transport, tile and budget of the chosen candidate, each with the predicted time of the
// next best. `overlap` and `sequence` are all candidates that were compared.
void explain_choice(Draft& draft, const std::vector<Candidate>& overlap,
                    const std::vector<Candidate>& sequence, const Candidate& chosen);

// Explains the number of groups. `finest` is the same candidate with the groups that end first.
void explain_groups(Draft& draft, const Candidate& finest, const Candidate& chosen);

}  // namespace tilepost
