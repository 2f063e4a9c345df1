// Checks of a run's arguments that the plan alone does not allow (runtime/core/operands.h): where
// the arguments lie, and on which device.
#pragma once

#include <array>

#include "runtime/core/operands.h"
#include "runtime/cuda/device/device.h"
#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

class RunCheck {
 public:
  // All arguments outlive this object.
  RunCheck(const DeviceInfo& device, const Driver& driver) : device_(device), driver_(driver) {}

  // Checks the operands that the run reads and writes, and that the stream is of the right device
  // and has all of its SMs. The error names the first argument that is wrong.
  tilepost_result_t check(const RunOperands& operands, cudaStream_t stream,
                          cudaStreamCaptureStatus capture);

  // The parts of check(): that the argument `name` is memory of the device, and that the stream is
  // as said above, where it is not being captured.
  tilepost_result_t check_pointer(const char* name, const void* pointer);
  tilepost_result_t check_stream(cudaStream_t stream, cudaStreamCaptureStatus capture);

 private:
  tilepost_result_t check_new_stream(cudaStream_t stream) const;

  const DeviceInfo& device_;
  const Driver& driver_;
  // Pointers that have passed check_pointer, each in the place that its bits give it. The layers of
  // a model that share an operation have some hundred.
  std::array<const void*, 1024> checked_{};
  unsigned long long checked_stream_ = 0;  // cudaStreamGetId of the last that has passed; 0: none
};

}  // namespace tilepost::cuda
