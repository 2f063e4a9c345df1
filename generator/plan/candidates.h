// Every combination of kernel, transport, SM budget and groups that can serve a draft, predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/plan/draft.h"

namespace tilepost {

// One combination.
struct Candidate {
  const KernelChoice* kernel = nullptr;
  Transport transport = Transport::nccl;
  int comm_ctas = 0;
  int comm_lanes = 1;
  int gemm_ctas = 0;
  int at_once = 0;  // positions that they compute at a time
  int64_t waves = 0;
  std::vector<int> group_waves;
  std::vector<int32_t> cuts;
  double end = 0;  // predicted, us
};

// Waves in all groups.
int64_t total_waves(const std::vector<int>& groups);

// All overlapped combinations, each with its best groups; with `groups` given, those they fit.
std::vector<Candidate> overlapped(const Draft& draft,
                                  const std::optional<std::vector<int>>& groups);

// Regroups an overlapped candidate with its best groups into the fewest that end at most `slack` (a
// part of the whole) later.
void merge_groups(const Draft& draft, double slack, Candidate& candidate);

// The whole GEMM on all SMs, then one collective if the pattern has any: one candidate per kernel.
std::vector<Candidate> in_sequence(const Draft& draft);

// The most preferred of those that end first, to within half a percent; null if there are none.
const Candidate* best(const std::vector<Candidate>& candidates);

}  // namespace tilepost
