// The layer's sizes and operands, and the layer as a whole for comparison.
#pragma once

#include <tilepost/numeric.h>

#include <vector>

#include "experts_layer.h"

namespace layer = tilepost_gen_experts_layer;

constexpr int kRanks = layer::kRanks;
constexpr int kHidden = layer::kK, kInner = layer::kN;
constexpr int kExperts = 16, kTop = 4;  // as in the spec
constexpr int kMostTokens = layer::kM / kRanks;
constexpr int kExpertsOfRank = kExperts / kRanks;

using Matrix = std::vector<tilepost::Bf16>;

// What a rank has. Row-major; gate and up of an expert lie one behind the other.
struct Operands {
  int tokens;                  // may differ between ranks
  Matrix hidden;               // [tokens, hidden]
  std::vector<int> ids;        // [tokens, top] each token's experts
  std::vector<float> weights;  // [tokens, top] and what they weigh
  Matrix gate_up;              // [own experts, 2 * inner, hidden]
  Matrix down;                 // [own experts, hidden, inner]
};
Operands random_operands(int rank);

// The largest difference between `out` [tokens, hidden] of a rank and the layer in double
// precision, relative to the largest element.
double error_of(const std::vector<Operands>& ranks, int rank, const Matrix& out);
