// Runs the kernels of an audit on GPU 0.
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/harness/plain_launch.h"
#include "runtime/verify/audit/kernel_runner.h"

namespace tilepost::verify {

class CudaRunner final : public KernelRunner {
 public:
  // The device must be current, and must stay current.
  CudaRunner(const tilepost_plan_t& plan, const harness::PlainLaunch& plain, cudaStream_t stream);

  void upload(void* to, const void* from, int64_t bytes) override;
  void fill(uint32_t* memory, int64_t words, int which) override;
  void run_woven(const Operands& operands, void* c, const tilepost_tile_t* tiles, int32_t count,
                 uint32_t* counters) override;
  void run_plain(const Operands& operands, void* c) override;
  void look(const Look& look, uint32_t* found) override;
  void finish() override;

 private:
  const tilepost_plan_t& plan_;
  const harness::PlainLaunch plain_;
  const cudaStream_t stream_;
};

}  // namespace tilepost::verify
