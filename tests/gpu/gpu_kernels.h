// Device code of the GPU tests: data, an independent reference, comparison, and a gate that lets
// streams on several GPUs start together. It shares no code with the product.
//
// The data are small whole numbers, and few of them are not zero. So every partial sum is exact in
// bf16, and results are compared for equality whatever the order of summation is.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tilepost/plan.h"

namespace gpu_test {

struct Shape {
  int m, n, k, ranks;
};

// Fills `count` elements with -1, 0 or 1, which depend on the seed, the rank, the number of the
// matrix, and the position. Fewer elements are not zero for larger k * ranks.
void fill(void* data, int64_t count, tilepost_dtype_t type, const Shape& shape, uint32_t seed,
          int rank, int matrix, cudaStream_t stream);

// Fills elements with normal numbers, for measuring times. With small integers and zeros a GPU
// draws less power and clocks higher than with real data.
void fill_normal(void* data, int64_t count, tilepost_dtype_t type, uint32_t seed, int rank,
                 int matrix, cudaStream_t stream);

// Fills `count` scales of blocks with 1 or 2, which depend on the seed, the rank, the number of the
// matrix, and the position. So scaled sums are whole numbers too.
void fill_scales(float* scales, int64_t count, uint32_t seed, int rank, int matrix,
                 cudaStream_t stream);

// The scales of blocks of 128 elements along k, row-major: of each row of A, and of each 128 rows
// of B. Null: elements stand for themselves.
struct BlockScales {
  const float* a = nullptr;
  const float* b = nullptr;
};

// sum[m, n] += a[m, k] * b[n, k]^T in float, by a plain tiled kernel without tensor cores.
void add_product(const void* a, const void* b, const BlockScales& scales, float* sum,
                 tilepost_dtype_t type, const Shape& shape, cudaStream_t stream);

// The places of an output's elements: row-major, in slot order (with the rows of
// tilepost_op_info_t), or with a slab of `slab_rows` rows for each tile column.
struct Place {
  const int32_t* rows = nullptr;
  int tile_m = 1, tile_n = 1;
  int64_t slab_rows = 0;
};

// Adds to *mismatches how many elements of `out` differ from `expected`: float sums, or a row-major
// matrix of the same type. An expected value that is too large to be exact counts as wrong.
void compare(const void* out, const Place& place, const float* expected, tilepost_dtype_t type,
             const Shape& shape, unsigned long long* mismatches, cudaStream_t stream);
void compare(const void* out, const Place& place, const void* expected, tilepost_dtype_t type,
             const Shape& shape, unsigned long long* mismatches, cudaStream_t stream);

// Compares row i of `out` with row listed[i] of `expected`. `out` has shape.m rows.
void compare_listed(const void* out, const Place& place, const float* expected,
                    const int32_t* listed, tilepost_dtype_t type, const Shape& shape,
                    unsigned long long* mismatches, cudaStream_t stream);

// Rows that ranks have normalised. Let x be row listed[i] of `expected`, with row i of `residual`
// added if that is not null. Then row i of `out` must be x * rsqrt(mean(x^2) + epsilon) * weight
// with at most one rounding, and row i of `kept` must be x. All but `expected` and `listed` have
// the plan's type.
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

// Rows of e4m3, row-major, with a scale for each 128 columns of a row, row-major too. Let x be a
// block of row listed[i] of `expected`. The scale of that block of row i must be the greatest
// magnitude in it divided by 448, or 1 if all are zero, and each element must be x / scale with at
// most one rounding to e4m3.
struct QuantisedRows {
  const void* out;
  const float* scales;
};
void compare_quantised(const QuantisedRows& rows, const float* expected, const int32_t* listed,
                       const Shape& shape, unsigned long long* mismatches, cudaStream_t stream);

// How many 16-bit elements of the output differ, and the least row-major index of one of them.
struct Difference {
  unsigned long long count = 0, first = ~0ull;
};

// Adds to *difference, in device memory, the elements of `out` whose bits differ from the row-major
// matrix `expected`. An element 0xffff, the poison, always counts: it is a NaN that no kernel
// computes.
void compare_bits(const void* out, const Place& place, const void* expected, const Shape& shape,
                  Difference* difference, cudaStream_t stream);

// Holds the stream until *word, in pinned host memory, has reached `value`, for at most 20 s.
void gate(const uint32_t* word, uint32_t value, cudaStream_t stream);

// Loads all kernels above, so that no kernel is loaded while a gate is closed.
void preload();

}  // namespace gpu_test
