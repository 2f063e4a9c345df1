// cublasLt as a measure for our kernels, and helpers to time it.
#ifndef TILEPOST_TESTS_GPU_CUBLAS_LT_CUH
#define TILEPOST_TESTS_GPU_CUBLAS_LT_CUH

#include <cublasLt.h>

#include <algorithm>
#include <vector>

#include "tests/gpu/plain_reference.cuh"

namespace plain {

#define CUBLAS(call) plain::check((call) == CUBLAS_STATUS_SUCCESS, #call, "cublasLt")

template <class T>
T* allocate(size_t count) {
  void* p;
  CUDA(cudaMalloc(&p, count * sizeof(T)));
  return static_cast<T*>(p);
}

// The median, or 0 if `v` is empty.
inline double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

// C^T[n, m] = B A^T in the column-major view of cublasLt, in bf16 with B [n, k].
class CublasLt {
 public:
  static constexpr size_t kWorkspace = 64 << 20;
  static constexpr int kCandidates = 8;

  CublasLt(int m, int n, int k) {
    CUBLAS(cublasLtCreate(&handle_));
    CUBLAS(cublasLtMatmulDescCreate(&multiply_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    CUBLAS(cublasLtMatmulDescSetAttribute(multiply_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                          sizeof(transposed)));
    CUBLAS(cublasLtMatrixLayoutCreate(&weights_, CUDA_R_16BF, k, n, k));
    CUBLAS(cublasLtMatrixLayoutCreate(&tokens_, CUDA_R_16BF, k, m, k));
    CUBLAS(cublasLtMatrixLayoutCreate(&out_, CUDA_R_16BF, n, m, n));
    cublasLtMatmulPreference_t preference;
    CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
    const size_t workspace = kWorkspace;
    CUBLAS(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof(workspace)));
    CUBLAS(cublasLtMatmulAlgoGetHeuristic(handle_, multiply_, weights_, tokens_, out_, out_,
                                          preference, kCandidates, candidates_, &found_));
    CUBLAS(cublasLtMatmulPreferenceDestroy(preference));
    workspace_ = allocate<uint8_t>(kWorkspace);
  }
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  ~CublasLt() {
    cudaFree(workspace_);
    cublasLtMatrixLayoutDestroy(weights_);
    cublasLtMatrixLayoutDestroy(tokens_);
    cublasLtMatrixLayoutDestroy(out_);
    cublasLtMatmulDescDestroy(multiply_);
    cublasLtDestroy(handle_);
  }

  int candidates() const { return found_; }
  void run(int candidate, const Operands& o, cudaStream_t stream) const {
    const float one = 1, zero = 0;
    CUBLAS(cublasLtMatmul(handle_, multiply_, &one, o.b, weights_, o.a, tokens_, &zero, o.c, out_,
                          o.c, out_, &candidates_[candidate].algo, workspace_, kWorkspace, stream));
  }
  // An attribute of the candidate, in cublasLt's numbers for tiles and shapes of clusters.
  int config(int candidate, cublasLtMatmulAlgoConfigAttributes_t attribute) const {
    int value = 0;
    size_t written;
    cublasLtMatmulAlgoConfigGetAttribute(&candidates_[candidate].algo, attribute, &value,
                                         attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID ? 2 : 4,
                                         &written);
    return value;
  }

 private:
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t multiply_;
  cublasLtMatrixLayout_t weights_, tokens_, out_;
  cublasLtMatmulHeuristicResult_t candidates_[kCandidates];
  int found_ = 0;
  uint8_t* workspace_;
};

}  // namespace plain

#endif
