#include "runtime/bench/experts/expert_sequence.h"

#include <algorithm>

#include "runtime/bench/experts/expert_gemms.h"
#include "runtime/bench/experts/kernels.h"
#include "runtime/bench/gpu/kernels.h"
#include "runtime/cuda/transport/nccl_collective.h"
#include "runtime/map/patterns.h"
#include "runtime/map/tile_map.h"
#include "tilepost/dtype.h"

namespace tilepost::bench {
namespace {

void fill_with_poison(const cuda::DeviceMemory& memory, int64_t bytes, cudaStream_t stream) {
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(memory.get(), 0xff, static_cast<size_t>(bytes), stream));
}

class DispatchSequence final : public ExpertSequence {
 public:
  DispatchSequence(const tilepost_plan_t& plan, const RankRows& rows, ncclComm_t nccl)
      : plan_(plan), nccl_(nccl), gemms_(plan, rows.ends), tokens_(upload(rows.tokens)) {
    const int64_t row_bytes = plan.k * element_bytes(plan.input);
    const int64_t count = std::max<int64_t>(gemms_.rows(), 1);
    gathered_ = allocate(plan.ranks * share_rows(plan.map) * row_bytes);
    sorted_ = allocate(count * row_bytes);
    result_ = allocate(count * plan.map.n * element_bytes(plan.output));
  }

  // The GEMMs' times hardly depend on what they multiply.
  void choose(const ExpertSet& set, cudaStream_t stream) override {
    fill_normal(sorted_.get(), gemms_.rows() * plan_.k, plan_.input, 1, stream);
    gemms_.choose(sorted_.get(), set.b, result_.get(), stream);
  }
  void run(const ExpertSet& set, cudaStream_t stream) override {
    communicate(set, stream);
    if (gemms_.rows() > 0)
      gather_rows(gathered_.get(), static_cast<const int32_t*>(tokens_.get()),
                  static_cast<int>(gemms_.rows()), plan_.k * element_bytes(plan_.input),
                  sorted_.get(), stream);
    gemm(set, stream);
  }
  void gemm(const ExpertSet& set, cudaStream_t stream) override {
    gemms_.launch(sorted_.get(), set.b, result_.get(), stream);
  }
  void communicate(const ExpertSet& set, cudaStream_t stream) override {
    TILEPOST_BENCH_STATUS(ncclAllGather(set.a, gathered_.get(),
                                        static_cast<size_t>(share_rows(plan_.map) * plan_.k),
                                        cuda::nccl_type(plan_.input), nccl_, stream));
  }
  const void* result() const override { return result_.get(); }
  int64_t rows() const override { return gemms_.rows(); }
  void poison(cudaStream_t stream) override {
    fill_with_poison(result_, rows() * plan_.map.n * element_bytes(plan_.output), stream);
  }

 private:
  const tilepost_plan_t& plan_;
  const ncclComm_t nccl_;
  ExpertGemms gemms_;
  const cuda::DeviceMemory tokens_;  // [rows] the token of each row
  cuda::DeviceMemory gathered_;      // [ranks * share, k] all ranks' tokens
  cuda::DeviceMemory sorted_;        // [rows, k] tokens in the order of experts
  cuda::DeviceMemory result_;        // [rows, n]
};

class CombineSequence final : public ExpertSequence {
 public:
  CombineSequence(const tilepost_plan_t& plan, const RankRows& rows, int rank, ncclComm_t nccl)
      : plan_(plan), nccl_(nccl), rank_(rank), gemms_(plan, rows.ends) {
    const TokenRows table = rows_of_tokens(plan, rows);
    token_rows_ = upload(table.rows);
    token_weights_ = upload(table.weights);
    const int64_t share = share_rows(plan.map);
    products_ = allocate(std::max<int64_t>(gemms_.rows(), 1) * row_bytes());
    sums_ = allocate(plan.ranks * share * row_bytes());
    result_ = allocate(share * row_bytes());
    // Runs of the collective alone send what is there.
    TILEPOST_BENCH_CUDA(
        cudaMemset(sums_.get(), 0, static_cast<size_t>(plan.ranks * share * row_bytes())));
  }

  void choose(const ExpertSet& set, cudaStream_t stream) override {
    gemms_.choose(set.a, set.b, products_.get(), stream);
  }
  void run(const ExpertSet& set, cudaStream_t stream) override {
    gemm(set, stream);
    sum_rows(products_.get(),
             {static_cast<const int32_t*>(token_rows_.get()),
              static_cast<const float*>(token_weights_.get()), plan_.ranks * share_rows(plan_.map),
              plan_.top},
             static_cast<int>(plan_.map.n), plan_.output, sums_.get(), stream);
    communicate(set, stream);
  }
  void gemm(const ExpertSet& set, cudaStream_t stream) override {
    gemms_.launch(set.a, set.b, products_.get(), stream);
  }
  void communicate(const ExpertSet& /*set*/, cudaStream_t stream) override {
    TILEPOST_BENCH_STATUS(ncclReduceScatter(
        sums_.get(), result_.get(), static_cast<size_t>(share_rows(plan_.map) * plan_.map.n),
        cuda::nccl_type(plan_.output), ncclSum, nccl_, stream));
  }
  const void* result() const override { return result_.get(); }
  int64_t rows() const override { return rows_of_rank(plan_.map, rank_); }
  void poison(cudaStream_t stream) override {
    fill_with_poison(result_, rows() * row_bytes(), stream);
  }

 private:
  int64_t row_bytes() const { return plan_.map.n * element_bytes(plan_.output); }

  const tilepost_plan_t& plan_;
  const ncclComm_t nccl_;
  const int rank_;
  ExpertGemms gemms_;
  cuda::DeviceMemory token_rows_, token_weights_;  // TokenRows
  cuda::DeviceMemory products_;                    // [rows, n]
  cuda::DeviceMemory sums_;    // [ranks * share, n] this rank's sums of all ranks' tokens
  cuda::DeviceMemory result_;  // [share, n]
};

}  // namespace

std::unique_ptr<ExpertSequence> make_expert_sequence(const tilepost_plan_t& plan,
                                                     const RankRows& rows, int rank,
                                                     ncclComm_t nccl) {
  if (row_of(plan).combines()) return std::make_unique<CombineSequence>(plan, rows, rank, nccl);
  return std::make_unique<DispatchSequence>(plan, rows, nccl);
}

}  // namespace tilepost::bench
