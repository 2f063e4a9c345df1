// Our kernels on one GPU, without any communication: the woven kernel and the plain one. The woven
// kernel raises real counters, which nothing waits for.
#pragma once

#include <memory>
#include <vector>

#include "runtime/bench/gemm/operands.h"
#include "runtime/bench/gemm/place.h"
#include "runtime/bench/registry.h"
#include "runtime/cuda/device/launch.h"

namespace tilepost::bench {

// The schedule and the counters of a woven kernel, as rank 0 has them. Routed plans get the routes
// of route.h. All that a kernel waits for has arrived before it starts.
class Signals {
 public:
  Signals(const tilepost_plan_t& plan, uint64_t seed);

  tilepost_view_t view() const;
  // The places where the woven kernel stores the elements of its output.
  Place place() const { return place_.place(); }
  // The number of elements that the kernel writes, padding included.
  int64_t out_elements() const { return run_->tiles.send_elements; }
  // The number of counters that do not have the value that `launches` launches must have given
  // them.
  int count_wrong(uint32_t launches) const;

 private:
  uint32_t posts(int group) const;

  const tilepost_plan_t& plan_;
  const std::unique_ptr<RunMap> run_;
  const PlaceTable place_;
  const cuda::DeviceMemory tiles_, positions_, row_map_, counters_;
};

// Whether the plain kernel can write a row-major output with the plan's stores. A plan for the tile
// layout may need the aligned rows that slots have.
bool serves_rows(const tilepost_plan_t& plan);

// The plan changed for the plain kernel: it has that kernel's function, and a row-major output of
// whole rows.
tilepost_plan_t plain_plan(const tilepost_plan_t& plan, const PlainKernel& plain);

// The tables by owner for a kernel that stores into other ranks' memory. Here this rank owns all
// rows.
class OwnTables {
 public:
  OwnTables(const tilepost_plan_t& plan, const cuda::Driver& driver, void* out, uint32_t* counters);
  void set(tilepost_view_t& view) const;

 private:
  cuda::DeviceMemory map_, counters_, out_;
};

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
  std::vector<cuda::GemmArguments> arguments_;  // for each set
  std::vector<cuda::TensorMaps> maps_;          // for each set
  std::vector<OwnTables> tables_;               // for each set, if the kernel stores tiles by owner
};

}  // namespace tilepost::bench
