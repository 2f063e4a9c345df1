#include "runtime/bench/experts/expert_sequence.h"

#include <algorithm>

#include "runtime/bench/gpu/kernels.h"
#include "runtime/cuda/transport/nccl_collective.h"
#include "runtime/map/tile_map.h"
#include "tilepost/dtype.h"

namespace tilepost::bench {

ExpertSequence::ExpertSequence(const tilepost_plan_t& plan, const RankRows& rows, ncclComm_t nccl)
    : plan_(plan), nccl_(nccl), gemms_(plan, rows.ends), tokens_(upload(rows.tokens)) {
  const int64_t row_bytes = plan.k * element_bytes(plan.input);
  const int64_t count = std::max<int64_t>(gemms_.rows(), 1);
  gathered_ = allocate(plan.ranks * share_rows(plan.map) * row_bytes);
  sorted_ = allocate(count * row_bytes);
  result_ = allocate(count * plan.map.n * element_bytes(plan.output));
}

// The GEMMs' times hardly depend on what they multiply.
void ExpertSequence::choose(const ExpertSet& set, cudaStream_t stream) {
  fill_normal(sorted_.get(), gemms_.rows() * plan_.k, plan_.input, 1, stream);
  gemms_.choose(sorted_.get(), set.b, result_.get(), stream);
}

void ExpertSequence::run(const ExpertSet& set, cudaStream_t stream) {
  communicate(set, stream);
  if (gemms_.rows() > 0)
    gather_rows(gathered_.get(), static_cast<const int32_t*>(tokens_.get()),
                static_cast<int>(gemms_.rows()), plan_.k * element_bytes(plan_.input),
                sorted_.get(), stream);
  gemm(set, stream);
}

void ExpertSequence::gemm(const ExpertSet& set, cudaStream_t stream) {
  gemms_.launch(sorted_.get(), set.b, result_.get(), stream);
}

void ExpertSequence::communicate(const ExpertSet& set, cudaStream_t stream) {
  TILEPOST_BENCH_STATUS(ncclAllGather(set.a, gathered_.get(),
                                      static_cast<size_t>(share_rows(plan_.map) * plan_.k),
                                      cuda::nccl_type(plan_.input), nccl_, stream));
}

void ExpertSequence::poison(cudaStream_t stream) {
  const int64_t bytes = gemms_.rows() * plan_.map.n * element_bytes(plan_.output);
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(result_.get(), 0xff, static_cast<size_t>(bytes), stream));
}

}  // namespace tilepost::bench
