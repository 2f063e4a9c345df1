// One run's operands and output on one rank, the output poisoned and fenced by canaries.
#pragma once

#include <string>
#include <vector>

#include "runtime/verify/world.h"

namespace tilepost::verify {

class RunBuffers {
 public:
  RunBuffers(RankDevice& device, const Problem& problem, int64_t out_elements);
  ~RunBuffers();
  RunBuffers(const RunBuffers&) = delete;
  RunBuffers& operator=(const RunBuffers&) = delete;

  // Fresh operands for a run of a rank; the output becomes NaN.
  void prepare(const Distribution& distribution, uint64_t seed, int run, int rank);

  // For tilepost_op_run_with; of the epilogue's operands those that the problem has.
  tilepost_run_operands_t operands() const;
  void* out() const { return static_cast<char*>(out_) + kCanaryBytes; }

  // Copies the output to host memory. Returns which canary was overwritten, or "".
  std::string fetch(std::vector<uint16_t>& out) const;

 private:
  static constexpr size_t kCanaryBytes = 256;

  // Elements of an operand of the problem's epilogue, 0 if it has none.
  int64_t count_of(Matrix matrix) const;
  size_t input_bytes() const { return problem_.input == TILEPOST_E4M3 ? 1 : 2; }

  RankDevice& device_;
  const Problem problem_;
  const int64_t out_elements_;
  void* a_ = nullptr;
  void* b_ = nullptr;
  float* scale_a_ = nullptr;
  float* scale_b_ = nullptr;
  void* bias_ = nullptr;
  void* residual_ = nullptr;
  void* out_ = nullptr;  // canary, out_elements_, canary
};

}  // namespace tilepost::verify
