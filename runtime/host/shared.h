// The steps of ranks that share memory, on the host target.
#pragma once

#include <cstdint>

#include "runtime/host/elements.h"
#include "runtime/map/run_path.h"
#include "runtime/map/slots.h"
#include "runtime/map/steps.h"

namespace tilepost {

// The memory that a rank brings to a run whose ranks share memory (steps.h). Elements have the
// output's type, and in `gathered` the type of A. The other ranks read send, gathered and sums, or
// push into gathered and landed. Their kernels store into slots and landed, and raise `counters`.
struct HostMemory {
  void* send;
  void* slots;
  void* sums;
  void* landed;
  InputRows gathered;
  uint32_t* counters;
};

// The arguments of one rank's steps.
struct HostSharedRun {
  const tilepost_plan_t& plan;
  const RunPath& path;
  int rank;
  Slots slots;                      // the slots of every rank
  const HostMemory* const* memory;  // [ranks]
  InputRows a;                      // this rank's rows of A
  void* received;                   // RunPath::results
  InputFormat input;
};

// Carries out one step. The caller makes announcements itself. Sums are added in fp32, in the order
// of the ranks, and rounded once. With TILEPOST_SUM_ADDED they are rounded after every addition.
void carry_out_step(const HostSharedRun& run, const Step& step);

}  // namespace tilepost
