// The slow, obviously right twin of the host target: numbers, GEMM and AllReduce.
//
// Shares nothing with the product but tilepost_dtype_t: a 16-bit number is decoded and rounded here
// by arithmetic on double, not on bits.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tilepost/plan.h"

namespace reference {

using Matrix = std::vector<uint16_t>;  // 16-bit patterns, row-major

double decode(tilepost_dtype_t type, uint16_t bits);

// The nearest number of the type, ties to the one whose last bit is zero. A NaN gives some NaN.
uint16_t encode(tilepost_dtype_t type, double value);

// Either small integers, whose sums are exact in fp32, or numbers from -1 to 1 of all magnitudes
// down to 2^-8.
Matrix random_matrix(tilepost_dtype_t type, int64_t rows, int64_t cols, bool integers,
                     std::mt19937_64& random);

// One rank's A * B^T: fp32 sums with k in order, or exact ones in double, rounded once.
Matrix gemm(tilepost_dtype_t type, const Matrix& a, const Matrix& b, int64_t m, int64_t n,
            int64_t k, bool in_double);

// The sum over ranks, in their order, in fp32 or double, rounded once.
Matrix sum(tilepost_dtype_t type, const std::vector<Matrix>& terms, bool in_double);

}  // namespace reference
