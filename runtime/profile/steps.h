// What is measured, in steps. A step can be repeated or left out by itself: `tilepost profile`
// leaves out those that an interrupted measurement has already ended.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/bench/gpu/machine.h"
#include "runtime/profile/registry.h"

namespace tilepost::profile {

// What all steps share.
struct Context {
  const bench::Machine& machine;
  const bench::Nvml& nvml;
  Work work;
  bool may_reach = true;        // whether ranks may touch each other's memory where they can
  std::function<void()> alive;  // called at least every few seconds
};

struct Step {
  std::string name;
  double seconds;  // about how long it takes, for progress
  std::function<void()> measure;
};

// All steps for the machine, in order.
std::vector<Step> steps_for(const Context& context);

// ---- One function for each kind of step. Each prints records (measure.cpp) and throws BenchError.

// GPU 0 alone: clock, memory, sums, clusters.
void measure_chip(const Context& context);
// Products [first, last) of Work::cool, on GPU 0.
void measure_cool(const Context& context, int first, int last);
void measure_sustained(const Context& context);
// What waiting for a counter takes, on GPU 0.
void measure_waits(const Context& context);
// Copies between GPU 0 and pinned host memory; then on all `gpus` GPUs at once.
void measure_host_copies(const Context& context, int gpus);
// From one GPU through host memory to another, both ways at once, for each of the pairs.
void measure_host_paths(const Context& context);

// NCCL's collective of this name on the first `ranks` GPUs: alone, beside a GEMM, and out of
// symmetric windows.
void measure_collective(const Context& context, const std::string& name, int ranks);
void measure_beside(const Context& context, const std::string& name, int ranks);
void measure_symmetric(const Context& context, const std::string& name, int ranks);
// A GEMM and a collective in turns.
void measure_relief(const Context& context);

// Which pairs of GPUs reach each other's memory, and how fast copy engines and kernels are.
void measure_pairs(const Context& context);
void measure_copies(const Context& context, int ranks);
void measure_stores(const Context& context, int ranks);
void measure_copies_beside(const Context& context, int ranks);

}  // namespace tilepost::profile
