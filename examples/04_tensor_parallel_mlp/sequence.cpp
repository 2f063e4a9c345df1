#include "sequence.h"

#include <cstring>

#include "check.h"
#include "swiglu.h"

namespace mlp {

Sequence::Sequence(const tilepost_unique_id_t& id, int rank) {
  ncclUniqueId nccl_id;
  static_assert(sizeof nccl_id == sizeof id.bytes);
  std::memcpy(&nccl_id, id.bytes, sizeof nccl_id);
  check(ncclCommInitRank(&nccl_, kRanks, nccl_id, rank));
  check(cublasCreate(&cublas_));
  for (void** buffer : {&gathered_, &product_})
    check(cudaMalloc(buffer, kTokens * kHidden * sizeof(tilepost::Bf16)));
}

Sequence::~Sequence() {
  check(cudaFree(gathered_));
  check(cudaFree(product_));
  check(cublasDestroy(cublas_));
  check(ncclCommDestroy(nccl_));
}

void Sequence::run(const Buffers& buffers, cudaStream_t stream) {
  check(cublasSetStream(cublas_, stream));
  check(ncclAllGather(buffers.x, gathered_, kShare * kHidden, ncclBfloat16, nccl_, stream));
  multiply(gathered_, buffers.first, buffers.gate_and_up, kTokens, 2 * kPart, kHidden);
  check(swiglu(buffers.gate_and_up, buffers.inner, kTokens, kPart, stream));
  multiply(buffers.inner, buffers.second, product_, kTokens, kHidden, kPart);
  check(ncclReduceScatter(product_, buffers.y, kShare * kHidden, ncclBfloat16, ncclSum, nccl_,
                          stream));
}

// cuBLAS counts by columns: out^T = b * a^T.
void Sequence::multiply(const void* a, const void* b, void* out, int64_t rows, int64_t n,
                        int64_t k) {
  const float one = 1, zero = 0;
  const int m = static_cast<int>(n), columns = static_cast<int>(rows), depth = static_cast<int>(k);
  check(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, m, columns, depth, &one, b, CUDA_R_16BF,
                     depth, a, CUDA_R_16BF, depth, &zero, out, CUDA_R_16BF, m, CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT));
}

}  // namespace mlp
