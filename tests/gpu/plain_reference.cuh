// Data for the un-woven templates, and their right outputs. One thread computes each element, with
// arithmetic of its own.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <cstdint>

#include "tilepost/plan.h"

namespace plain {

__device__ inline uint32_t mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return static_cast<uint32_t>(x ^ (x >> 33));
}

// integers: from -4 to 4, whose products sum exactly even in the 14 bits of fast e4m3. random:
// uniform numbers in [-1, 1). powers: powers of two from 1/4 to 2, which scale exactly.
enum class Data { integers, random, powers };

template <class T>
__global__ void fill(T* p, size_t count, uint64_t seed, Data data) {
  for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < count; i += gridDim.x * size_t{256}) {
    const uint32_t h = mix(i * 2 + seed * 0x9e3779b97f4a7c15ull);
    const float x = data == Data::integers ? static_cast<float>(static_cast<int>(h % 9) - 4)
                    : data == Data::powers ? exp2f(static_cast<int>(h % 4) - 2)
                                           : static_cast<float>(h >> 8) * 0x1p-23f - 1.0f;
    p[i] = T(x);
  }
}

// One comparison: the operands that the kernel got, and its output.
struct Problem {
  const void *a, *b, *c;
  tilepost_shape_t shape;
  tilepost_epilogue_t epilogue;
  int ops;      // a set of TILEPOST_SCALE, …
  bool nn;      // B is [k, n]
  bool exact;   // whether all sums and products are exact, so that only the output is rounded
  float slack;  // of a sum, relative to the sum of the products' magnitudes
  float rounding;
};

// A value, and the largest distance of a right result from it.
struct Bounded {
  double value, bound;
};

// The epilogue in double. An error in x grows by the slope of an activation, which is at most 1.13.
// Activations also add errors of their own. In gelu erff is within 2 ulp of a number that is near
// -1 in the tail. silu divides by a fast exponential, which is wrong by up to 2^-15 where it is
// large.
template <class Out>
__device__ Bounded finish_reference(const Problem& p, Bounded x, int row, int col) {
  const tilepost_epilogue_t& e = p.epilogue;
  double scale = 1;
  if (p.ops & TILEPOST_SCALE) scale *= double(e.scale_a[0]) * double(e.scale_b[0]);
  if (p.ops & TILEPOST_SCALE_ROWS) scale *= double(e.scale_a[row]);
  if (p.ops & TILEPOST_SCALE_COLUMNS) scale *= double(e.scale_b[col]);
  x.value *= scale;
  x.bound = x.bound * fabs(scale) + fabs(x.value) * 0x1p-22;
  if ((p.ops & TILEPOST_BIAS) && e.bias) {
    x.value += double(float(static_cast<const Out*>(e.bias)[col]));
    x.bound += fabs(x.value) * 0x1p-24;
  }
  if (p.ops & (TILEPOST_GELU | TILEPOST_SILU)) {
    const double before = x.value;
    x.value = p.ops & TILEPOST_GELU ? 0.5 * before * erfc(-before * 0.70710678118654752440)
                                    : before / (1 + exp(-before));
    x.bound = 1.13 * x.bound + fabs(before) * 0x1p-22 + fabs(x.value) * 0x1p-15;
  }
  if (p.ops & TILEPOST_RESIDUAL) {
    x.value += double(
        float(static_cast<const Out*>(e.residual)[static_cast<size_t>(row) * p.shape.n + col]));
    x.bound += fabs(x.value) * 0x1p-24;
  }
  return x;
}

// Counts the wrong elements of C. If everything is exact, an element must be the rounded value.
// Otherwise rounding and the sum's bound limit its distance. Columns from n on must be poison,
// 0xffff.
template <class In, class Out>
__global__ void compare(Problem p, unsigned long long* wrong) {
  const tilepost_shape_t& s = p.shape;
  const int col = blockIdx.x * 32 + threadIdx.x;
  for (int row = blockIdx.y * 8 + threadIdx.y; row < s.m; row += gridDim.y * 8) {
    if (col >= s.ldc) return;
    const Out got = static_cast<const Out*>(p.c)[static_cast<size_t>(row) * s.ldc + col];
    bool ok;
    if (col >= s.n) {
      ok = reinterpret_cast<const uint16_t&>(got) == 0xffff;
    } else {
      const In* a = static_cast<const In*>(p.a) + static_cast<size_t>(row) * s.lda;
      const In* b = static_cast<const In*>(p.b) + (p.nn ? col : static_cast<size_t>(col) * s.ldb);
      const size_t step = p.nn ? s.ldb : 1;
      float sum = 0, magnitude = 0;
      for (int k = 0; k < s.k; ++k) {
        const float product = float(a[k]) * float(b[k * step]);
        sum += product;
        magnitude += fabsf(product);
      }
      const Bounded want = finish_reference<Out>(p, {sum, p.slack * magnitude}, row, col);
      ok = p.exact ? float(got) == float(Out(float(want.value)))
                   : fabs(float(got) - want.value) <=
                         want.bound + p.rounding * (fabs(want.value) + want.bound);
    }
    if (!ok) atomicAdd(wrong, 1ull);
  }
}

static __global__ void count_touched(const uint8_t* p, size_t count, unsigned long long* touched) {
  for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < count; i += gridDim.x * size_t{256})
    if (p[i] != 0xff) atomicAdd(touched, 1ull);
}

}  // namespace plain
