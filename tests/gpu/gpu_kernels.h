// Device code of the GPU tests: data, an independent reference, comparison, and a gate that lets
// streams on several GPUs start together. Nothing here is shared with the product.
//
// Data are whole numbers so small, and so few of them not zero, that every partial sum is exact in
// bf16: results are compared for equality, whatever the order of summation.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tilepost/plan.h"

namespace gpu_test {

struct Shape {
  int m, n, k, ranks;
};

// Fills `count` elements with -1, 0 or 1, a function of seed, rank, which matrix and position; the
// share of non-zeros falls with k * ranks.
void fill(void* data, int64_t count, tilepost_dtype_t type, const Shape& shape, uint32_t seed,
          int rank, int matrix, cudaStream_t stream);

// Normal numbers: what to time on. Small integers and zeros draw less power and let the GPU clock
// higher than real data does.
void fill_normal(void* data, int64_t count, tilepost_dtype_t type, uint32_t seed, int rank,
                 int matrix, cudaStream_t stream);

// sum[m, n] += a[m, k] * b[n, k]^T in float, by a plain tiled kernel on the ordinary cores.
void add_product(const void* a, const void* b, float* sum, tilepost_dtype_t type,
                 const Shape& shape, cudaStream_t stream);

// Where the elements of an output are: row-major, in slot order (rows from tilepost_op_info_t), or
// in a slab of `slab_rows` rows for each tile column.
struct Place {
  const int32_t* rows = nullptr;
  int tile_m = 1, tile_n = 1;
  int64_t slab_rows = 0;
};

// Adds to *mismatches the elements of `out` that differ from `expected`; those are the float sums
// or a row-major matrix of the same type. An expected value too large to be exact counts as wrong.
void compare(const void* out, const Place& place, const float* expected, tilepost_dtype_t type,
             const Shape& shape, unsigned long long* mismatches, cudaStream_t stream);
void compare(const void* out, const Place& place, const void* expected, tilepost_dtype_t type,
             const Shape& shape, unsigned long long* mismatches, cudaStream_t stream);

// As compare(), where row i of `out` is row listed[i] of `expected`. `out` has shape.m rows.
void compare_listed(const void* out, const Place& place, const float* expected,
                    const int32_t* listed, tilepost_dtype_t type, const Shape& shape,
                    unsigned long long* mismatches, cudaStream_t stream);

// Rows that ranks normalised: of row listed[i] of `expected`, with row i of `residual` added to it
// where that is not null, row i of `out` has to be x * rsqrt(mean(x^2) + epsilon) * weight but for
// one rounding, and row i of `kept` x itself. All but `expected` and `listed` of the plan's type.
struct NormedRows {
  const void* out;
  const void* kept;
  const void* residual;
  const void* weight;
  float epsilon;
};
void compare_normed(const NormedRows& rows, const float* expected, const int32_t* listed,
                    tilepost_dtype_t type, const Shape& shape, unsigned long long* mismatches,
                    cudaStream_t stream);

// How many of the output's elements, of 16 bits, differ, and the least row-major index of one.
struct Difference {
  unsigned long long count = 0, first = ~0ull;
};

// Adds to *difference, in device memory, the elements of `out` whose bits are not those of the
// row-major matrix `expected`. The poison 0xffff, a NaN no kernel computes, differs from itself.
void compare_bits(const void* out, const Place& place, const void* expected, const Shape& shape,
                  Difference* difference, cudaStream_t stream);

// Holds the stream until *word, in pinned host memory, has reached `value`, or 20 s have passed.
void gate(const uint32_t* word, uint32_t value, cudaStream_t stream);

// Loads all kernels above, so that none is loaded while a gate is closed.
void preload();

}  // namespace gpu_test
