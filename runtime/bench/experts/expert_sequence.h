// What users run for a half of a mixture-of-experts layer without tilepost, in one stream but for
// the experts' GEMMs:
//
//   dispatch_grouped_gemm   ncclAllGather of the tokens, a pass that copies them into the order of
//                           experts, then the experts' GEMMs (expert_gemms.h)
//
// The tables of the routing are there before, on the host too, as for our operation.
#pragma once

#include <nccl.h>

#include "runtime/bench/experts/expert_gemms.h"
#include "runtime/bench/experts/expert_operands.h"
#include "runtime/bench/experts/load.h"

namespace tilepost::bench {

class ExpertSequence {
 public:
  // `rows` are those of this rank. `nccl` has the plan's ranks and NCCL's defaults. Throws
  // BenchError.
  ExpertSequence(const tilepost_plan_t& plan, const RankRows& rows, ncclComm_t nccl);

  // Chooses the experts' GEMMs, by the operands of a set.
  void choose(const ExpertSet& set, cudaStream_t stream);

  void run(const ExpertSet& set, cudaStream_t stream);
  // Run one part of the sequence alone.
  void gemm(const ExpertSet& set, cudaStream_t stream);
  void communicate(const ExpertSet& set, cudaStream_t stream);

  // [rows, n] row-major: what the operation's out must have.
  const void* result() const { return result_.get(); }
  int64_t rows() const { return gemms_.rows(); }
  // Fills the result with bytes 0xff.
  void poison(cudaStream_t stream);

 private:
  const tilepost_plan_t& plan_;
  const ncclComm_t nccl_;
  ExpertGemms gemms_;
  const cuda::DeviceMemory tokens_;  // [rows] the token of each row
  cuda::DeviceMemory gathered_;      // [ranks * share, k] all ranks' tokens
  cuda::DeviceMemory sorted_;        // [rows, k] tokens in the order of experts
  cuda::DeviceMemory result_;        // [rows, n]
};

}  // namespace tilepost::bench
