#include "runtime/bench/experts/expert_operands.h"

#include <algorithm>
#include <cmath>

#include "runtime/bench/gemm/operands.h"
#include "runtime/bench/gpu/kernels.h"
#include "runtime/map/patterns.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost::bench {
namespace {

// The average number of products of a sum that are not zero. They are 1 or -1, so that sums of them
// are far from 2^8, up to which bf16 has all whole numbers. A token's sum has `top` rows, whose
// weights of 1 to 3 (load.h) have a mean square of about 5.
constexpr double kProducts = 64, kMeanSquare = 5;

double products_of_sum(const tilepost_plan_t& plan) {
  return row_of(plan).combines() ? kProducts / (kMeanSquare * plan.top) : kProducts;
}

// Seeds of a and b of a rank, which differ from those of all other ranks.
uint64_t seed_of(uint64_t seed, int rank, int operand) {
  constexpr uint64_t kMostRanks = 64;
  return 2 * (seed * kMostRanks + static_cast<uint64_t>(rank)) + static_cast<uint64_t>(operand);
}

}  // namespace

int64_t elements_of_b(const tilepost_plan_t& plan) {
  return plan.experts * rows_of_expert(plan.epilogue, plan.map.n) * plan.k;
}

void fill_exact_operands(const tilepost_plan_t& plan, void* a, int64_t a_count, void* b,
                         uint64_t seed, int rank, cudaStream_t stream) {
  const double share =
      std::min(1.0, std::sqrt(products_of_sum(plan) / static_cast<double>(plan.k)));
  fill_integers(a, a_count, plan.input, seed_of(seed, rank, 0), 1, share, stream);
  fill_integers(b, elements_of_b(plan), plan.input, seed_of(seed, rank, 1), 1, share, stream);
}

ExpertOperands::ExpertOperands(const tilepost_plan_t& plan, int64_t a_rows, int64_t out_rows,
                               cudaStream_t stream)
    : plan_(plan),
      stream_(stream),
      a_count_(std::max<int64_t>(a_rows, 1) * plan.k),
      b_count_(elements_of_b(plan)) {
  const int64_t input = element_bytes(plan.input);
  const int64_t out_bytes =
      std::max<int64_t>(out_rows, 1) * plan.map.n * element_bytes(plan.output);
  const auto take = [this](int64_t bytes) {
    memory_.push_back(allocate(bytes));
    return memory_.back().get();
  };
  for (int64_t i = count_sets((a_count_ + b_count_) * input + out_bytes); i > 0; --i)
    sets_.push_back({take(a_count_ * input), take(b_count_ * input), take(out_bytes)});
}

void ExpertOperands::fill_exact(uint64_t seed, int rank) {
  fill_exact_operands(plan_, sets_[0].a, a_count_, sets_[0].b, seed, rank, stream_);
}

void ExpertOperands::fill_normal(uint64_t seed, int rank) {
  for (const ExpertSet& set : sets_) {
    bench::fill_normal(set.a, a_count_, plan_.input, seed_of(seed, rank, 0), stream_);
    bench::fill_normal(set.b, b_count_, plan_.input, seed_of(seed, rank, 1), stream_);
  }
}

}  // namespace tilepost::bench
