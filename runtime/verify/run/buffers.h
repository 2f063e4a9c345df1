// One run's operands and output on one rank. The output is poisoned and fenced by canaries.
#pragma once

#include <string>
#include <vector>

#include "runtime/verify/reference/shape.h"
#include "runtime/verify/run/opaque_memory.h"
#include "runtime/verify/run/world.h"
#include "tilepost/dtype.h"

namespace tilepost::verify {

constexpr int kPoison = 0xff;  // all bits one are a NaN in every output's type

// Device memory with a canary before and behind it, so that writes beside it are detected.
class FencedMemory {
 public:
  FencedMemory(RankDevice& device, size_t most_bytes);
  ~FencedMemory() { device_.release(memory_); }
  FencedMemory(const FencedMemory&) = delete;
  FencedMemory& operator=(const FencedMemory&) = delete;

  // Makes the memory `bytes` bytes long and fills it with NaN, with canaries before and behind it.
  void poison(size_t bytes);
  void* data() const { return static_cast<char*>(memory_) + kCanaryBytes; }
  // Copies the memory to host memory. Returns a text about the canary that was overwritten, or "".
  // `name`: the name of the memory in the text, such as "the output".
  std::string fetch(const char* name, std::vector<unsigned char>& bytes) const;

 private:
  static constexpr size_t kCanaryBytes = 256;

  RankDevice& device_;
  void* memory_;
  size_t bytes_ = 0;
};

class RunBuffers {
 public:
  // The buffers are large enough for every run of the problem. `out_elements`: the most elements of
  // out.
  RunBuffers(RankDevice& device, const Problem& problem, int64_t out_elements);
  ~RunBuffers();
  RunBuffers(const RunBuffers&) = delete;
  RunBuffers& operator=(const RunBuffers&) = delete;

  // Makes fresh operands for a run of a rank. `out_elements` elements of the output become NaN.
  void prepare(const Distribution& distribution, uint64_t seed, int run, int rank,
               const RunShape& shape, int64_t out_elements);

  // If tokens go to experts: the ids of the run's experts and their weights, for
  // tilepost_routing_set.
  const int32_t* ids() const { return ids_; }
  const float* weights() const { return weights_; }

  // The operands for tilepost_op_run_with that the problem has.
  tilepost_run_operands_t operands() const;

  // Copies the memory that a run wrote to host memory. Returns a text about what was overwritten
  // beside it, or "".
  std::string fetch_out(std::vector<unsigned char>& out) const;
  std::string fetch_gathered(std::vector<unsigned char>& gathered) const;
  // The scales that have moved with the gathered A.
  std::string fetch_gathered_scales(std::vector<unsigned char>& scales) const;
  // The scales of an output that is quantised.
  std::string fetch_out_scales(std::vector<float>& scales) const;
  // residual_rms_norm: copies the sums with the residual, row-major.
  void fetch_kept(std::vector<unsigned char>& kept) const;
  // The product of the last run, from a kernel that alone knows what it computes, launched in its
  // author's way. Returns rows `rows` of the product, with n elements each.
  std::vector<float> original(const std::vector<int64_t>& rows) const;
  // Whether the last run requested the gathered A, and the scales that have moved with it.
  bool gathers() const { return gathers_; }
  bool gathers_scales() const { return gathers_scales_; }

 private:
  // The number of elements of an operand of the problem's epilogue or consumer for m rows. It is 0
  // if the problem has no such operand.
  int64_t count_of(Matrix matrix, int64_t m) const;
  size_t input_bytes() const { return static_cast<size_t>(element_bytes(problem_.input)); }
  size_t output_bytes() const { return static_cast<size_t>(element_bytes(problem_.output)); }
  size_t out_bytes() const { return static_cast<size_t>(element_bytes(problem_.type_of_out())); }
  // Whether scales of blocks move with rows of A.
  bool moves_scales() const;
  // Fills what each expert has an equal part of: `data` has `count` elements in all.
  void fill_of_experts(void* data, int64_t count, const Distribution& distribution, uint64_t stream,
                       tilepost_dtype_t type);
  void fill_scales_of_experts(int64_t count, const Distribution& distribution, uint64_t stream);
  void put_scales(const std::vector<float>& scales);
  void fill_consumer(const Distribution& distribution, uint64_t seed, int run, int rank,
                     const RunShape& shape);

  RankDevice& device_;
  const Problem problem_;
  FencedMemory out_;
  std::unique_ptr<FencedMemory> gathered_;         // the memory in which rows of A come together;
                                                   // otherwise null
  std::unique_ptr<FencedMemory> gathered_scales_;  // likewise, for scales of blocks
  std::unique_ptr<FencedMemory> out_scales_;       // of an output that is quantised; otherwise null
  void* a_ = nullptr;
  void* b_ = nullptr;
  float* scale_a_ = nullptr;
  float* scale_b_ = nullptr;
  void* bias_ = nullptr;
  void* residual_ = nullptr;
  void* norm_weight_ = nullptr;
  void* norm_residual_ = nullptr;
  int32_t* expert_ends_ = nullptr;
  int32_t* ids_ = nullptr;
  float* weights_ = nullptr;
  int64_t m_ = 0;                         // the m that the last run passed to the operation
  int64_t kept_rows_ = 0;                 // how many rows of the last run's sums are kept
  int64_t rows_ = 0;                      // how many rows the last run's product has
  std::unique_ptr<OpaqueMemory> opaque_;  // for data whose form only the kernel knows
  void* run_a_ = nullptr;                 // the `a` of the last run
  bool gathers_ = false, gathers_scales_ = false;
};

}  // namespace tilepost::verify
