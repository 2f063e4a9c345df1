// Launches one of the user's own kernels as its author launches it, to compare the woven kernel
// with it.
#pragma once

#include "runtime/bench/gemm/operands.h"
#include "runtime/bench/gpu/checked.h"
#include "runtime/harness/plain_launch.h"
#include "tilepost/plan.h"

namespace tilepost::bench {

class AuthorsLaunch {
 public:
  AuthorsLaunch(const tilepost_plan_t& plan, const harness::PlainLaunch& plain) : plain_(plain) {
    const auto m = static_cast<int32_t>(plan.map.m), n = static_cast<int32_t>(plan.map.n);
    const auto k = static_cast<int32_t>(plan.k);
    shape_ = {m, n, k, k, plan.operands == TILEPOST_NN ? n : k, n};
  }

  // The output is row-major. Throws BenchError.
  void operator()(const OperandSet& set, cudaStream_t stream) const {
    const int error = plain_.launch(set.a, set.b, set.out, shape_, set.user, stream);
    check_cuda(static_cast<cudaError_t>(error), plain_.name);
  }

 private:
  harness::PlainLaunch plain_;
  tilepost_shape_t shape_{};
};

}  // namespace tilepost::bench
