// The hashes by which ranks check that they have in common what they need to run an operation
// together.
#pragma once

#include <cstdint>

#include "tilepost/plan.h"

namespace tilepost {

// FNV-1a over everything in a plan that decides what its ranks exchange: the problem, the schedule,
// the model by which runs with other numbers of rows choose their schedules, who moves what, and in
// which pieces. The rest of the kernel is not hashed, because another GPU may have another kernel.
uint64_t hash_plan(const tilepost_plan_t& plan);

// A hash folded to 32 bits, so that both halves count.
constexpr uint32_t folded(uint64_t hash) {
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

// The word, in memory that operations may share, that identifies the operation of a run.
// `operation` is the operation's number, which is the same on all ranks. Different numbers give
// different words, so operations of one plan have different words too.
constexpr uint32_t word_of_plan(uint64_t plan_hash, uint64_t operation) {
  return folded(plan_hash) ^ static_cast<uint32_t>(operation);
}

}  // namespace tilepost
