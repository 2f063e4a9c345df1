// The operands of products of experts, in several sets, so that no launch finds them in L2 because
// the launch before it left them there.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/bench/gpu/checked.h"
#include "tilepost/plan.h"

namespace tilepost::bench {

struct ExpertSet {
  void *a, *b, *out;
};

// How many elements all experts of a rank have in B.
int64_t elements_of_b(const tilepost_plan_t& plan);

// Fills `a`, of `a_count` elements, and `b` of a rank with whole numbers. They are so few and small
// that gate and up, and all ranks' sums of tokens, are exact in 16-bit types. Any rank can make
// those of another.
void fill_exact_operands(const tilepost_plan_t& plan, void* a, int64_t a_count, void* b,
                         uint64_t seed, int rank, cudaStream_t stream);

class ExpertOperands {
 public:
  // `a_rows`: the rows of a that a rank brings.
  ExpertOperands(const tilepost_plan_t& plan, int64_t a_rows, int64_t out_rows,
                 cudaStream_t stream);

  int count() const { return static_cast<int>(sets_.size()); }
  const ExpertSet& set(int i) const { return sets_[i]; }

  // Fills set 0 as fill_exact_operands() says.
  void fill_exact(uint64_t seed, int rank);
  // Fills all sets with normal random numbers, with which times are measured.
  void fill_normal(uint64_t seed, int rank);

 private:
  const tilepost_plan_t& plan_;
  const cudaStream_t stream_;
  const int64_t a_count_, b_count_;
  std::vector<cuda::DeviceMemory> memory_;
  std::vector<ExpertSet> sets_;
};

}  // namespace tilepost::bench
