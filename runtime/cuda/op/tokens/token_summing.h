// Sums the tokens of a run whose products are those of experts (RunPath::combines), beside the GEMM
// and behind it:
//   user stream:  GEMM (raises panels)   rest of the sums   wait(beside)
//   own stream:   sums of the panels     beside
// The GEMM is issued first, and waits for nothing. What is beside it fills as many SMs as the plan
// leaves, and ends soon after it.
#pragma once

#include "runtime/cuda/consumers/token_sums.h"
#include "runtime/cuda/op/op_base.h"

namespace tilepost::cuda {

class TokenSumming {
 public:
  explicit TokenSumming(const OpBase& base)
      : plan_(base.plan), state_(base.state), buffers_(base.buffers), routing_(base.routing) {}

  // Loads the kernel and makes the stream, if runs need them.
  tilepost_result_t create();

  // Lets the GEMM store into memory of the operation, and count there.
  void find_products(const Run& run, GemmArguments& arguments) const;

  // Issues the sums. The GEMM has been issued.
  tilepost_result_t launch(const Run& run) const;

  // Lets `stream` continue behind the sums.
  tilepost_result_t join(const Run& run, cudaStream_t stream) const;

 private:
  bool sums_beside(const Run& run) const { return run.path().overlaps && plan_.panel_columns > 0; }
  TokenSumArguments arguments_of(const Run& run) const;
  void find_panels(const Run& run, TokenSumPanels& panels) const;

  const tilepost_plan_t& plan_;
  const RunState& state_;
  const OpBuffers& buffers_;
  tilepost_expert_routing* const routing_;
  Stream beside_;
  // There is one of each for each bank, since a captured event cannot serve eager runs.
  Event ends_beside_[kBanks], ends_[kBanks];
};

}  // namespace tilepost::cuda
