// The parts of an operation that the objects which carry out its runs have in common.
#pragma once

#include "runtime/core/object.h"
#include "runtime/cuda/op/buffers.h"
#include "runtime/cuda/op/run.h"
#include "runtime/cuda/op/state/run_state.h"
#include "runtime/cuda/op/state/run_timeline.h"
#include "runtime/cuda/watch/nvtx.h"

namespace tilepost::cuda {

// All members outlive the objects that get them.
struct OpBase {
  const tilepost_plan_t& plan;
  const RunPaths& paths;  // the plan's paths
  const Driver& driver;
  Transports& transports;  // owns the memory that ranks share
  RunState& state;         // owns the counters
  const Lanes& lanes;
  OpBuffers& buffers;
  const NvtxNames& nvtx;
  RunTimeline& timeline;
  tilepost_expert_routing* routing;  // whose tables runs read; null if none do
};

}  // namespace tilepost::cuda
