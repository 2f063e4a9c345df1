// Measures several plans of one operation against each other, for `tilepost tune`.
#pragma once

#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"

namespace tilepost::bench {

// Takes the harness's programs as plans of one operation. Makes them all on all ranks, checks their
// results on whole numbers, then measures them in turn: in every round each plan runs once, in a
// new random order, behind a flush of L2 and a gate (rank_clock.h). Plans that are clearly slower
// leave early. Ends after HarnessOptions::seconds or rounds, or when one plan is left.
//
// Prints check, sample, failed and end records of each program, mode "tune". Returns false if a
// result was wrong or nothing could be measured. Throws BenchError.
bool tune_programs(const Registry& programs, const Session& session);

}  // namespace tilepost::bench
