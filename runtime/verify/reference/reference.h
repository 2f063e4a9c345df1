// What the output must be: a plain sum of plain products, over ranks if the pattern sums them, put
// through the epilogue; and how far rounding may move it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/harness/plain_launch.h"
#include "runtime/map/patterns.h"
#include "runtime/verify/reference/data.h"

namespace tilepost::verify {

// The problem as the checks see it. `m` is that of runs, as operations are told it.
struct Problem {
  int64_t m, n, k;
  int ranks;
  tilepost_dtype_t input, output;
  tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE;
  tilepost_operands_t operands = TILEPOST_TN;
  tilepost_accumulate_t accumulate = TILEPOST_PRECISE;
  int epilogue = 0;  // a set of TILEPOST_SCALE …
  tilepost_layout_t layout = TILEPOST_PANEL;
  tilepost_routing_t routing = TILEPOST_ROUTING_EVEN;
  tilepost_consumer_t consumer = TILEPOST_CONSUMER_NONE;
  bool any_m = false;  // m is a bound
  int tile_m = 1, tile_n = 1;
  int64_t most_received = 0;  // where rows of A are routed: the most rows that any rank gets
  // A kernel that alone knows what it computes, as its author launches it. Null: the product is A ·
  // B.
  const harness::PlainLaunch* own = nullptr;

  // Whether products are summed over ranks. If not, every rank has a product of its own.
  bool sums() const { return row_of(pattern).sums; }
  // The number of ranks whose products are summed in one output.
  int summed() const { return sums() ? ranks : 1; }
  // The most rows of any rank's product.
  int64_t most_rows() const { return row_of(pattern).input_is_routed() ? most_received : m; }
  bool routed() const { return row_of(pattern).routes() && routing != TILEPOST_ROUTING_EVEN; }
  bool normalises() const { return consumer == TILEPOST_CONSUMER_RMS_NORM || keeps_sum(); }
  // Whether a residual is added before rows are normalised, and the sum is kept.
  bool keeps_sum() const { return consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM; }
  // Whether exact data gives exact outputs.
  bool linear() const { return (epilogue & (TILEPOST_GELU | TILEPOST_SILU)) == 0; }
  // The shape that a kernel is given for a product of so many rows, row-major.
  tilepost_shape_t shape(int64_t rows) const {
    const auto size = [](int64_t x) { return static_cast<int32_t>(x); };
    return {size(rows), size(n), size(k), size(k), size(operands == TILEPOST_NN ? n : k), size(n)};
  }
  // The index of element (at_k, at_n) of B.
  int64_t b_index(int64_t at_k, int64_t at_n) const {
    return operands == TILEPOST_NN ? at_k * n + at_n : at_n * k + at_k;
  }
};

// How A and B are drawn for a check of `kind`.
Distribution distribution_of(DataKind kind, const Problem& problem);

// How far rounding to an output's type may move a number: relative to it, and below the normal
// range by a step.
double half_unit(tilepost_dtype_t type);
double least_step(tilepost_dtype_t type);

// The weights of an element's error bound. Rank r's exact sum of products is P_r; with scale and
// bias it is v_r. |a_r| and |b_r| are the Euclidean norms of its row of A and column of B. The
// operations that follow the sum x of the v_r give y.
//   e = sum (partial |v_r| + scale product |a_r| |b_r| + arithmetic (|scale P_r| + |bias|))
//   bound = slope e + activation (1 + |x|) + arithmetic |y| + last |y| + absolute
struct ErrorWeights {
  float partial = 0, product = 0, absolute = 0;
  float arithmetic = 0, slope = 1, activation = 0, last = 0;
};

// The weights are zero for exact data without gelu and silu. Otherwise they are the worst case of
// the accumulation of k products on each rank, of the epilogue in fp32, of one rounding of each
// rank's result to the output type, and of one rounding per hop of the sum.
ErrorWeights error_weights(DataKind kind, const Problem& problem);

// The rank that a row of a matrix over all ranks comes from, and which of that rank's rows it is.
struct RowOrigin {
  int rank;
  int64_t row;
};

// A part of the reference: rows[0 .. num_rows) of the output, num_rows * n elements, of the sum of
// ranks first_rank .. end_rank - 1.
struct ReferenceJob {
  Problem problem;
  Distribution distribution;
  ErrorWeights weights;
  uint64_t seed;
  int run;
  int first_rank, end_rank;
  const int64_t* rows;
  int64_t num_rows;
  float* sum;    // [num_rows * n] the expected value
  float* bound;  // [num_rows * n] the largest error allowed
  // Where the rows of A come from that a rank multiplies; empty: they are the rank's own.
  std::span<const RowOrigin> origins = {};
};

// The rows to check of `rows` rows: all of them, unless rows * n * k * ranks exceeds
// `max_products`. Then they are a sorted sample of what `max_products` affords: the first row, the
// last, and random ones.
std::vector<int64_t> rows_to_check(const Problem& problem, int64_t rows, double max_products,
                                   uint64_t seed);

// Where the elements of a row come from, if one rank has the matrix or all ranks have it together.
struct RowSource {
  uint64_t seed;
  int run, rank;
  const RowOrigin* origins;  // by row; null: all rows are those of `rank`

  TILEPOST_VERIFY_INLINE uint64_t stream(int64_t row, Matrix matrix = Matrix::a) const {
    return stream_of(seed, run, origins == nullptr ? rank : origins[row].rank, matrix);
  }
  TILEPOST_VERIFY_INLINE int64_t row_there(int64_t row) const {
    return origins == nullptr ? row : origins[row].row;
  }
};

}  // namespace tilepost::verify
