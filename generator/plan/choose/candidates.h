// Every combination of kernel, transport, SM budget and groups that can serve a draft, predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/plan/draft.h"
#include "runtime/map/groups.h"

namespace tilepost {

// One combination.
struct Candidate {
  const KernelChoice* kernel = nullptr;
  tilepost_transport_t transport = TILEPOST_TRANSPORT_NCCL;
  int comm_ctas = 0;
  int comm_lanes = 1;
  int task_parts = 0;  // tilepost_plan_t::task_parts
  int gemm_ctas = 0;
  GroupProblem problem = {};  // map, positions at a time, model
  int64_t waves = 0;
  std::vector<int> group_waves;  // empty with TILEPOST_DIVISION_ARRIVALS
  std::vector<int32_t> cuts;
  double end = 0;  // predicted, us

  bool overlaps() const { return transport != TILEPOST_TRANSPORT_NONE; }
};

// Waves in all groups.
int64_t total_waves(const std::vector<int>& groups);

// All overlapped combinations whose groups this transport carries, each with its best groups; with
// `groups` given, those they fit.
std::vector<Candidate> overlapped(const Draft& draft, tilepost_transport_t transport,
                                  const std::optional<std::vector<int>>& groups);

// Regroups an overlapped candidate with its best groups into the fewest that end hardly later.
void merge_groups(Candidate& candidate);

// The whole GEMM on all SMs and one collective, if the pattern has any: one candidate per kernel.
std::vector<Candidate> in_sequence(const Draft& draft);

// The most preferred of those that end first, to within half a percent; null if there are none.
const Candidate* best(const std::vector<Candidate>& candidates);

}  // namespace tilepost
