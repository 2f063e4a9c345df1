// Checks of a run's arguments that the plan alone does not allow (runtime/core/operands.h): where
// the arguments lie, and on which device.
#pragma once

#include <array>

#include "runtime/core/operands.h"
#include "runtime/cuda/device/device.h"
#include "runtime/cuda/device/resources.h"
#include "runtime/schedule/run_map.h"

namespace tilepost::cuda {

class RunCheck {
 public:
  // All arguments outlive this object.
  RunCheck(const tilepost_plan_t& plan, const DeviceInfo& device, const Driver& driver)
      : plan_(plan), device_(device), driver_(driver) {}

  // Checks the operands that the run reads and writes, and that the stream is of the right device
  // and has all of its SMs. The error names the first argument that is wrong.
  tilepost_result_t check(const RunOperands& operands, cudaStream_t stream,
                          cudaStreamCaptureStatus capture);

  // Checks that `gathered`, if it is given, does not overlap a. It may overlap a only if a is this
  // rank's rows in their place in `gathered`.
  tilepost_result_t check_gathered(const tilepost_run_operands_t& operands,
                                   const RunMap& run) const;

 private:
  tilepost_result_t check_pointer(const RunOperand& operand);
  tilepost_result_t check_stream(cudaStream_t stream) const;

  const tilepost_plan_t& plan_;
  const DeviceInfo& device_;
  const Driver& driver_;
  std::array<const void*, 32> checked_{};  // pointers that have passed check_pointer
  int next_checked_ = 0;
};

}  // namespace tilepost::cuda
