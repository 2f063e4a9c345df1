// What the ranks of an operation must have in common where they meet, and the words for what they
// have not: the same for every target.
#pragma once

#include <cstdint>
#include <string>

#include "tilepost/plan.h"

namespace tilepost {

struct RunMap;

// Calls in which ranks meet.
enum class Meeting { run, route, registration };

// One rank's call as the others must have made it too.
struct RunTerms {
  const char* program = "";  // its name
  uint64_t operation = 0;    // from 1: which of the rank's operations, in the order they were made
  uint64_t plan = 0;         // hash_plan
  Meeting call = Meeting::run;
  uint64_t number = 0;    // from 1: of the operation's calls of this kind
  bool routed = false;    // a route decides the rows; m is not looked at
  int64_t m = 0;          // rows of the run
  bool any_m = false;     // runs of the operation differ in m
  uint64_t schedule = 0;  // RunMap::schedule_hash; 0 where it is no run
  bool overlaps = false;  // RunMap::overlaps
  uint32_t output = 0;    // number of the registered buffer that is the run's out, into which other
                          // ranks store; 0: none is
};

// The terms of run `number` of an operation whose plan has this hash.
RunTerms terms_of_run(const char* program, uint64_t operation, const tilepost_plan_t& plan,
                      uint64_t plan_hash, uint64_t number, const RunMap& run);

// What to do where ranks make other calls.
constexpr const char* kSameOrder = "; every rank must make the same calls in the same order";

// "run 3 of 'attn_out'", "run 3 of 'attn_out' with m = 100", "route 2 of 'experts'",
// "registration 1 of 'mlp'".
std::string name_of(const RunTerms& terms);

// What `rank` and `other` do not have in common, the first that explains the rest: ranks, values
// and what to do. Empty where the terms are equal.
std::string difference(int rank, const RunTerms& terms, int other, const RunTerms& other_terms);

// The same of runs of one operation, without its name: of `m`, `schedule`, `overlaps` and
// `output`.
std::string run_difference(int rank, const RunTerms& terms, int other, const RunTerms& other_terms);

// The same of plans alone, where ranks compare nothing else.
std::string plan_difference(int rank, uint64_t plan_hash, int other, uint64_t other_plan_hash);

}  // namespace tilepost
