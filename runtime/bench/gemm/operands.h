// The operands of one product: several sets of them, so that a launch never finds in L2 what the
// launch before it left there.
#pragma once

#include <vector>

#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/gpu/kernels.h"
#include "runtime/harness/plain_launch.h"

namespace tilepost::bench {

struct OperandSet {
  const void* a;  // room for what a rank brings, and for what its GEMM multiplies
  const void* b;
  void* out;                    // room for the kernel's layout and for a row-major output
  const void* residual;         // null unless the plan's epilogue adds one
  void* const* user = nullptr;  // addresses of a kernel's user data
};

class Operands {
 public:
  // Enough sets that more than twice L2 is touched between two uses of one. `own`: the launch of a
  // kernel of the user's own, else null; what it alone knows the form of gets random bytes.
  Operands(const tilepost_plan_t& plan, int64_t out_elements, cudaStream_t stream,
           const harness::PlainLaunch* own = nullptr);

  int count() const { return static_cast<int>(sets_.size()); }
  const OperandSet& set(int i) const { return sets_[i]; }
  int64_t out_bytes() const { return out_bytes_; }

  // Whole numbers in set 0 whose sums are exact in the accumulators, whatever the order; with
  // `rank` >= 0 also, added over all ranks in any order, in the output's type.
  void fill_exact(uint64_t seed, int rank = -1);
  // Normal random numbers in all sets: what to time on. Small whole numbers and zeros draw less
  // power and let the GPU clock higher.
  void fill_normal(uint64_t seed);
  // Set 0: A is zero.
  void clear_a();

  tilepost_epilogue_t epilogue(int set) const;
  float scale() const { return kScaleA * kScaleB; }  // what TILEPOST_SCALE multiplies by
  Product product(int set) const;

 private:
  static constexpr float kScaleA = 0.5f, kScaleB = 0.25f;

  void make_epilogue();
  void read_sizes(const harness::PlainLaunch& own);
  void fill_opaque(const OperandSet& set, uint64_t seed);

  const tilepost_plan_t& plan_;
  const cudaStream_t stream_;
  const int64_t a_count_, b_count_, out_count_, out_bytes_;
  std::vector<cuda::DeviceMemory> memory_;
  std::vector<OperandSet> sets_;
  cuda::DeviceMemory scale_a_, scale_b_, bias_;
  int64_t opaque_b_bytes_ = 0;  // 0: b is a matrix
  std::vector<int64_t> user_bytes_;
  std::vector<std::vector<void*>> user_;  // per set
};

}  // namespace tilepost::bench
