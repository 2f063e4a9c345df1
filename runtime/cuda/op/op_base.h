// What the objects that carry out an operation's runs have in common.
#pragma once

#include "runtime/cuda/op/buffers.h"
#include "runtime/cuda/op/run.h"
#include "runtime/cuda/op/state/run_state.h"

namespace tilepost::cuda {

// All of it outlives the objects that are given it.
struct OpBase {
  const tilepost_plan_t& plan;
  const RunPaths& paths;  // of the plan
  const Driver& driver;
  Transports& transports;  // own what ranks share
  RunState& state;         // owns the counters
  const Lanes& lanes;
  OpBuffers& buffers;
};

}  // namespace tilepost::cuda
