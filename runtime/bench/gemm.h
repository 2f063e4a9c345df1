// Our kernels on one GPU, without any communication: the woven one with real counters that nobody
// waits for, and the plain one.
#pragma once

#include <vector>

#include "runtime/bench/operands.h"
#include "runtime/bench/registry.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/schedule.h"

namespace tilepost::bench {

// The schedule and the counters of a woven kernel.
class Signals {
 public:
  Signals(const char* program, const tilepost_plan_t& plan);

  tilepost_view_t view() const;
  // Where the woven kernel puts its output.
  Place place() const;
  // Elements that it writes, padding included.
  int64_t out_elements() const { return schedule_.map.send_elements; }
  // How many counters do not read what so many launches must have posted.
  int count_wrong(uint32_t launches) const;

 private:
  const tilepost_plan_t& plan_;
  cuda::Schedule schedule_;
  cuda::DeviceMemory counters_, rows_;
};

// Whether the plain kernel can write a row-major output with the plan's stores: a plan for the tile
// layout may count on slots whose rows are aligned.
bool serves_rows(const tilepost_plan_t& plan);

// The plan as the plain kernel serves it: its function, a row-major output.
tilepost_plan_t plain_plan(const tilepost_plan_t& plan, const PlainKernel& plain);

// One kernel, ready to be launched on every set of operands.
class Gemm {
 public:
  Gemm(const tilepost_plan_t& plan, const cuda::DeviceInfo& device, const Operands& operands,
       int64_t out_elements, const tilepost_view_t& view);
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  void launch(int set, cudaStream_t stream) const;

 private:
  const tilepost_plan_t plan_;
  std::vector<cuda::GemmArguments> arguments_;  // per set
  std::vector<cuda::TensorMaps> maps_;          // per set
};

}  // namespace tilepost::bench
