// The product as cuBLASLt computes it. Our kernels are measured against it.
#pragma once

#include <cublasLt.h>

#include <string>
#include <vector>

#include "runtime/bench/gemm/operands.h"
#include "runtime/bench/gpu/timing.h"

namespace tilepost::bench {

class CublasLt {
 public:
  // `product` gives the problem, and the operands of the epilogue that all sets share. cuBLASLt
  // computes it with `rows` rows (rows_for_cublas). `sms` is the number of SMs that cuBLASLt may
  // use, or 0 for all.
  CublasLt(const Product& product, int64_t rows, float scale, bool fast_accumulation, int sms);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // The number of candidates: the best ones by cuBLASLt's own estimate, at most kCandidates. It is
  // 0 if cuBLASLt cannot compute this product.
  int candidates() const { return static_cast<int>(algorithms_.size()); }

  // The set of TILEPOST_SCALE … that cuBLASLt computes: all of the plan's, or none if it lacks one
  // of them.
  int operations() const { return operations_; }

  void launch(const OperandSet& set, int candidate, cudaStream_t stream);

  // The kernels of a candidate, as kernel_names() gives them. Their names contain the tile, the
  // stages, the cluster and the division of K if there is one.
  std::string kernels_of(const OperandSet& set, int candidate, cudaStream_t stream);

 private:
  static constexpr int kCandidates = 8;

  void describe(const Product& product, int64_t rows, bool fast_accumulation, int sms);
  void describe_epilogue(const Product& product);
  void describe_blocks(const BlockScales& blocks);
  void find_algorithms();
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value);

  int operations_;
  const bool float8_;
  const float scale_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, out_ = nullptr;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
  cuda::DeviceMemory workspace_;
};

// The fastest of cuBLASLt's candidates on this machine, which often is not cuBLASLt's first choice.
// Times all candidates in the way of `mode` and returns the one with the least median. There must
// be at least one candidate.
int fastest_candidate(CublasLt& cublas, const Operands& operands, const Mode& mode, Timer& timer,
                      cudaStream_t stream);

}  // namespace tilepost::bench
