// Sums the tokens of a run whose products are those of experts (RunPath::combines), behind the GEMM
// on the caller's stream. Where ranks store into each other's memory, the same kernel adds up what
// all ranks have summed. Elsewhere steps of the transport do that, on a stream of their own.
#pragma once

#include "runtime/cuda/consumers/home_sums.h"
#include "runtime/cuda/consumers/token_sums.h"
#include "runtime/cuda/op/op_base.h"

namespace tilepost::cuda {

class TokenSumming {
 public:
  explicit TokenSumming(const OpBase& base)
      : plan_(base.plan),
        transports_(base.transports),
        state_(base.state),
        buffers_(base.buffers),
        routing_(base.routing) {}

  // Loads the kernels, if runs need them.
  tilepost_result_t create();

  // Lets the GEMM store into memory of the operation.
  void find_products(GemmArguments& arguments) const;

  // Issues the sums. The GEMM has been issued.
  tilepost_result_t launch(const Run& run) const;

  // Lets `stream` continue behind the sums.
  tilepost_result_t join(const Run& run, cudaStream_t stream) const;

 private:
  TokenSums sums_of(const Run& run) const;
  tilepost_result_t launch_tiles(const Run& run) const;
  tilepost_result_t launch_home(const Run& run) const;

  const tilepost_plan_t& plan_;
  const Transports& transports_;
  const RunState& state_;
  const OpBuffers& buffers_;
  tilepost_expert_routing* const routing_;
  Event ends_[kBanks];  // a captured event cannot serve eager runs
};

}  // namespace tilepost::cuda
