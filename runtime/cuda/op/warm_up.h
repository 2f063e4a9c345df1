// Runs collectives once before a run needs them. On first use of each kind and size NCCL makes its
// connections, buffers and kernels, and waits for the device.
#pragma once

#include <string>

#include "runtime/cuda/op/communication.h"
#include "runtime/cuda/op/routes.h"

namespace tilepost::cuda {

class WarmUp {
 public:
  // All arguments outlive this object.
  WarmUp(const OpBase& base, const GroupWaits& waits, const Routes& routes)
      : plan_(base.plan),
        paths_(base.paths),
        transports_(base.transports),
        state_(base.state),
        lanes_(base.lanes),
        buffers_(base.buffers),
        waits_(waits),
        routes_(routes) {}

  // Runs the collectives that the plan's runs will need, on the communication stream and on every
  // lane, and waits for them within the deadline. `planned` is the map of the plan's own m, or an
  // empty one for a routed plan. Collective.
  tilepost_result_t run(const char* program, DeviceMap& planned) const;

 private:
  tilepost_result_t run_with(const char* program, DeviceMap& planned, void* scratch) const;
  tilepost_result_t run_groups(const RunMap* planned, void* scratch) const;
  tilepost_result_t run_shared(void* scratch) const;
  tilepost_result_t finish(const char* program) const;
  int64_t most_sent() const;
  int64_t scratch_bytes(const RunMap* planned) const;

  const tilepost_plan_t& plan_;
  const RunPaths& paths_;
  const Transports& transports_;
  RunState& state_;
  const Lanes& lanes_;
  const OpBuffers& buffers_;
  const GroupWaits& waits_;
  const Routes& routes_;
};

}  // namespace tilepost::cuda
