// The products of a rank's experts as users compute them without a grouped GEMM: one GEMM of
// cuBLASLt for each expert, in turn on four streams, and then a kernel that combines gate and up.
// The host knows which rows each expert has.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/bench/gpu/checked.h"
#include "tilepost/plan.h"

namespace tilepost::bench {

// Computes what plans do whose epilogue combines gate and up, or does nothing, and whose input and
// output are both bf16 or both f16. The tool measures no others.
class ExpertGemms {
 public:
  // `ends`: [experts] the row behind the last one of each expert. Throws BenchError.
  ExpertGemms(const tilepost_plan_t& plan, const std::vector<int32_t>& ends);
  ~ExpertGemms();
  ExpertGemms(const ExpertGemms&) = delete;
  ExpertGemms& operator=(const ExpertGemms&) = delete;

  // Times cuBLASLt's candidates for each expert alone, and takes the fastest.
  void choose(const void* a, const void* b, void* out, cudaStream_t stream);

  // Multiplies the rows of `a` [rows, k] by the experts' b. `out` is [rows, n].
  void launch(const void* a, const void* b, void* out, cudaStream_t stream);

  int64_t rows() const { return ends_.back(); }

 private:
  static constexpr int kStreams = 4;

  // The product of one expert.
  struct Gemm {
    int64_t first = 0, rows = 0;
    cublasLtMatrixLayout_t a = nullptr, out = nullptr;
    std::vector<cublasLtMatmulAlgo_t> candidates;
    size_t fastest = 0;
  };

  void describe();
  void find_candidates(Gemm& gemm) const;
  void launch_gemm(size_t expert, size_t candidate, const void* a, const void* b, void* product,
                   int lane, cudaStream_t stream) const;
  void* product_of(void* out) const { return products_ ? products_.get() : out; }

  const tilepost_plan_t& plan_;
  const std::vector<int32_t> ends_;
  const int64_t columns_;  // of B, those of gate and up together
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  std::vector<Gemm> gemms_;                     // of each expert
  std::array<cuda::Stream, kStreams> streams_;  // the first one is the caller's
  std::array<cuda::Event, kStreams> ends_of_streams_;
  cuda::Event begin_;
  std::array<cuda::DeviceMemory, kStreams> workspaces_;
  cuda::DeviceMemory products_;  // [rows, columns] where gate and up are combined
};

}  // namespace tilepost::bench
