// The harness's own GPU kernels. They make data, compute a plain reference, compare results, and
// hold a stream at a gate.
//
// They are written to be obviously right, and use no code of the kernels that are measured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tilepost/dtype.h"

namespace tilepost::bench {

// The operations whose results are not exact.
inline constexpr int kActivations = TILEPOST_GELU | TILEPOST_SILU;

// Sets data[i] to a whole number that is a function of seed and i. Its magnitude is at most `max`,
// and it is not zero with probability `share`.
void fill_integers(void* data, int64_t count, tilepost_dtype_t type, uint64_t seed, int max,
                   double share, cudaStream_t stream);

// Sets data[i] to a standard normal number that is a function of seed and i.
void fill_normal(void* data, int64_t count, tilepost_dtype_t type, uint64_t seed,
                 cudaStream_t stream);

// Where the elements of an output lie.
struct Place {
  // [m, tile columns] the output's row that holds the elements of a row and tile column. Null if
  // the output is row-major.
  const int32_t* rows = nullptr;
  int tile_n = 1;  // the columns of a tile
  int length = 0;  // The elements of a row of the output: n, or tile_n if a row holds one tile's
                   // columns.
};

// The scales of blocks (tilepost_scales_t), in the orders that the reference and cuBLASLt take. All
// pointers are device pointers, and null without scales of blocks.
struct BlockScales {
  const float* a = nullptr;  // [m, ceil(k / 128)]
  const float* b = nullptr;  // [ceil(n / 128), ceil(k / 128)]
  // m contiguous, the next block's m rounded up to a multiple of 4 elements further on. The
  // elements between are 0.
  const float* cublas_a = nullptr;
  const float* cublas_b = nullptr;  // as b, with rows rounded up to a multiple of 4
};

// One product with the operands that the kernels got. All pointers are device pointers.
struct Product {
  const void* a;
  const void* b;
  tilepost_epilogue_t epilogue;
  tilepost_dtype_t input, output;
  int m, n, k;
  bool nn;         // whether B is [k, n]
  int operations;  // a set of TILEPOST_SCALE …
  BlockScales blocks = {};
};

// Adds to *wrong the number of elements of the given rows that differ from the expected product
// (fp32 sums, then epilogue, then rounding). If an activation makes results inexact, an element may
// be off by one unit in the last place. NaN is wrong.
void count_wrong(const Product& product, const void* out, const Place& place, const int32_t* rows,
                 int num_rows, unsigned long long* wrong, cudaStream_t stream);

// Adds to *wrong the number of wrong elements of `out`. An element is wrong if its bits are not
// those of the row-major `expected`, or if the expected element is still poison, whose every byte
// is 0xff.
void count_different(const void* out, tilepost_dtype_t type, const Place& place,
                     const void* expected, int m, int n, unsigned long long* wrong,
                     cudaStream_t stream);

// Copies the elements of `out` to [m, n] `rows`, row-major.
void make_row_major(const void* out, tilepost_dtype_t type, const Place& place, int m, int n,
                    void* rows, cudaStream_t stream);

// Copies row rows[i] of `from` to row i of `to`, for each of the `count` rows of `to`.
void gather_rows(const void* from, const int32_t* rows, int count, int64_t row_bytes, void* to,
                 cudaStream_t stream);

// Holds the stream until *word, in pinned host memory, has reached `value`, or until about 20 s
// have passed.
void gate(const uint32_t* word, uint32_t value, cudaStream_t stream);

// Loads the gate's kernel, so that it need not be loaded while another GPU waits at the gate.
void preload_gate();

}  // namespace tilepost::bench
