// Operands whose sums are exact in bf16, and what must come out.
//
// Every element is -1, 0 or 1, so no partial sum exceeds ranks * k = 256, up to which bf16 holds
// every integer: the result is the same in any order of summation.
#pragma once

#include <tilepost/numeric.h>

#include <cstdint>
#include <random>
#include <vector>

#include "ffn_down.h"

namespace ffn_down = tilepost_gen_ffn_down;

static_assert(ffn_down::kRanks * ffn_down::kK <= 256, "sums would be rounded");

struct Operands {
  std::vector<tilepost::Bf16> a, b;  // [kM, kK], [kN, kK]
};

inline std::vector<tilepost::Bf16> random_matrix(std::mt19937& random, int64_t elements) {
  std::uniform_int_distribution<int> value(-1, 1);
  std::vector<tilepost::Bf16> matrix(elements);
  for (tilepost::Bf16& element : matrix) element = tilepost::to_bf16(float(value(random)));
  return matrix;
}

inline Operands random_operands(int rank) {
  std::mt19937 random(1 + rank);
  Operands made;
  made.a = random_matrix(random, ffn_down::kM * ffn_down::kK);
  made.b = random_matrix(random, ffn_down::kN * ffn_down::kK);
  return made;
}

// How many elements of `out` differ from the sum over `ranks` of a * b^T.
inline int64_t count_wrong(const std::vector<Operands>& ranks,
                           const std::vector<tilepost::Bf16>& out) {
  int64_t wrong = 0;
  for (int64_t m = 0; m < ffn_down::kM; ++m)
    for (int64_t n = 0; n < ffn_down::kN; ++n) {
      float sum = 0;
      for (const Operands& rank : ranks)
        for (int64_t k = 0; k < ffn_down::kK; ++k)
          sum += to_float(rank.a[m * ffn_down::kK + k]) * to_float(rank.b[n * ffn_down::kK + k]);
      wrong += to_float(out[m * ffn_down::kN + n]) != sum;
    }
  return wrong;
}
