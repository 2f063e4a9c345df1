// What users have without tilepost: cuBLASLt on the whole GPU, or a kernel of their own as they
// launch it, and one stock NCCL operation, one after the other in one stream.
//
//   gemm_all_reduce      GEMM, ncclAllReduce in place
//   gemm_reduce_scatter  GEMM, ncclReduceScatter; if the ranks do not divide the rows, zeros are
//                        added
//   gemm_all_to_all      GEMM, ncclSend and ncclRecv to and from all ranks in one group; routing
//                        rows: a pass between them sorts the rows by destination
//   all_gather_gemm      ncclAllGather, GEMM
//   all_to_all_gemm      the exchange of gemm_all_to_all, with rows of A, then GEMM
//
// If the plan has a norm, its kernel follows.
#pragma once

#include <nccl.h>

#include <optional>

#include "runtime/bench/gemm/authors_launch.h"
#include "runtime/bench/gemm/cublas_lt.h"
#include "runtime/bench/gemm/route.h"
#include "runtime/bench/ranks/norm_operands.h"

namespace tilepost::bench {

class Sequence {
 public:
  // The sequence of one rank. `nccl` has the plan's ranks and NCCL's defaults. Throws BenchError.
  Sequence(const tilepost_plan_t& plan, int rank, uint64_t seed, CublasLt& cublas, ncclComm_t nccl);

  // The weight that ours is run with too, and the residuals of both.
  NormOperands& norm() { return norm_; }

  // Sets what computes the GEMM: one of cuBLASLt's candidates, or the user's kernel.
  void choose(int candidate) { candidate_ = candidate; }
  void choose(const AuthorsLaunch& launch) { author_ = launch; }

  void run(const OperandSet& set, cudaStream_t stream);
  // Run a part of the sequence alone.
  void gemm(const OperandSet& set, cudaStream_t stream);
  void communicate(const OperandSet& set, cudaStream_t stream);

  // [result_rows, n] row-major: what the operation's out must hold.
  const void* result() const { return result_memory(); }
  int64_t result_rows() const { return result_rows_; }
  // Fills the result with 0xff.
  void poison(cudaStream_t stream);

 private:
  // What the collective moves, and where it puts that.
  struct Moved {
    const void* from;
    void* to;
    int64_t width;  // elements of a row
    tilepost_dtype_t type;
  };
  Moved moved(const OperandSet& set) const;
  void* result_memory() const { return received_ ? received_.get() : product_.get(); }
  void exchange_rows(const Moved& rows, cudaStream_t stream);

  const tilepost_plan_t& plan_;
  const int rank_;
  CublasLt& cublas_;
  const ncclComm_t nccl_;
  const BenchRoute route_;
  const std::vector<int64_t> rows_from_;
  const int64_t result_rows_;
  NormOperands norm_;
  int candidate_ = 0;
  std::optional<AuthorsLaunch> author_;
  cuda::DeviceMemory product_;   // [rows, n] the product of the GEMM
  cuda::DeviceMemory gathered_;  // [rows, k] where rows of A come together
  cuda::DeviceMemory order_;     // routing rows: [m] the rows, sorted by destination
  cuda::DeviceMemory sorted_;    // routing rows: the rows in that order
  cuda::DeviceMemory received_;  // [result_rows, n] where rows of the product come
};

}  // namespace tilepost::bench
