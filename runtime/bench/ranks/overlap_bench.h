// Measures the whole operation on all ranks beside the sequence that it replaces (sequence.h).
#pragma once

#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"

namespace tilepost::bench {

// Returns why the operation cannot be measured from end to end here, or "" if it can.
std::string overlap_obstacle(const tilepost_plan_t& plan, const Machine& machine);

// Runs one thread for each GPU. Prints check, note and sample records of three modes:
//
// "overlap": In every round ours, the sequence and the sequence's parts run once each, in a new
//   random order. L2 is flushed before each run. All ranks leave a gate together, and the time is
//   that of the slowest rank.
// "steady": Ours and the sequence run several times back to back. The time is that of one run.
// "graph", for few rows only: As "overlap", but each run is the replay of a CUDA graph with several
//   runs. The time is that of one run in the graph.
//
// If a result was wrong, prints no times and returns false. Throws BenchError.
bool bench_overlap(const Entry& entry, const tilepost_plan_t& plan, const Session& session);

}  // namespace tilepost::bench
