// Operands of the chain (chain.cpp) out of seeds, and its result in fp64.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace chain {

// A matrix of e4m3 with scales of blocks in device memory.
struct Scaled {
  uint8_t* elements;
  float* scales;
};

// Fills rows x columns elements with normal random numbers in e4m3, and the scales of their blocks
// with random numbers around `size`. A block is `block_rows` rows high. The same seed gives the
// same numbers on every device.
void fill(const Scaled& matrix, int64_t rows, int64_t columns, int block_rows, float size,
          uint64_t seed, cudaStream_t stream);

// Fills with normal random numbers in bf16 around `mean`.
void fill_bf16(void* elements, int64_t count, float mean, uint64_t seed, cudaStream_t stream);

// product[i, j] (+)= sum over k of a[rows[i], k] * b[j, k] in fp64, for all n rows j of B. A's
// blocks are one row high and B's 128.
void multiply(const Scaled& a, const int* rows, int num_rows, const Scaled& b, int64_t n, int64_t k,
              bool adds, double* product, cudaStream_t stream);
// The same for an A in fp64, whose rows i are those of the product.
void multiply(const double* a, int num_rows, const Scaled& b, int64_t n, int64_t k, double* product,
              cudaStream_t stream);

// Each of num_rows rows x of n elements becomes (x + r) / sqrt(mean((x + r)^2) + epsilon) * weight,
// in fp64. r is row rows[i] of the bf16 matrix `residual`.
void norm(double* x, const int* rows, int num_rows, int64_t n, const void* residual,
          const void* weight, float epsilon, cudaStream_t stream);

// Adds the squares of difference[0] = got - wanted and of wanted over the rows of `got`, a bf16
// matrix of n columns: squares[0] and squares[1].
void compare(const void* got, const int* rows, int num_rows, int64_t n, const double* wanted,
             double* squares, cudaStream_t stream);

}  // namespace chain
