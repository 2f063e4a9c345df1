// The expected output, and its error bound. The output is a plain sum of plain products, over ranks
// if the pattern sums them, which goes through the epilogue. The bound says how far rounding may
// move it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/harness/plain_launch.h"
#include "runtime/map/patterns.h"
#include "runtime/verify/reference/data.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost::verify {

// The problem, as the checks use it. `m` is the m that runs pass to operations.
struct Problem {
  int64_t m, n, k;
  int ranks;
  tilepost_dtype_t input, output;
  tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE;
  tilepost_operands_t operands = TILEPOST_TN;
  tilepost_accumulate_t accumulate = TILEPOST_PRECISE;
  int epilogue = 0;  // a set of TILEPOST_SCALE …
  tilepost_scales_t scales = TILEPOST_SCALES_NONE;
  tilepost_scales_order_t scales_a = TILEPOST_SCALES_ROWS;
  // Whether the output is quantised to 8 bits with scales of blocks. `output` is then the type of
  // the product before that.
  bool quantised = false;
  tilepost_scales_order_t scales_out = TILEPOST_SCALES_ROWS;
  tilepost_layout_t layout = TILEPOST_PANEL;
  tilepost_routing_t routing = TILEPOST_ROUTING_EVEN;
  tilepost_consumer_t consumer = TILEPOST_CONSUMER_NONE;
  bool any_m = false;  // whether m is a bound
  int tile_m = 1, tile_n = 1;
  int64_t most_received = 0;  // the most rows that any rank gets, if rows of A or tokens are routed
  int top = 0;                // if tokens go to experts: the experts of a token
  int experts = 0;            // with rows sorted by expert: how many B there are; otherwise 0
  tilepost_gate_t gate = TILEPOST_GATE_HALVES;
  // A kernel that alone knows what it computes, launched in its author's way. If null, the product
  // is A · B.
  const harness::PlainLaunch* own = nullptr;

  // Whether products are summed over ranks. If not, every rank has a product of its own.
  bool sums() const { return row_of(pattern).sums; }
  // The number of ranks whose products are summed in one output.
  int summed() const { return sums() ? ranks : 1; }
  // Whether rows are those of tokens, which a routing has sent to experts, and whether tokens are
  // gathered, or their rows summed.
  bool has_tokens() const { return row_of(pattern).has_tokens(); }
  bool dispatches() const { return row_of(pattern).dispatches(); }
  bool combines() const { return row_of(pattern).combines(); }
  // The most rows of any rank's product.
  int64_t most_rows() const {
    return row_of(pattern).input_is_routed() || has_tokens() ? most_received : m;
  }
  // The most rows of A that come together on a rank.
  int64_t most_gathered() const { return dispatches() ? m : most_rows(); }
  bool routed() const { return row_of(pattern).routes() && routing != TILEPOST_ROUTING_EVEN; }
  bool normalises() const { return consumer == TILEPOST_CONSUMER_RMS_NORM || keeps_sum(); }
  // Whether a residual is added before rows are normalised, so that the sum is kept.
  bool keeps_sum() const { return consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM; }
  // Whether exact data gives exact outputs.
  bool linear() const {
    return (epilogue & (TILEPOST_GELU | TILEPOST_SILU)) == 0 && !combines_gate(epilogue);
  }
  // How many blocks a row of A has along k; 0 unless blocks have scales.
  int64_t blocks() const { return scales == TILEPOST_SCALES_NONE ? 0 : (k + kBlock - 1) / kBlock; }
  static constexpr int64_t kBlock = 128;  // elements along k, of A, and along n and k, of B
  // The type of the output.
  tilepost_dtype_t type_of_out() const { return quantised ? TILEPOST_E4M3 : output; }
  // The rows of a B: an expert's, where there are experts.
  int64_t rows_of_b() const { return rows_of_expert(epilogue, n); }
  // How many B there are.
  int64_t num_b() const { return experts > 0 ? experts : 1; }
  // The argument `shape` of a kernel for a product of `rows` rows, row-major.
  tilepost_shape_t shape(int64_t rows) const {
    const auto size = [](int64_t x) { return static_cast<int32_t>(x); };
    return {size(rows), size(n), size(k), size(k), size(operands == TILEPOST_NN ? n : k), size(n)};
  }
  // The index of element (at_k, at_n) of B.
  int64_t b_index(int64_t at_k, int64_t at_n) const {
    return operands == TILEPOST_NN ? at_k * n + at_n : at_n * k + at_k;
  }
};

// The distribution of A and B for a check of `kind`.
Distribution distribution_of(DataKind kind, const Problem& problem);

// How far rounding to an output's type may move a number: half_unit() relative to the number, and
// least_step() below the normal range.
double half_unit(tilepost_dtype_t type);
double least_step(tilepost_dtype_t type);

// The weights of an element's error bound. Rank r's exact sum of products is P_r. With scale and
// bias it is v_r. |a_r| and |b_r| are the Euclidean norms of the rank's row of A and column of B. x
// is the sum of the v_r, and y is the result of the operations that follow this sum.
//   e = sum (partial |v_r| + scale product |a_r| |b_r| + arithmetic (|scale P_r| + |bias|))
//   bound = slope e + activation (1 + |x|) + arithmetic |y| + last |y| + absolute
struct ErrorWeights {
  float partial = 0, product = 0, absolute = 0;
  float arithmetic = 0, slope = 1, activation = 0, last = 0;
};

// The weights are zero for exact data without gelu and silu. Otherwise they cover the worst case of
// these errors: of accumulating k products on each rank, of the epilogue in fp32, of one rounding
// of each rank's result to the output type, and of one rounding for each hop of the sum.
ErrorWeights error_weights(DataKind kind, const Problem& problem);

// The rank from which a row of a matrix over all ranks comes, and the number of the row on that
// rank.
struct RowOrigin {
  int rank;
  int64_t row;
};

// A part of the reference: rows[0 .. num_rows) of the output, num_rows * n elements, summed over
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
  // The origins of the rows of A that a rank multiplies. If empty, they are the rank's own rows.
  std::span<const RowOrigin> origins = {};
  int expert = 0;  // to which all of the rows belong
};

// The rows to check of `rows` rows. They are all rows, unless rows * n * k * ranks exceeds
// `max_products`. Then they are a sorted sample that `max_products` affords: the first row, the
// last row, and random ones.
std::vector<int64_t> rows_to_check(const Problem& problem, int64_t rows, double max_products,
                                   uint64_t seed);

// The origin of the elements of a row, for a matrix of one rank or one that all ranks have
// together.
struct RowSource {
  uint64_t seed;
  int run, rank;
  const RowOrigin* origins;  // by row; if null, all rows are those of `rank`

  TILEPOST_VERIFY_INLINE uint64_t stream(int64_t row, Matrix matrix = Matrix::a) const {
    return stream_of(seed, run, origins == nullptr ? rank : origins[row].rank, matrix);
  }
  TILEPOST_VERIFY_INLINE int64_t row_there(int64_t row) const {
    return origins == nullptr ? row : origins[row].row;
  }
};

}  // namespace tilepost::verify
