// Data for gemm_sm90_small, and its right output: sums in fp64, computed once for many kernels.
#ifndef TILEPOST_TESTS_GPU_SMALL_REFERENCE_CUH
#define TILEPOST_TESTS_GPU_SMALL_REFERENCE_CUH

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tests/gpu/plain_reference.cuh"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace small {

using tilepost::DType;

// ---- Data

enum class Data { integers, normal };  // integers: from -4 to 4; normal: of mean 0 and variance 1

__device__ inline float value_at(size_t i, uint64_t seed, Data data) {
  const uint32_t h = plain::mix(i * 2 + seed * 0x9e3779b97f4a7c15ull);
  if (data == Data::integers) return static_cast<float>(static_cast<int>(h % 9) - 4);
  const uint32_t g = plain::mix(i * 2 + 1 + seed * 0x9e3779b97f4a7c15ull);
  const float radius = sqrtf(-2.0f * logf((static_cast<float>(h >> 8) + 1.0f) * 0x1p-24f));
  return radius * cospif(static_cast<float>(g >> 8) * 0x1p-23f);
}

template <class T>
__global__ void fill_as(T* p, size_t count, uint64_t seed, Data data) {
  for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < count; i += gridDim.x * size_t{256})
    p[i] = static_cast<T>(value_at(i, seed, data));
}

inline void fill(DType type, void* p, size_t count, uint64_t seed, Data data) {
  if (type == DType::bf16)
    fill_as<<<1024, 256>>>(static_cast<__nv_bfloat16*>(p), count, seed, data);
  else if (type == DType::f16)
    fill_as<<<1024, 256>>>(static_cast<__half*>(p), count, seed, data);
  else
    fill_as<<<1024, 256>>>(static_cast<__nv_fp8_e4m3*>(p), count, seed, data);
}

// ---- Reference: sums in fp64, and the sums of the products' magnitudes

template <class T>
__global__ void reference_as(const T* a, const T* b, tilepost_shape_t s, bool nn, double* sums,
                             float* magnitudes) {
  __shared__ float tokens[8][33], weights[32][33];
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  double sum = 0;
  float magnitude = 0;
  for (int k0 = 0; k0 < s.k; k0 += 32) {
    const int k = k0 + threadIdx.x;
    tokens[threadIdx.y][threadIdx.x] =
        row < s.m && k < s.k ? static_cast<float>(a[size_t(row) * s.lda + k]) : 0;
    for (int i = threadIdx.y; i < 32; i += 8) {
      const int n = blockIdx.x * 32 + (nn ? threadIdx.x : i), at = k0 + (nn ? i : threadIdx.x);
      const size_t index = nn ? size_t(at) * s.ldb + n : size_t(n) * s.ldb + at;
      weights[nn ? threadIdx.x : i][nn ? i : threadIdx.x] =
          n < s.n && at < s.k ? static_cast<float>(b[index]) : 0;
    }
    __syncthreads();
    for (int i = 0; i < 32; ++i) {
      const float product = tokens[threadIdx.y][i] * weights[threadIdx.x][i];
      sum += static_cast<double>(tokens[threadIdx.y][i]) * weights[threadIdx.x][i];
      magnitude += fabsf(product);
    }
    __syncthreads();
  }
  if (row >= s.m || col >= s.n) return;
  sums[size_t(row) * s.n + col] = sum;
  magnitudes[size_t(row) * s.n + col] = magnitude;
}

inline void reference(DType type, const void* a, const void* b, const tilepost_shape_t& s, bool nn,
                      double* sums, float* magnitudes) {
  const dim3 blocks((s.n + 31) / 32, (s.m + 7) / 8), threads(32, 8);
  const auto run = [&](auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    reference_as<<<blocks, threads>>>(static_cast<const T*>(a), static_cast<const T*>(b), s, nn,
                                      sums, magnitudes);
  };
  if (type == DType::bf16)
    run(static_cast<__nv_bfloat16*>(nullptr));
  else if (type == DType::f16)
    run(static_cast<__half*>(nullptr));
  else
    run(static_cast<__nv_fp8_e4m3*>(nullptr));
}

// The result of the epilogue for a sum, in fp64 and in the order of plan.h. `slope` is a bound on
// how much the epilogue enlarges an error of the sum.
template <class T>
__device__ double apply(const tilepost_epilogue_t& e, int ops, double x, int row, int col, int n,
                        double& slope) {
  slope = 1;
  if (ops & TILEPOST_SCALE) slope *= static_cast<double>(e.scale_a[0]) * e.scale_b[0];
  if (ops & TILEPOST_SCALE_ROWS) slope *= e.scale_a[row];
  if (ops & TILEPOST_SCALE_COLUMNS) slope *= e.scale_b[col];
  x *= slope;
  slope = 1.2 * fabs(slope);
  if (ops & TILEPOST_BIAS) x += static_cast<float>(static_cast<const T*>(e.bias)[col]);
  if (ops & TILEPOST_GELU) x = x * normcdf(x);
  if (ops & TILEPOST_SILU) x = x / (1 + exp(-x));
  if (ops & TILEPOST_RESIDUAL)
    x += static_cast<float>(static_cast<const T*>(e.residual)[size_t(row) * n + col]);
  return x;
}

struct Bound {
  bool exact;      // whether the sum has no rounding and the epilogue changes nothing
  float rounding;  // of the output, relative to it
  float summing;   // of the sum, relative to the sum of magnitudes
};

// Counts the wrong elements of C. Columns from n on must be poison.
template <class T>
__global__ void compare_as(const T* c, const double* sums, const float* magnitudes,
                           tilepost_shape_t s, tilepost_epilogue_t epilogue, int ops, Bound bound,
                           unsigned long long* wrong) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= s.m || col >= s.ldc) return;
  const T got = c[size_t(row) * s.ldc + col];
  bool ok;
  if (col >= s.n) {
    ok = reinterpret_cast<const uint16_t&>(got) == 0xffff;
  } else {
    const size_t at = size_t(row) * s.n + col;
    double slope;
    const double x = apply<T>(epilogue, ops, sums[at], row, col, s.n, slope);
    const double error = fabs(static_cast<double>(static_cast<float>(got)) - x);
    ok = bound.exact
             ? static_cast<float>(got) == static_cast<float>(static_cast<T>(static_cast<float>(x)))
             : error <= bound.rounding * fabs(x) + slope * bound.summing * magnitudes[at] + 1e-5;
  }
  if (!ok) atomicAdd(wrong, 1ull);
}

static __global__ void count_different(const uint16_t* p, const uint16_t* q, size_t count,
                                       unsigned long long* different) {
  for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < count; i += gridDim.x * size_t{256})
    if (p[i] != q[i]) atomicAdd(different, 1ull);
}

}  // namespace small

#endif  // TILEPOST_TESTS_GPU_SMALL_REFERENCE_CUH
