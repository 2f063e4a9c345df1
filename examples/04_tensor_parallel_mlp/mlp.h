// The MLP's sizes and data: y = (silu(x * gate^T) * (x * up^T)) * down^T, without bias.
//
// Sequence parallelism: rank r has the r-th share of the tokens' rows, of x before and of y after,
// and the r-th part of gate's and up's rows and of down's columns.
#pragma once

#include <tilepost/numeric.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "down.h"
#include "gate_up.h"

namespace down = tilepost_gen_down;
namespace gate_up = tilepost_gen_gate_up;

namespace mlp {

inline constexpr int kRanks = gate_up::kRanks;
inline constexpr int64_t kTokens = gate_up::kM;
inline constexpr int64_t kHidden = gate_up::kK;
inline constexpr int64_t kPart = down::kK;  // of the inner width, on each rank
inline constexpr int64_t kInner = kPart * kRanks;
static_assert(down::kRanks == kRanks && down::kM == kTokens && down::kN == kHidden);
static_assert(gate_up::kN == 2 * kPart, "gate and up, one after the other");

// A share is ceil(tokens / ranks) rows, the last ones' what is left.
inline constexpr int64_t kShare = (kTokens + kRanks - 1) / kRanks;
constexpr int64_t first_token(int rank) {
  return std::min(rank * kShare, kTokens);
}
constexpr int64_t tokens_of(int rank) {
  return first_token(rank + 1) - first_token(rank);
}

using Matrix = std::vector<tilepost::Bf16>;  // row-major

struct Weights {
  Matrix gate, up;  // [inner, hidden]
  Matrix down;      // [hidden, inner]
};

// Random numbers, the same everywhere.
Matrix make_x();  // [tokens, hidden]
Weights make_weights();

// One rank's operands: b of gate_up is [2 * part, hidden], b of down is [hidden, part].
Matrix share_of_x(const Matrix& x, int rank);
Matrix gate_up_part(const Weights& weights, int rank);
Matrix down_part(const Weights& weights, int rank);

// How many elements of one token's row of y are not what the whole MLP gives in double precision,
// within what rounding to bf16 on the way explains.
int64_t count_wrong(const Matrix& x, const Weights& weights, int64_t token,
                    const tilepost::Bf16* y);

}  // namespace mlp
