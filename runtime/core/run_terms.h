// The terms that the ranks of an operation must have in common where they meet, and the error texts
// for terms that differ. This is the same for every target.
#pragma once

#include <cstdint>
#include <string>

#include "tilepost/plan.h"

namespace tilepost {

struct RunMap;

// The kinds of call by which ranks meet.
enum class Meeting { run, route, registration, routing };

// One rank's call. The other ranks must have made the same call.
struct RunTerms {
  const char* program = "";  // the program's name
  uint64_t operation = 0;    // the number of the operation among the rank's operations, from 1 in
                             // the order in which they were made
  uint64_t plan = 0;         // hash_plan
  Meeting call = Meeting::run;
  uint64_t number = 0;    // the number of the call among the operation's calls of this kind, from 1
  bool routed = false;    // whether a route determines the rows; if so, m is not compared
  int64_t m = 0;          // rows of the run
  bool any_m = false;     // whether runs of the operation may differ in m
  uint64_t schedule = 0;  // RunMap::schedule_hash; 0 if the call is no run
  bool overlaps = false;  // RunMap::overlaps
  uint32_t output = 0;    // the number of the registered buffer that is the run's out, into which
                          // other ranks store; 0 if out is not registered
};

// The terms of run `number` of an operation whose plan has the hash `plan_hash`.
RunTerms terms_of_run(const char* program, uint64_t operation, const tilepost_plan_t& plan,
                      uint64_t plan_hash, uint64_t number, const RunMap& run);

// The advice where ranks have made different calls.
constexpr const char* kSameOrder = "; every rank must make the same calls in the same order";

// A call as texts name it: "run 3 of 'attn_out'", "run 3 of 'attn_out' with m = 100", "route 2 of
// 'experts'", "registration 1 of 'mlp'", "set 4 of 'routing'".
std::string name_of(const RunTerms& terms);

// A text about the first difference between the terms of `rank` and `other` that explains the
// others. It has the ranks, the values and what to do. It is empty if the terms are equal.
std::string difference(int rank, const RunTerms& terms, int other, const RunTerms& other_terms);

// The text of difference() for two runs of one operation, without the operation's name. It compares
// `m`, `schedule`, `overlaps` and `output`.
std::string run_difference(int rank, const RunTerms& terms, int other, const RunTerms& other_terms);

// The text of difference() where ranks compare only their plans. The hashes must differ.
std::string plan_difference(int rank, uint64_t plan_hash, int other, uint64_t other_plan_hash);

}  // namespace tilepost
