#include "runtime/bench/ranks/norm_operands.h"

#include <algorithm>

#include "runtime/bench/gpu/kernels.h"
#include "runtime/core/operands.h"
#include "runtime/cuda/consumers/norm.h"
#include "runtime/map/patterns.h"

namespace tilepost::bench {
namespace {

constexpr float kEpsilon = 1e-5F;

}  // namespace

NormOperands::NormOperands(const tilepost_plan_t& plan, int64_t rows) : plan_(plan), rows_(rows) {
  if (!normalises(plan)) return;
  int device = 0;
  TILEPOST_BENCH_CUDA(cudaGetDevice(&device));
  TILEPOST_BENCH_CUDA(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, device));
  const int64_t row_bytes = plan.map.n * element_bytes(plan.output);
  weight_ = allocate(row_bytes);
  if (!has_residual()) return;
  ours_ = allocate(std::max<int64_t>(rows, 1) * row_bytes);
  sequence_ = allocate(std::max<int64_t>(rows, 1) * row_bytes);
}

void NormOperands::fill_normal(uint64_t seed, cudaStream_t stream) {
  const int64_t n = plan_.map.n;
  if (weight_) bench::fill_normal(weight_.get(), n, plan_.output, seed, stream);
  if (ours_) bench::fill_normal(ours_.get(), rows_ * n, plan_.output, seed + 1, stream);
  if (sequence_) bench::fill_normal(sequence_.get(), rows_ * n, plan_.output, seed + 1, stream);
}

void NormOperands::clear_residuals(cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(rows_ * plan_.map.n * element_bytes(plan_.output));
  if (ours_) TILEPOST_BENCH_CUDA(cudaMemsetAsync(ours_.get(), 0, bytes, stream));
  if (sequence_) TILEPOST_BENCH_CUDA(cudaMemsetAsync(sequence_.get(), 0, bytes, stream));
}

void NormOperands::add_to(tilepost_run_operands_t& operands) const {
  operands.norm_weight = weight_.get();
  operands.norm_residual = ours_.get();
  operands.norm_epsilon = kEpsilon;
}

void NormOperands::normalise(void* rows, cudaStream_t stream) const {
  if (!weight_ || rows_ == 0) return;
  cuda::NormArguments norm{};
  norm.x = rows;
  norm.tile_n = norm.n = static_cast<int32_t>(plan_.map.n);
  norm.rows = static_cast<int32_t>(rows_);
  norm.weight = weight_.get();
  norm.residual = sequence_.get();
  norm.out = rows;
  norm.epsilon = kEpsilon;
  TILEPOST_BENCH_CUDA(cuda::launch_norm(norm, plan_.output, sms_, stream));
}

}  // namespace tilepost::bench
