// GPU kernels of what experts are measured against. They use no code of the kernels that are
// measured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/bench/experts/sampled_rows.h"
#include "tilepost/plan.h"

namespace tilepost::bench {

// The products of gate and of up, as they lie side by side in memory.
struct GateProducts {
  const void* both;  // [rows, 2 n]
  int64_t rows;
  int n;                  // columns of the result, a multiple of 8
  int operation;          // one of kGateOps
  bool alternating;       // whether gate and up alternate, otherwise each has a half of a row
  tilepost_dtype_t type;  // of both and of the result: two bytes
};

// Combines gate and up into `out`, [rows, n], in fp32, rounded once.
void combine_gate(const GateProducts& products, void* out, cudaStream_t stream);

// The rows of tokens on a rank (TokenRows, load.h), in device memory.
struct TokenRowTable {
  const int32_t* rows;   // [tokens, top] the last ones perhaps -1
  const float* weights;  // [tokens, top]
  int64_t tokens;
  int top;
};

// Sums the rows of each token with their weights into `out`, [tokens, n], in fp32, rounded once.
// Rows and sums have two bytes for an element, and n is a multiple of 8.
void sum_rows(const void* products, const TokenRowTable& table, int n, tilepost_dtype_t type,
              void* out, cudaStream_t stream);

// The product of one rank's rows and experts, for the reference.
struct SampledProduct {
  const void *a, *b;      // [rows, k], and [experts, n, k] or with nn [experts, k, n]
  tilepost_dtype_t type;  // of both: two bytes
  int n, k;
  bool nn;
};

// Adds weight * (row times its expert's B) to sums[sample], for each of `count` rows. `sums` is
// [samples, n]. In any order: all numbers are whole.
void add_sampled(const SampledProduct& product, const SampledRow* rows, int count, float* sums,
                 cudaStream_t stream);

// Adds to *wrong the number of elements that differ from sums[sample] in row tokens[sample] of
// `out`, which has rows of n elements. NaN differs.
void count_unlike(const void* out, const float* sums, const int32_t* tokens, int samples, int n,
                  tilepost_dtype_t type, unsigned long long* wrong, cudaStream_t stream);

// Adds to *wrong the number of elements of `out` that differ from `expected`. All bits count,
// unless `operation`, one of kGateOps or 0, is not exact on whole numbers: then a number may be off
// by two units in the last place. Elements of `expected` whose every byte is 0xff were not
// computed, and are wrong.
void count_apart(const void* out, const void* expected, int64_t count, tilepost_dtype_t type,
                 int operation, unsigned long long* wrong, cudaStream_t stream);

}  // namespace tilepost::bench
