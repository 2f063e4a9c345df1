// CUDA's words for a kernel that is run on the CPU, a thread of a block at a time: enough to see
// where it stores. Shared memory holds what the threads before this one left there; __syncthreads()
// does nothing.
#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __restrict__ __restrict
#define printf(...) 0

struct uint3 {
  unsigned x, y, z;
};
using dim3 = uint3;
inline uint3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;
inline void __syncthreads() {}

struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
inline float2 make_float2(float x, float y) {
  return {x, y};
}
struct __half {
  uint16_t bits;
};
struct __half2 {
  __half x, y;
};
using half = __half;
using half2 = __half2;
inline half2 __floats2half2_rn(float x, float y) {
  return {{static_cast<uint16_t>(x)}, {static_cast<uint16_t>(y)}};
}
template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}
