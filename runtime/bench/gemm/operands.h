// The operands of one product. There are several sets, so that no launch finds its operands in L2
// because the launch before it left them there.
#pragma once

#include <vector>

#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/gpu/kernels.h"
#include "runtime/harness/plain_launch.h"

namespace tilepost::bench {

struct OperandSet {
  const void* a;  // with room for the rows that a rank brings, and for those that its GEMM or
                  // cuBLASLt (rows_for_cublas) multiplies
  const void* b;
  void* out;                    // with room for the kernel's layout, and for a row-major output
  const void* residual;         // null unless the plan's epilogue adds a residual
  void* const* user = nullptr;  // the addresses of a kernel's user data
};

// How many sets of so many bytes there are: so many that more than twice the size of L2 is touched
// between two uses of one set, if the device's memory is large enough. Throws BenchError.
int64_t count_sets(int64_t bytes);

class Operands {
 public:
  // Makes count_sets of them. `own` is the launch of a user's own kernel, or
  // null. Data whose form only that kernel knows gets random bytes.
  Operands(const tilepost_plan_t& plan, int64_t out_elements, cudaStream_t stream,
           const harness::PlainLaunch* own = nullptr);

  int count() const { return static_cast<int>(sets_.size()); }
  const OperandSet& set(int i) const { return sets_[i]; }
  int64_t out_bytes() const { return out_bytes_; }

  // Fills set 0 with whole numbers whose sums are exact in the accumulators, in whatever order they
  // are added. With `rank` >= 0 the sums over all ranks are exact in the output's type too, in
  // whatever order the ranks' sums are added.
  void fill_exact(uint64_t seed, int rank = -1);
  // Fills all sets with normal random numbers, with which times are measured. Small whole numbers
  // and zeros draw less power and let the GPU clock higher.
  void fill_normal(uint64_t seed);
  // Sets A of set 0 to zero.
  void clear_a();

  tilepost_epilogue_t epilogue(int set) const;
  float scale() const { return kScaleA * kScaleB; }  // the factor of TILEPOST_SCALE
  Product product(int set) const;

 private:
  static constexpr float kScaleA = 0.5f, kScaleB = 0.25f;

  void make_epilogue();
  void make_block_scales();
  void read_sizes(const harness::PlainLaunch& own);
  void fill_opaque(const OperandSet& set, uint64_t seed);

  const tilepost_plan_t& plan_;
  const cudaStream_t stream_;
  const int64_t a_count_, b_count_, out_count_, out_bytes_;
  std::vector<cuda::DeviceMemory> memory_;
  std::vector<OperandSet> sets_;
  cuda::DeviceMemory scale_a_, scale_b_, bias_;
  cuda::DeviceMemory columns_a_, padded_b_;  // scales of blocks (BlockScales)
  int64_t opaque_b_bytes_ = 0;               // 0 if B is a matrix
  std::vector<int64_t> user_bytes_;
  std::vector<std::vector<void*>> user_;  // for each set
};

}  // namespace tilepost::bench
