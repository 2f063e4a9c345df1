// All that choose_schedule compares, and the few candidates that are worth measuring.
#pragma once

#include <vector>

#include "generator/plan/choose/candidates.h"
#include "generator/plan/pick.h"

namespace tilepost {

// The candidates of a draft, each with its best groups or those that the spec asks for.
struct Choices {
  std::vector<Candidate> overlap, sequence;
  bool asks_groups = false;  // whether the spec asks for groups
  bool may_follow = true;    // whether communication may follow the GEMM
};

// The features of a candidate; its pace is left to the planner.
Pick pick_of(const Candidate& candidate);

// Makes the candidate of `draft.picked` the chosen one. Where the spec asks for something else, or
// no candidate is like that, reports why the pick is not used, and returns false.
bool take_pick(Draft& draft, const Choices& choices, Candidate& chosen);

// The candidates that are worth measuring, at most `most`, all distinct: `chosen` first, which has
// its final groups, then the best of each transport, then those with the earliest predicted ends
// (promising.cpp).
std::vector<Pick> promising(const Draft& draft, const Choices& choices, const Candidate& chosen,
                            size_t most);

}  // namespace tilepost
