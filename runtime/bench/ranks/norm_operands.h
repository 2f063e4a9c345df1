// The operands of the consumers rms_norm and residual_rms_norm, for the operation and for the
// sequence that it is measured against. Both use the same weight, and each has residuals of its
// own.
#pragma once

#include "runtime/bench/gpu/checked.h"
#include "tilepost/plan.h"

namespace tilepost::bench {

class NormOperands {
 public:
  // Holds nothing if the plan has no norm. `rows` is the number of rows of this rank's output.
  // Throws BenchError.
  NormOperands(const tilepost_plan_t& plan, int64_t rows);

  // Fills the weight with normal random numbers, the same on all ranks. Fills the residuals with
  // normal random numbers too.
  void fill_normal(uint64_t seed, cudaStream_t stream);
  // Sets the residuals to zero, so that the sums of squares of whole numbers are exact.
  void clear_residuals(cudaStream_t stream);

  void add_to(tilepost_run_operands_t& operands) const;
  // Normalises the sequence's rows in place.
  void normalise(void* rows, cudaStream_t stream) const;

 private:
  bool has_residual() const { return plan_.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM; }

  const tilepost_plan_t& plan_;
  const int64_t rows_;
  int sms_ = 0;
  cuda::DeviceMemory weight_;           // [n]
  cuda::DeviceMemory ours_, sequence_;  // [rows, n] the residuals
};

}  // namespace tilepost::bench
