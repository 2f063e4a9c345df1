// Measures the whole operation on all ranks beside what it replaces (sequence.h).
#pragma once

#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"

namespace tilepost::bench {

// Why the operation cannot be measured from end to end here, or "".
std::string overlap_obstacle(const tilepost_plan_t& plan, const Machine& machine);

// Runs one thread for each GPU. Prints check, note and sample records of three modes:
//
// "overlap": in every round ours, the sequence and the sequence's parts run once each, in a new
//   random order, after L2 has been flushed. All ranks leave a gate together, and the time is that
//   of the slowest rank.
// "steady": ours and the sequence run several times back to back. The time is that of one run.
// "graph", for few rows only: the same as "overlap", but each replays a CUDA graph of several runs.
//   The time is that of one run.
//
// Returns false, and prints no times, if a result was wrong. Throws BenchError.
bool bench_overlap(const Entry& entry, const tilepost_plan_t& plan, const Session& session);

}  // namespace tilepost::bench
