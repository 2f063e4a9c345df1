// What users run without tilepost: a GEMM and one stock NCCL operation, one after the other in one
// stream. The GEMM is cuBLASLt's on the whole GPU, or a user's own kernel as its author launches
// it.
//
//   gemm_all_reduce      GEMM, then ncclAllReduce in place
//   gemm_reduce_scatter  GEMM, then ncclReduceScatter; if the ranks do not divide the rows, rows of
//                        zeros are added
//   gemm_all_to_all      GEMM, then ncclSend and ncclRecv to and from all ranks in one group; if
//                        rows are routed, a pass between the two sorts the rows by destination
//   all_gather_gemm      ncclAllGather, then GEMM
//   all_to_all_gemm      the exchange of gemm_all_to_all with rows of A, then GEMM
//
// If the plan has a norm, its kernel runs last.
#pragma once

#include <nccl.h>

#include <optional>

#include "runtime/bench/gemm/authors_launch.h"
#include "runtime/bench/gemm/cublas_lt.h"
#include "runtime/bench/gemm/route.h"
#include "runtime/bench/ranks/norm_operands.h"

namespace tilepost::bench {

// The rows of the result of one rank.
int64_t count_result_rows(const tilepost_plan_t& plan, int rank, uint64_t seed);

class Sequence {
 public:
  // Makes the sequence of one rank. `nccl` has the plan's ranks and NCCL's defaults. Throws
  // BenchError.
  Sequence(const tilepost_plan_t& plan, int rank, uint64_t seed, CublasLt& cublas, ncclComm_t nccl);

  // The weight that our operation uses too, and the residuals of both.
  NormOperands& norm() { return norm_; }

  // Choose what computes the GEMM: one of cuBLASLt's candidates, or the user's kernel.
  void choose(int candidate) { candidate_ = candidate; }
  void choose(const AuthorsLaunch& launch) { author_ = launch; }

  void run(const OperandSet& set, cudaStream_t stream);
  // Run one part of the sequence alone.
  void gemm(const OperandSet& set, cudaStream_t stream);
  void communicate(const OperandSet& set, cudaStream_t stream);

  // [result_rows, n] row-major, with the elements that the operation's out must have.
  const void* result() const { return result_memory(); }
  int64_t result_rows() const { return result_rows_; }
  // Fills the result with bytes 0xff.
  void poison(cudaStream_t stream);

 private:
  // The rows that the collective moves, and where it puts them.
  struct Moved {
    const void* from;
    void* to;
    int64_t width;  // the elements of a row
    tilepost_dtype_t type;
  };
  Moved moved(const OperandSet& set) const;
  void* result_memory() const { return received_ ? received_.get() : product_.get(); }
  void all_gather(const Moved& rows, cudaStream_t stream);
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
  cuda::DeviceMemory gathered_;  // [rows, k] the rows of A that the collective brings together
  cuda::DeviceMemory scales_;    // all ranks' scales of blocks, where they move with rows of A
  cuda::DeviceMemory order_;     // [m] the rows sorted by destination, if rows are routed
  cuda::DeviceMemory sorted_;    // the data of the rows in that order, if rows are routed
  cuda::DeviceMemory received_;  // [result_rows, n] the rows of the product that the collective
                                 // brings
};

}  // namespace tilepost::bench
