#include "runtime/bench/experts/expert_gemms.h"

#include <algorithm>
#include <limits>

#include "runtime/bench/experts/kernels.h"
#include "runtime/cuda/device/dtypes.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost::bench {
namespace {

constexpr size_t kLaneWorkspaceBytes = size_t{32} << 20;
constexpr int kExpertCandidates = 4;
constexpr int kTimedLaunches = 3;

cuda::Event make_lane_event() {
  cuda::Event event;
  TILEPOST_BENCH_CUDA(cudaEventCreate(event.out()));
  return event;
}

}  // namespace

ExpertGemms::ExpertGemms(const tilepost_plan_t& plan, const std::vector<int32_t>& ends)
    : plan_(plan),
      ends_(ends),
      columns_(rows_of_expert(plan.epilogue, plan.map.n)),
      begin_(make_lane_event()) {
  TILEPOST_BENCH_STATUS(cublasLtCreate(&handle_));
  for (int lane = 0; lane < kStreams; ++lane) {
    if (lane > 0) check_tilepost(cuda::make_stream(streams_[lane], false), "make_stream");
    ends_of_streams_[lane] = make_lane_event();
    workspaces_[lane] = allocate(kLaneWorkspaceBytes);
  }
  if (combines_gate(plan.epilogue))
    products_ = allocate(std::max<int64_t>(rows(), 1) * columns_ * element_bytes(plan.output));
  describe();
}

ExpertGemms::~ExpertGemms() {
  for (const Gemm& gemm : gemms_) {
    if (gemm.a != nullptr) cublasLtMatrixLayoutDestroy(gemm.a);
    if (gemm.out != nullptr) cublasLtMatrixLayoutDestroy(gemm.out);
  }
  if (b_ != nullptr) cublasLtMatrixLayoutDestroy(b_);
  if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

// cuBLASLt's matrices are column-major, so it computes out^T = B^T * A^T (gemm/cublas_lt.cpp).
void ExpertGemms::describe() {
  const cudaDataType_t input = cuda::library_types(plan_.input).cublas,
                       output = cuda::library_types(plan_.output).cublas;
  const auto n = static_cast<uint64_t>(columns_), k = static_cast<uint64_t>(plan_.k);
  const bool nn = plan_.operands == TILEPOST_NN;
  TILEPOST_BENCH_STATUS(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const cublasOperation_t of_b = nn ? CUBLAS_OP_N : CUBLAS_OP_T;
  TILEPOST_BENCH_STATUS(
      cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &of_b, sizeof of_b));
  TILEPOST_BENCH_STATUS(nn ? cublasLtMatrixLayoutCreate(&b_, input, n, k, columns_)
                           : cublasLtMatrixLayoutCreate(&b_, input, k, n, plan_.k));
  int64_t first = 0;
  for (const int32_t end : ends_) {
    Gemm& gemm = gemms_.emplace_back();
    gemm.first = first, gemm.rows = end - first, first = end;
    if (gemm.rows == 0) continue;
    const auto m = static_cast<uint64_t>(gemm.rows);
    TILEPOST_BENCH_STATUS(cublasLtMatrixLayoutCreate(&gemm.a, input, k, m, plan_.k));
    TILEPOST_BENCH_STATUS(cublasLtMatrixLayoutCreate(&gemm.out, output, n, m, columns_));
    find_candidates(gemm);
  }
}

void ExpertGemms::find_candidates(Gemm& gemm) const {
  cublasLtMatmulPreference_t preference = nullptr;
  TILEPOST_BENCH_STATUS(cublasLtMatmulPreferenceCreate(&preference));
  TILEPOST_BENCH_STATUS(
      cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &kLaneWorkspaceBytes, sizeof kLaneWorkspaceBytes));
  std::array<cublasLtMatmulHeuristicResult_t, kExpertCandidates> found{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, operation_, b_, gemm.a, gemm.out, gemm.out,
                                     preference, kExpertCandidates, found.data(), &count);
  cublasLtMatmulPreferenceDestroy(preference);
  check_status(status, "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; i < count; ++i)
    if (found[i].state == CUBLAS_STATUS_SUCCESS) gemm.candidates.push_back(found[i].algo);
  if (gemm.candidates.empty()) throw BenchError("cuBLASLt cannot compute an expert's product");
}

void ExpertGemms::launch_gemm(size_t expert, size_t candidate, const void* a, const void* b,
                              void* product, int lane, cudaStream_t stream) const {
  const Gemm& gemm = gemms_[expert];
  const float alpha = 1, beta = 0;
  const int64_t bytes_in = element_bytes(plan_.input), bytes_out = element_bytes(plan_.output);
  const auto* const rows = static_cast<const char*>(a) + gemm.first * plan_.k * bytes_in;
  const auto* const of_expert =
      static_cast<const char*>(b) + static_cast<int64_t>(expert) * columns_ * plan_.k * bytes_in;
  auto* const out = static_cast<char*>(product) + gemm.first * columns_ * bytes_out;
  TILEPOST_BENCH_STATUS(cublasLtMatmul(
      handle_, operation_, &alpha, of_expert, b_, rows, gemm.a, &beta, out, gemm.out, out, gemm.out,
      &gemm.candidates[candidate], workspaces_[lane].get(), kLaneWorkspaceBytes, stream));
}

void ExpertGemms::choose(const void* a, const void* b, void* out, cudaStream_t stream) {
  const cuda::Event end = make_lane_event();
  for (size_t expert = 0; expert < gemms_.size(); ++expert) {
    float least = std::numeric_limits<float>::max();
    for (size_t candidate = 0; candidate < gemms_[expert].candidates.size(); ++candidate) {
      const auto launch = [&] { launch_gemm(expert, candidate, a, b, product_of(out), 0, stream); };
      launch();
      TILEPOST_BENCH_CUDA(cudaEventRecord(begin_.get(), stream));
      for (int i = 0; i < kTimedLaunches; ++i) launch();
      TILEPOST_BENCH_CUDA(cudaEventRecord(end.get(), stream));
      TILEPOST_BENCH_CUDA(cudaEventSynchronize(end.get()));
      float milliseconds = 0;
      TILEPOST_BENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin_.get(), end.get()));
      if (milliseconds >= least) continue;
      least = milliseconds;
      gemms_[expert].fastest = candidate;
    }
  }
}

void ExpertGemms::launch(const void* a, const void* b, void* out, cudaStream_t stream) {
  TILEPOST_BENCH_CUDA(cudaEventRecord(begin_.get(), stream));
  for (int lane = 1; lane < kStreams; ++lane)
    TILEPOST_BENCH_CUDA(cudaStreamWaitEvent(streams_[lane].get(), begin_.get(), 0));
  int lane = 0;
  for (size_t expert = 0; expert < gemms_.size(); ++expert) {
    if (gemms_[expert].rows == 0) continue;
    launch_gemm(expert, gemms_[expert].fastest, a, b, product_of(out), lane,
                lane == 0 ? stream : streams_[lane].get());
    lane = (lane + 1) % kStreams;
  }
  for (lane = 1; lane < kStreams; ++lane) {
    TILEPOST_BENCH_CUDA(cudaEventRecord(ends_of_streams_[lane].get(), streams_[lane].get()));
    TILEPOST_BENCH_CUDA(cudaStreamWaitEvent(stream, ends_of_streams_[lane].get(), 0));
  }
  if (!products_) return;
  combine_gate({products_.get(), rows(), static_cast<int>(plan_.map.n), plan_.epilogue & kGateOps,
                plan_.gate == TILEPOST_GATE_INTERLEAVED, plan_.output},
               out, stream);
}

}  // namespace tilepost::bench
