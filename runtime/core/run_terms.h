// What the ranks of an operation must have in common where they meet, and the error texts for what
// differs. This is the same for every target.
#pragma once

#include <cstdint>
#include <string>

#include "tilepost/plan.h"

namespace tilepost {

struct RunMap;

// The kinds of call in which ranks meet.
enum class Meeting { run, route, registration };

// One rank's call. The other ranks must have made the same call.
struct RunTerms {
  const char* program = "";  // its name
  uint64_t operation = 0;    // which of the rank's operations, from 1 in the order they were made
  uint64_t plan = 0;         // hash_plan
  Meeting call = Meeting::run;
  uint64_t number = 0;    // counts the operation's calls of this kind, from 1
  bool routed = false;    // a route decides the rows, and m is not compared
  int64_t m = 0;          // rows of the run
  bool any_m = false;     // runs of the operation differ in m
  uint64_t schedule = 0;  // RunMap::schedule_hash; 0 where it is no run
  bool overlaps = false;  // RunMap::overlaps
  uint32_t output = 0;    // number of the registered buffer, into which other ranks store, that is
                          // the run's out; 0: out is not registered
};

// The terms of run `number` of an operation whose plan has this hash.
RunTerms terms_of_run(const char* program, uint64_t operation, const tilepost_plan_t& plan,
                      uint64_t plan_hash, uint64_t number, const RunMap& run);

// What to do where ranks have made different calls.
constexpr const char* kSameOrder = "; every rank must make the same calls in the same order";

// "run 3 of 'attn_out'", "run 3 of 'attn_out' with m = 100", "route 2 of 'experts'",
// "registration 1 of 'mlp'".
std::string name_of(const RunTerms& terms);

// A text about the first difference between the terms of `rank` and `other` that explains the rest.
// It has the ranks, the values and what to do. It is empty if the terms are equal.
std::string difference(int rank, const RunTerms& terms, int other, const RunTerms& other_terms);

// As difference(), for two runs of one operation, without its name. Compares `m`, `schedule`,
// `overlaps` and `output`.
std::string run_difference(int rank, const RunTerms& terms, int other, const RunTerms& other_terms);

// As difference(), for plans alone, where ranks compare nothing else. The hashes must differ.
std::string plan_difference(int rank, uint64_t plan_hash, int other, uint64_t other_plan_hash);

}  // namespace tilepost
