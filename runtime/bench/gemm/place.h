// The places of a product's elements: where a plan's kernel stores them, and where its collectives
// leave them.
#pragma once

#include <span>
#include <vector>

#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/gpu/kernels.h"
#include "runtime/schedule/run_map.h"

namespace tilepost::bench {

// A Place with the memory that it points to. Without `rows` the place is row-major. Throws
// BenchError.
class PlaceTable {
 public:
  PlaceTable() = default;
  // `rows` are those of Place::rows, and `length` is Place::length.
  PlaceTable(const std::vector<int32_t>& rows, int tile_n, int length);

  Place place() const { return {static_cast<const int32_t*>(rows_.get()), tile_n_, length_}; }

 private:
  cuda::DeviceMemory rows_;
  int tile_n_ = 1, length_ = 0;
};

// The places where the run's kernel stores its output.
PlaceTable kernel_place(const RunMap& run);

// The places of the elements of out after a run with the plan's m. `rows_from` is [ranks], the
// number of rows that come from each rank, if the result consists of routed rows. Otherwise it is
// empty.
PlaceTable out_place(const tilepost_plan_t& plan, std::span<const int64_t> rows_from);

}  // namespace tilepost::bench
