// Random operands that any rank can make again, because every element is a function of its place.
//
// An element follows from (seed, run, rank, matrix, index) by a hash. So any rank can make any
// other rank's operands again, bit for bit, on the host and on a GPU. All values are exactly
// representable in their type, and values of f32 also in TF32, so that encoding never rounds. This
// file uses none of the code that is checked.
#pragma once

#include <cstdint>
#include <cstring>

#include "tilepost/dtype.h"
#include "tilepost/plan.h"

#ifdef __CUDACC__
#define TILEPOST_VERIFY_INLINE __host__ __device__ inline
#else
#define TILEPOST_VERIFY_INLINE inline
#endif

namespace tilepost::verify {

enum class Matrix : uint32_t {
  a = 0,
  b = 1,
  scale_a = 2,
  scale_b = 3,
  bias = 4,
  residual = 5,
  norm_weight = 6,
  norm_residual = 7,
  user = 8  // this and higher numbers: data that a kernel of the user's own reads in a form of its
            // own
};

enum class DataKind {
  exact,   // small integers: every sum in any order is exact in the output type
  random,  // a near-normal spread over six binades: every kind of rounding happens
};

// How elements are drawn. Passed to GPU kernels by value.
struct Distribution {
  DataKind kind;
  int max_value;     // exact: uniform integers of at most this magnitude; if 0, {-1, 0, 1} by
                     // density
  uint32_t density;  // exact: probability of a non-zero, times 2^32
  int bits = 8;      // random: bits of the significand, 1 to 20
};

// The distribution of A and B for a check of `kind`. A sum has k products on each of `ranks` ranks.
// It goes through `epilogue`, a set of TILEPOST_SCALE …, and then `more_addends` addends are added.
// `blocks`: blocks of A and B have scales.
Distribution make_distribution(DataKind kind, int64_t k, int ranks, tilepost_dtype_t output,
                               tilepost_dtype_t input = {}, int epilogue = 0, int more_addends = 0,
                               bool blocks = false);

// Bias and residual of exact data are integers of at most this magnitude.
constexpr int kMaxAddend = 4;

// The distribution of bias and residual that goes with `distribution` for A and B.
TILEPOST_VERIFY_INLINE Distribution addends(const Distribution& distribution) {
  return {distribution.kind, kMaxAddend, 0, 8};
}

// The format of a dtype's numbers, passed to GPU kernels by value: how many bits the exponent has,
// and how many the fraction (IEEE 754-2019, 3.4).
struct NumberFormat {
  int exponent_bits, fraction_bits;

  TILEPOST_VERIFY_INLINE constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  TILEPOST_VERIFY_INLINE constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr int kFloatExponentBits = 8, kFloatFractionBits = 23, kFloatBias = 127;

constexpr NumberFormat format_of(tilepost_dtype_t type) {
  return {row_of(type).exponent_bits, row_of(type).fraction_bits};
}

// The largest n such that all integers up to n in magnitude are exact in the type.
constexpr int exact_limit(tilepost_dtype_t type) {
  return 2 << format_of(type).fraction_bits;
}

// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Every input bit affects every
// output bit.
TILEPOST_VERIFY_INLINE uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The number that identifies one matrix of one rank in one run: a stream of elements.
TILEPOST_VERIFY_INLINE uint64_t stream_of(uint64_t seed, int run, int rank, Matrix matrix) {
  const uint64_t place = static_cast<uint64_t>(run) << 32 | static_cast<uint64_t>(rank) << 8 |
                         static_cast<uint64_t>(matrix);
  return mix(mix(seed) + place);
}

// As stream_of, of one expert's part of the matrix. Expert 0 has the matrix's own stream.
TILEPOST_VERIFY_INLINE uint64_t stream_of_expert(uint64_t stream, int expert) {
  return expert == 0 ? stream : mix(stream + static_cast<uint64_t>(expert));
}

// Element `index` (row-major) of a stream.
TILEPOST_VERIFY_INLINE float value_at(const Distribution& distribution, uint64_t stream,
                                      int64_t index) {
  const uint64_t bits = mix(stream + static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15u);
  const uint32_t low = static_cast<uint32_t>(bits), high = static_cast<uint32_t>(bits >> 32);
  if (distribution.kind == DataKind::exact) {
    if (distribution.max_value == 0)
      return low < distribution.density ? (high & 1 ? 1.0f : -1.0f) : 0.0f;
    const uint64_t choices = 2 * static_cast<uint64_t>(distribution.max_value) + 1;
    return static_cast<float>(static_cast<int>(high * choices >> 32) - distribution.max_value);
  }
  // The sum of four random bytes is near normal, from -510 to 510. As many sums become each of the
  // significands of the distribution's bits. The exponent takes six values, and magnitudes are
  // below 8.
  const int sum =
      static_cast<int>((low & 255) + (low >> 8 & 255) + (low >> 16 & 255) + (low >> 24));
  const int binade = static_cast<int>((high & 0xffff) * 6 >> 16);
  const int significand = (sum - 510) * (1 << distribution.bits) / 511;
  return static_cast<float>(8 * significand) / static_cast<float>(1 << distribution.bits << binade);
}

// Element `index` of a stream of scales. In exact data it is 1 or 2, which leaves a sum's
// significand unchanged. In random data it is from 0.5 to 2.
TILEPOST_VERIFY_INLINE float scale_at(const Distribution& distribution, uint64_t stream,
                                      int64_t index) {
  const uint64_t bits = mix(stream + static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15u);
  if (distribution.kind == DataKind::exact) return bits & 1 ? 2.0f : 1.0f;
  return static_cast<float>(1024 + (bits >> 1 & 1023)) / (bits & 1 ? 1024.0f : 2048.0f);
}

// The bits of a value that value_at can return, in the lowest bits of the result.
TILEPOST_VERIFY_INLINE uint32_t encode(float value, const NumberFormat& format) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 31 << (format.bits() - 1);
  if ((bits & 0x7fffffff) == 0) return sign;
  const uint32_t exponent = (bits >> kFloatFractionBits & 0xff) - kFloatBias + format.bias();
  const uint32_t fraction = (bits & 0x7fffff) >> (kFloatFractionBits - format.fraction_bits);
  return sign | exponent << format.fraction_bits | fraction;
}
inline uint32_t encode(float value, tilepost_dtype_t type) {
  return encode(value, format_of(type));
}

// Stores `bits` as element i of an array.
TILEPOST_VERIFY_INLINE void store_bits(void* data, int64_t i, uint32_t bits,
                                       const NumberFormat& format) {
  if (format.bits() == 8)
    static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(bits);
  else if (format.bits() == 16)
    static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(bits);
  else
    static_cast<uint32_t*>(data)[i] = bits;
}

// The bits of element i of an array of the type.
inline uint32_t load_bits(const void* data, int64_t i, tilepost_dtype_t type) {
  const int64_t bytes = element_bytes(type);
  uint32_t bits = 0;
  memcpy(&bits, static_cast<const unsigned char*>(data) + i * bytes, static_cast<size_t>(bytes));
  return bits;
}

// The value of any bits of an output's type, NaN and infinities included. If a type has float's
// exponent, its bits are the upper bits of a float.
inline float decode(uint32_t number, tilepost_dtype_t type) {
  const NumberFormat format = format_of(type);
  const int dropped = kFloatFractionBits - format.fraction_bits;
  uint32_t bits = number << dropped;
  if (format.exponent_bits < kFloatExponentBits) {
    const uint32_t sign = number >> (format.bits() - 1) << 31;
    const uint32_t highest = (1u << format.exponent_bits) - 1;
    const uint32_t exponent = number >> format.fraction_bits & highest;
    const uint32_t fraction = number & ((1u << format.fraction_bits) - 1);
    if (exponent == 0) {
      const auto steps = static_cast<float>(1 << (format.bias() - 1 + format.fraction_bits));
      const float magnitude = static_cast<float>(fraction) / steps;
      return sign ? -magnitude : magnitude;
    }
    bits = sign |
           (exponent == highest ? 0xffu : exponent - format.bias() + kFloatBias)
               << kFloatFractionBits |
           fraction << dropped;
  }
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace tilepost::verify
