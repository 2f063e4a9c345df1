// The harness's own GPU kernels: data, a plain reference, comparison, a gate.
//
// They are written to be obviously right, and use nothing of the kernels that are measured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tilepost/dtype.h"

namespace tilepost::bench {

// Operations whose results are not exact.
inline constexpr int kActivations = TILEPOST_GELU | TILEPOST_SILU;

// data[i] = a whole number that is a function of seed and i. Its magnitude is at most `max`, and it
// is not zero with probability `share`.
void fill_integers(void* data, int64_t count, tilepost_dtype_t type, uint64_t seed, int max,
                   double share, cudaStream_t stream);

// data[i] = a standard normal number that is a function of seed and i.
void fill_normal(void* data, int64_t count, tilepost_dtype_t type, uint64_t seed,
                 cudaStream_t stream);

// Where the elements of an output lie.
struct Place {
  // [m, tile columns] the row where the elements of a row and tile column lie; null: the output is
  // row-major
  const int32_t* rows = nullptr;
  int tile_n = 1;  // columns of a tile
  int length = 0;  // elements of a row there: n, or tile_n if a row holds one tile's columns
};

// One product as the kernels got it, with device pointers.
struct Product {
  const void* a;
  const void* b;
  tilepost_epilogue_t epilogue;
  tilepost_dtype_t input, output;
  int m, n, k;
  bool nn;         // B is [k, n]
  int operations;  // a set of TILEPOST_SCALE …
};

// Adds to *wrong how many elements of the given rows differ from the expected product (fp32 sums,
// then epilogue, then rounding). If an activation makes inexact numbers, an element may be off by
// one unit in the last place. NaN is wrong.
void count_wrong(const Product& product, const void* out, const Place& place, const int32_t* rows,
                 int num_rows, unsigned long long* wrong, cudaStream_t stream);

// Adds to *wrong the number of elements of `out` whose bits are not those of the row-major
// `expected`, and of those that are still poison, of which every byte is 0xff.
void count_different(const void* out, tilepost_dtype_t type, const Place& place,
                     const void* expected, int m, int n, unsigned long long* wrong,
                     cudaStream_t stream);

// Row i of the `count` rows of `to` becomes row rows[i] of `from`.
void gather_rows(const void* from, const int32_t* rows, int count, int64_t row_bytes, void* to,
                 cudaStream_t stream);

// Holds the stream until *word, in pinned host memory, has reached `value`, or until some 20 s have
// passed.
void gate(const uint32_t* word, uint32_t value, cudaStream_t stream);

// Loads the gate's kernel, so that it is not loaded while another GPU waits at it.
void preload_gate();

}  // namespace tilepost::bench
