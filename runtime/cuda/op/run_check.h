// What has to be true of a run's arguments beyond what the plan alone asks for
// (runtime/core/operands.h): where they lie, and on which device.
#pragma once

#include <array>

#include "runtime/core/operands.h"
#include "runtime/cuda/device/device.h"
#include "runtime/cuda/device/resources.h"
#include "runtime/map/run_map.h"

namespace tilepost::cuda {

class RunCheck {
 public:
  // Both outlive this.
  RunCheck(const tilepost_plan_t& plan, const DeviceInfo& device, int rank)
      : plan_(plan), device_(device), rank_(rank) {}

  // The pointers that `epilogue` lists and a, b, out; and the stream's device. Each check names the
  // first argument that is wrong.
  tilepost_result_t check(const tilepost_run_operands_t& operands, const EpilogueOperands& epilogue,
                          cudaStream_t stream, cudaStreamCaptureStatus capture);

  // That `gathered`, if it is given, does not overlap the rows in a but in their place.
  tilepost_result_t check_gathered(const tilepost_run_operands_t& operands,
                                   const RunMap& run) const;

 private:
  tilepost_result_t check_pointer(const EpilogueOperand& operand);

  const tilepost_plan_t& plan_;
  const DeviceInfo& device_;
  const int rank_;
  std::array<const void*, 32> checked_{};  // pointers that have passed check_pointer
  int next_checked_ = 0;
};

}  // namespace tilepost::cuda
