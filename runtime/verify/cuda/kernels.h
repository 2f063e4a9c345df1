// The harness's own GPU kernels. They make operands from their hash, and a plain reference.
//
// They are written to be obviously right: one thread computes one element. They use no code of the
// kernels or collectives that are checked.
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/verify/audit/look.h"
#include "runtime/verify/reference/epilogue.h"

namespace tilepost::verify {

// data[i] = element i of the stream, encoded as `type`.
cudaError_t fill_operand(void* data, int64_t count, const Distribution& distribution,
                         uint64_t stream_id, tilepost_dtype_t type, cudaStream_t stream);

// data[i] = scale i of the stream.
cudaError_t fill_scales(float* data, int64_t count, const Distribution& distribution,
                        uint64_t stream_id, cudaStream_t stream);

// values[i][0 .. k) = row rows[i] of A, times the scales of its blocks.
cudaError_t fill_rows(float* values, const int64_t* rows, int64_t num_rows, const Problem& problem,
                      const Distribution& distribution, const RowSource& source,
                      cudaStream_t stream);

// values[i][0 .. k) = column i of B, for i < n, times the scales of its blocks, whose stream is
// `scales`.
cudaError_t fill_columns(float* values, const Problem& problem, const Distribution& distribution,
                         uint64_t stream_id, uint64_t scales, cudaStream_t stream);

// norms[i] = Euclidean norm of values[i][0 .. k).
cudaError_t row_norms(const float* values, int64_t num_rows, int64_t k, float* norms,
                      cudaStream_t stream);

// Adds one rank's result: add_partial() of a[i] . b[j] for output row output_rows[i], column j.
struct RankProducts {
  const float* a;        // [rows][k]
  const float* b;        // [cols][k]
  const float* a_norms;  // [rows]
  const float* b_norms;  // [cols]
  const int64_t* output_rows;
  int64_t rows, cols, k;
  ErrorWeights weights;
  EpilogueSource epilogue;
  double* sum;   // [rows][cols]
  float* bound;  // [rows][cols]
};

// Sums in fp32 if `exact`, when every partial sum is an integer below 2^24, and otherwise in fp64.
cudaError_t add_products(const RankProducts& products, bool exact, cudaStream_t stream);

// Calls finish() for every element. Stores the expected values, rounded to float, in `narrowed`.
struct FinishSums {
  const int64_t* output_rows;  // [rows]
  int64_t rows, cols;
  ErrorWeights weights;
  EpilogueSource epilogue;
  const double* sum;  // [rows][cols]
  float* bound;       // [rows][cols]
  float* narrowed;    // [rows][cols]
};
cudaError_t finish_sums(const FinishSums& sums, cudaStream_t stream);

// memory[i] = fill_word(i, which).
cudaError_t fill_words(uint32_t* memory, int64_t words, int which, cudaStream_t stream);

// Adds the findings of look_at_word() and look_at_counter() for all words to *found.
cudaError_t look_at_all(const Look& look, uint32_t* found, cudaStream_t stream);

}  // namespace tilepost::verify
