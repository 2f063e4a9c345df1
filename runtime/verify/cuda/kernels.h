// The harness's own GPU kernels: operands from their hash, and a plain reference.
//
// Written for being obviously right: one thread computes one element. Nothing of the product's
// kernels or collectives is used.
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/verify/reference.h"

namespace tilepost::verify {

// data[i] = element i of the stream, encoded as `type`.
cudaError_t fill_operand(uint16_t* data, int64_t count, const Distribution& distribution,
                         uint64_t stream_id, tilepost_dtype_t type, cudaStream_t stream);

// values[i][0 .. k) = row rows[i] of the matrix; rows may be null: row i.
cudaError_t fill_rows(float* values, const int64_t* rows, int64_t num_rows, int64_t k,
                      const Distribution& distribution, uint64_t stream_id, cudaStream_t stream);

// norms[i] = Euclidean norm of values[i][0 .. k).
cudaError_t row_norms(const float* values, int64_t num_rows, int64_t k, float* norms,
                      cudaStream_t stream);

// Adds one rank's products: with P = a[i] . b[j],
//   sum[i][j] += P;  bound[i][j] += weights.partial * |P| + weights.product * a_norms[i] *
//   b_norms[j]
struct RankProducts {
  const float* a;        // [rows][k]
  const float* b;        // [cols][k]
  const float* a_norms;  // [rows]
  const float* b_norms;  // [cols]
  int64_t rows, cols, k;
  ErrorWeights weights;
  double* sum;   // [rows][cols]
  float* bound;  // [rows][cols]
};

// Sums in fp32 where `exact` (every partial sum is an integer below 2^24), else in fp64.
cudaError_t add_products(const RankProducts& products, bool exact, cudaStream_t stream);

// target[i] = source[i].
cudaError_t narrow(const double* source, float* target, int64_t count, cudaStream_t stream);

}  // namespace tilepost::verify
