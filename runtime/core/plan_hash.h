// What ranks must have in common to run an operation together.
#pragma once

#include <cstdint>

#include "tilepost/plan.h"

namespace tilepost {

// FNV-1a over everything in a plan that decides what its ranks exchange: the problem, the schedule,
// by what runs with other numbers of rows choose theirs, who moves what, and in which pieces. Not
// over the rest of the kernel, which may be another one on another GPU.
uint64_t hash_plan(const tilepost_plan_t& plan);

// A word of a hash: both halves count.
constexpr uint32_t folded(uint64_t hash) {
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

// What an operation's runs are in memory that it may share with others; `operation`: its number,
// the same on all ranks. Operations of one plan are told apart too: no two numbers make the same
// word of it.
constexpr uint32_t word_of_plan(uint64_t plan_hash, uint64_t operation) {
  return folded(plan_hash) ^ static_cast<uint32_t>(operation);
}

}  // namespace tilepost
