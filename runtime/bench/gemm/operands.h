// The operands of one product: several sets of them, so that a launch never finds in L2 what the
// launch before it left there.
#pragma once

#include <vector>

#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/gpu/kernels.h"

namespace tilepost::bench {

struct OperandSet {
  const void* a;  // room for what a rank brings, and for what its GEMM multiplies
  const void* b;
  void* out;             // room for the kernel's layout and for a row-major output
  const void* residual;  // null unless the plan's epilogue adds one
};

class Operands {
 public:
  // Enough sets that more than twice L2 is touched between two uses of one.
  Operands(const tilepost_plan_t& plan, int64_t out_elements, cudaStream_t stream);

  int count() const { return static_cast<int>(sets_.size()); }
  const OperandSet& set(int i) const { return sets_[i]; }
  int64_t out_bytes() const { return out_bytes_; }

  // Whole numbers in set 0 whose sums are exact in the accumulators, whatever the order; with
  // `rank` >= 0 also, added over all ranks in any order, in the output's type.
  void fill_exact(uint64_t seed, int rank = -1);
  // Normal random numbers in all sets: what to time on. Small whole numbers and zeros draw less
  // power and let the GPU clock higher.
  void fill_normal(uint64_t seed);

  tilepost_epilogue_t epilogue(int set) const;
  float scale() const { return kScaleA * kScaleB; }  // what TILEPOST_SCALE multiplies by
  Product product(int set) const;

 private:
  static constexpr float kScaleA = 0.5f, kScaleB = 0.25f;

  void make_epilogue();

  const tilepost_plan_t& plan_;
  const cudaStream_t stream_;
  const int64_t a_count_, b_count_, out_count_, out_bytes_;
  std::vector<cuda::DeviceMemory> memory_;
  std::vector<OperandSet> sets_;
  cuda::DeviceMemory scale_a_, scale_b_, bias_;
};

}  // namespace tilepost::bench
