// What users run for a half of a mixture-of-experts layer without tilepost, in one stream but for
// the experts' GEMMs:
//
//   dispatch_grouped_gemm   ncclAllGather of the tokens, a pass that copies them into the order of
//                           experts, then the experts' GEMMs (expert_gemms.h)
//   grouped_gemm_combine    the experts' GEMMs, a pass that sums each token's rows on this rank
//   with
//                           their weights, then ncclReduceScatter of these sums
//
// The tables of the routing are there before, on the host too, as for our operation.
#pragma once

#include <nccl.h>

#include <memory>

#include "runtime/bench/experts/expert_operands.h"
#include "runtime/bench/experts/load.h"

namespace tilepost::bench {

class ExpertSequence {
 public:
  ExpertSequence() = default;
  virtual ~ExpertSequence() = default;
  ExpertSequence(const ExpertSequence&) = delete;
  ExpertSequence& operator=(const ExpertSequence&) = delete;

  // Chooses the experts' GEMMs, by the operands of a set.
  virtual void choose(const ExpertSet& set, cudaStream_t stream) = 0;

  virtual void run(const ExpertSet& set, cudaStream_t stream) = 0;
  // Run one part of the sequence alone.
  virtual void gemm(const ExpertSet& set, cudaStream_t stream) = 0;
  virtual void communicate(const ExpertSet& set, cudaStream_t stream) = 0;

  // [rows, n] row-major: what the operation's out must have.
  virtual const void* result() const = 0;
  virtual int64_t rows() const = 0;
  // Fills the result with bytes 0xff.
  virtual void poison(cudaStream_t stream) = 0;
};

// The sequence of the plan's half on a rank, whose rows are `rows`. `nccl` has the plan's ranks and
// NCCL's defaults. Throws BenchError.
std::unique_ptr<ExpertSequence> make_expert_sequence(const tilepost_plan_t& plan,
                                                     const RankRows& rows, int rank,
                                                     ncclComm_t nccl);

}  // namespace tilepost::bench
