// A product that is launched again and again, with operands of its own.
#pragma once

#include <memory>

#include "runtime/bench/gemm/gemm.h"
#include "runtime/profile/registry.h"

namespace tilepost::profile {

// The kernel's plan for another product.
tilepost_plan_t plan_for(const Work& work, const Gemm& gemm);

class GemmRunner {
 public:
  // Makes operands of normal random numbers on the current device. The kernel runs on as many
  // whole clusters as `ctas` CTAs are.
  GemmRunner(const Work& work, Gemm gemm, int ctas, const cuda::DeviceInfo& device,
             cudaStream_t stream);

  void launch(int call) const { gemm_->launch(call % operands_->count(), stream_); }
  cudaStream_t stream() const { return stream_; }

 private:
  const cudaStream_t stream_;
  const tilepost_plan_t plan_;
  std::unique_ptr<bench::Operands> operands_;
  std::unique_ptr<bench::Gemm> gemm_;
};

}  // namespace tilepost::profile
