// The route of the runs that follow. Ranks exchange how many rows go where. Then the operation's
// map becomes that of the new route, and its memory grows if it has to.
#pragma once

#include <span>
#include <vector>

#include "runtime/core/route.h"
#include "runtime/cuda/op/device_map.h"
#include "runtime/cuda/op/op_base.h"

namespace tilepost::cuda {

class Routes {
 public:
  // All arguments outlive this object.
  Routes(const OpBase& base, const char* program, DeviceMaps& maps)
      : program_(program),
        plan_(base.plan),
        transports_(base.transports),
        state_(base.state),
        lanes_(base.lanes),
        buffers_(base.buffers),
        maps_(maps) {}

  // Allocates memory in which ranks exchange numbers, zeroed on the communication stream. Does
  // nothing unless the plan is routed.
  tilepost_result_t create();
  // Exchanges one number, so that later exchanges find NCCL ready.
  tilepost_result_t warm_up() const;

  // Sets a route that check_route() has accepted. Collective. The caller has waited until all runs
  // so far have ended. After a failure there is no route.
  tilepost_result_t set(const RouteInputs& inputs);

  // This rank's rows in the route that was set last. It is -1 before the first route, and after a
  // route that failed.
  int64_t rows() const { return rows_; }
  tilepost_arrivals_t arrivals() const { return arrivals_.view(); }

  // Adds what create() allocates for a plan, and what this object has allocated.
  static void add_needs(const tilepost_plan_t& plan, tilepost_memory_t& memory);
  void add_memory(tilepost_memory_t& memory) const;
  // Leaves the memory to the process, for after a failure from which the device has not recovered.
  void leak() {
    numbers_.leak();
    staging_.leak();
  }

 private:
  tilepost_result_t agree(const RouteInputs& inputs);
  tilepost_result_t exchange(std::span<const int64_t> own, std::vector<int64_t>& all);

  const char* const program_;
  const tilepost_plan_t& plan_;
  Transports& transports_;
  RunState& state_;
  const Lanes& lanes_;
  OpBuffers& buffers_;
  DeviceMaps& maps_;
  int64_t rows_ = -1;
  Arrivals arrivals_;
  DeviceMemory numbers_;  // the numbers that ranks exchange: this rank's, then all ranks'
  PinnedMemory staging_;  // the host's copy of these numbers
};

}  // namespace tilepost::cuda
