// What the kernels that sum rows of tokens have in common. A warp sums the rows of a token, sixteen
// bytes with each lane. The rows and weights of the token are in the lanes' registers, a lane for
// each expert of the token.
#pragma once

#include <cstdint>

#include "tilepost/device/element.cuh"
#include "tilepost/internal/kernel_dtype.h"
#include "tilepost/internal/route_recipe.h"
#include "tilepost/internal/token_sums.h"

namespace tilepost::cuda {

constexpr int kSumWidth = 8;  // elements of sixteen bytes
constexpr unsigned kAllLanes = 0xFFFFFFFF;

static_assert(kMostTop <= 32, "a lane has an entry of a token");

// Eight elements of a row, in fp32.
struct Sum {
  float2 words[kSumWidth / 2] = {};
};

template <DType kType>
__device__ __forceinline__ void add(Sum& sum, const uint4& vector, float weight) {
  const uint32_t words[] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int w = 0; w < kSumWidth / 2; ++w) {
    const float2 y = unpack<kType>(words[w]);
    sum.words[w] = {__fmaf_rn(weight, y.x, sum.words[w].x), __fmaf_rn(weight, y.y, sum.words[w].y)};
  }
}

template <DType kType>
__device__ __forceinline__ void add_unweighted(Sum& sum, const uint4& vector) {
  const uint32_t words[] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int w = 0; w < kSumWidth / 2; ++w) {
    const float2 y = unpack<kType>(words[w]);
    sum.words[w] = {__fadd_rn(sum.words[w].x, y.x), __fadd_rn(sum.words[w].y, y.y)};
  }
}

template <DType kType>
__device__ __forceinline__ Sum unpacked(const uint4& vector) {
  return {{unpack<kType>(vector.x), unpack<kType>(vector.y), unpack<kType>(vector.z),
           unpack<kType>(vector.w)}};
}

template <DType kType>
__device__ __forceinline__ uint4 rounded(const Sum& sum) {
  const auto& w = sum.words;
  return {pack<kType>(w[0].x, w[0].y), pack<kType>(w[1].x, w[1].y), pack<kType>(w[2].x, w[2].y),
          pack<kType>(w[3].x, w[3].y)};
}

// The entries of a token, one with each lane, and how many there are.
struct Entries {
  int row = -1;
  float weight = 0;
  int count = 0;
};

// All lanes of a warp call.
__device__ __forceinline__ Entries entries_of(const TokenSums& sums, TokenPlace place, int lane) {
  Entries entries;
  const long long first = sums.entries_of(place);
  if (first >= 0 && lane < sums.top) {
    entries.row = __ldg(sums.token_rows + first + lane);
    entries.weight = __ldg(sums.token_weights + first + lane);
  }
  // Entries behind the last one are -1.
  entries.count = __popc(__ballot_sync(kAllLanes, entries.row >= 0));
  return entries;
}

// Adds a lane's vectors of a token's rows, each of `width` vectors, at vector `at`. kAtOnce rows
// are loaded before the first of them is added, because a load takes long and the sum is short. All
// lanes of a warp call; a lane with `inside` false loads nothing.
template <DType kType, int kAtOnce>
__device__ __forceinline__ void add_rows(const uint4* products, uint32_t width,
                                         const Entries& entries, uint32_t at, bool inside,
                                         Sum& sum) {
#pragma unroll 1
  for (int first = 0; first < entries.count; first += kAtOnce) {
    uint4 vectors[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int row = __shfl_sync(kAllLanes, entries.row, (first + i) & 31);
      if (inside && first + i < entries.count)
        vectors[i] = __ldcs(products + (static_cast<uint64_t>(row) * width + at));
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = __shfl_sync(kAllLanes, entries.weight, (first + i) & 31);
      if (first + i < entries.count) add<kType>(sum, vectors[i], weight);
    }
  }
}

}  // namespace tilepost::cuda
