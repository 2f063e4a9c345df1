// The MLP of mlp.h without tilepost: cuBLAS and NCCL, one after the other on one stream.
#pragma once

#include <cublas_v2.h>
#include <nccl.h>

#include "mlp.h"

namespace mlp {

// One rank's operands and results, device memory.
struct Buffers {
  void* x;            // [share, hidden]
  void* first;        // [2 * part, hidden]
  void* second;       // [hidden, part]
  void* gate_and_up;  // [tokens, 2 * part]
  void* inner;        // [tokens, part]
  void* y;            // [share, hidden]
};

class Sequence {
 public:
  // On the current device; ends the program if something fails. Ranks must divide the tokens.
  Sequence(const tilepost_unique_id_t& id, int rank);
  ~Sequence();
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  void run(const Buffers& buffers, cudaStream_t stream);

 private:
  // out[rows, n] = a[rows, k] * b[n, k]^T
  void multiply(const void* a, const void* b, void* out, int64_t rows, int64_t n, int64_t k);

  cublasHandle_t cublas_ = nullptr;
  ncclComm_t nccl_ = nullptr;
  void* gathered_ = nullptr;  // [tokens, hidden]
  void* product_ = nullptr;   // [tokens, hidden]
};

}  // namespace mlp
