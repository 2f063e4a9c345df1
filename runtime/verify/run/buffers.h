// One run's operands and output on one rank, the output poisoned and fenced by canaries.
#pragma once

#include <string>
#include <vector>

#include "runtime/verify/reference/shape.h"
#include "runtime/verify/run/opaque_memory.h"
#include "runtime/verify/run/world.h"
#include "tilepost/dtype.h"

namespace tilepost::verify {

// Device memory with a canary before and after, so that what is written beside it shows.
class FencedMemory {
 public:
  FencedMemory(RankDevice& device, size_t most_bytes);
  ~FencedMemory() { device_.release(memory_); }
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;

  // From now on `bytes` bytes long and full of NaN, and the canaries where it begins and ends.
  void poison(size_t bytes);
  void* data() const { return static_cast<char*>(memory_) + kCanaryBytes; }
  // Copies it to host memory. Returns which canary was overwritten, or "". `name`: "the output".
  std::string fetch(const char* name, std::vector<unsigned char>& bytes) const;

 private:
  static constexpr size_t kCanaryBytes = 256;

  RankDevice& device_;
  void* memory_;
  size_t bytes_ = 0;
};

class RunBuffers {
 public:
  // Large enough for every run of the problem; `out_elements` of out.
  RunBuffers(RankDevice& device, const Problem& problem, int64_t out_elements);
  ~RunBuffers();
  RunBuffers(const RunBuffers&) = delete;
  RunBuffers& operator=(const RunBuffers&) = delete;

  // Fresh operands for a run of a rank; the output, `out_elements` of it, becomes NaN.
  void prepare(const Distribution& distribution, uint64_t seed, int run, int rank,
               const RunShape& shape, int64_t out_elements);

  // For tilepost_op_run_with, with what the problem has.
  tilepost_run_operands_t operands() const;

  // Copies what a run wrote to host memory. Returns what was overwritten beside it, or "".
  std::string fetch_out(std::vector<unsigned char>& out) const;
  std::string fetch_gathered(std::vector<unsigned char>& gathered) const;
  // residual_rms_norm: the sums, row-major.
  void fetch_kept(std::vector<unsigned char>& kept) const;
  // The product of the last run, as a kernel that alone knows what it computes gives it when its
  // author launches it: the rows that are asked for, of n elements.
  std::vector<float> original(const std::vector<int64_t>& rows) const;
  // Whether the last run was asked for the gathered A.
  bool gathers() const { return gathers_; }

 private:
  // Elements of an operand of the problem's epilogue or consumer for m rows, 0 if it has none.
  int64_t count_of(Matrix matrix, int64_t m) const;
  size_t input_bytes() const { return static_cast<size_t>(element_bytes(problem_.input)); }
  size_t output_bytes() const { return static_cast<size_t>(element_bytes(problem_.output)); }
  void fill_consumer(const Distribution& distribution, uint64_t seed, int run, int rank,
                     const RunShape& shape);

  RankDevice& device_;
  const Problem problem_;
  FencedMemory out_;
  std::unique_ptr<FencedMemory> gathered_;  // where rows of A come together
  void* a_ = nullptr;
  void* b_ = nullptr;
  float* scale_a_ = nullptr;
  float* scale_b_ = nullptr;
  void* bias_ = nullptr;
  void* residual_ = nullptr;
  void* norm_weight_ = nullptr;
  void* norm_residual_ = nullptr;
  int64_t m_ = 0;                         // of the last run, as the operation is told
  int64_t kept_rows_ = 0;                 // of the last run
  int64_t rows_ = 0;                      // of the last run's product
  std::unique_ptr<OpaqueMemory> opaque_;  // where only the kernel knows what it reads
  void* run_a_ = nullptr;                 // a of the last run
  bool gathers_ = false;
};

}  // namespace tilepost::verify
