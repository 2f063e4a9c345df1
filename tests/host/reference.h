// A slow twin of the host target that is easily seen to be right: numbers, GEMM and AllReduce.
//
// It shares only tilepost_dtype_t with the product. It decodes and rounds 16-bit numbers by
// arithmetic on double, not on bits.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tilepost/plan.h"

namespace reference {

using Matrix = std::vector<uint16_t>;  // 16-bit patterns, row-major

double decode(tilepost_dtype_t type, uint16_t bits);

// The nearest number of the type. A tie goes to the number whose last bit is zero. A NaN gives a
// NaN.
uint16_t encode(tilepost_dtype_t type, double value);

// Either small integers, whose sums are exact in fp32, or numbers from -1 to 1 of all magnitudes
// down to 2^-8.
Matrix random_matrix(tilepost_dtype_t type, int64_t rows, int64_t cols, bool integers,
                     std::mt19937_64& random);

// One rank's A * B^T, rounded once. The sums are in fp32 with k in order, or exact in double.
Matrix gemm(tilepost_dtype_t type, const Matrix& a, const Matrix& b, int64_t m, int64_t n,
            int64_t k, bool in_double);

// The sum over ranks in their order, in fp32 or double, rounded once.
Matrix sum(tilepost_dtype_t type, const std::vector<Matrix>& terms, bool in_double);

}  // namespace reference
