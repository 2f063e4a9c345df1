// The kernel that makes a routing's tables (tilepost/internal/route_recipe.h).
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "tilepost/internal/route_recipe.h"

namespace tilepost::cuda {

// A block counts so many routes at a time: one with each of its threads.
constexpr int kRouteThreads = 1024;

// How many threads at most add up the counts of one pair of experts.
constexpr int kMostAdders = 16;

// The most routes of one block, because blocks tell each other how many routes an expert has in 16
// bits.
constexpr int64_t kMostRoutesOfBlock = 65535;

// first_wrong where no id is wrong.
constexpr unsigned long long kNoneWrong = ~0ull;

// The types of ids and weights: int64 or int32, bf16 or fp32.
struct RouteTypes {
  bool wide_ids, half_weights;
};

// Divides by a number of at most 1024, which is known before the launch, by a multiplication. The
// quotients of numbers below 2^15 are exact: what is added to them is less than 2^15 / 2^31.
struct Divisor {
  TILEPOST_INLINE int quotient(int number) const {
    return static_cast<int>((static_cast<uint64_t>(number) * inverse) >> kBits);
  }
  static constexpr Divisor by(int number) {
    return {(1u << kBits) / static_cast<unsigned>(number) + 1};
  }

  static constexpr int kBits = 31;
  uint32_t inverse;
};

struct RouteArguments {
  RoutingShape shape;
  Divisor by_top, by_experts, by_pairs;  // by local_experts, and by half of padded_experts
  int32_t step;                          // tokens_of_step
  int32_t bits;                          // of 1 + the number of a local expert
  int32_t adders;  // how many threads add up the counts of one pair of experts
  RoutingTables tables;
  const void* ids;      // [m, top]
  const void* weights;  // [m, top]
  int32_t m;
  int32_t each;  // set by launch_route: how many tokens a block has
  // What blocks tell each other.
  uint16_t* counts;   // [blocks, padded_experts(shape)] how many routes each expert has in a block
  uint32_t* meeting;  // one word, 0 at first
  uint32_t* rank_rows;  // [ranks] rows that blocks have counted for each rank, 0 at first
  unsigned long long* first_wrong;  // the first route of a wrong id, by token number and position;
                                    // kNoneWrong at first
  RoutingFault* fault;              // pinned host memory
};

// Blocks tell each other of pairs of experts.
TILEPOST_INLINE constexpr int padded_experts(const RoutingShape& shape) {
  return (shape.local_experts + 1) / 2 * 2;
}

// How many tokens a block routes at a time.
TILEPOST_INLINE constexpr int tokens_of_step(const RoutingShape& shape) {
  return kRouteThreads / shape.top;
}

// How many tokens each of so many blocks has.
TILEPOST_INLINE constexpr int tokens_of_block(int tokens, int blocks) {
  return (tokens + blocks - 1) / blocks;
}

// How many blocks route `tokens` tokens on a device of `sms` SMs.
constexpr int route_blocks(const RoutingShape& shape, int64_t tokens, int sms) {
  const int64_t steps = (tokens + tokens_of_step(shape) - 1) / tokens_of_step(shape);
  return static_cast<int>(std::clamp<int64_t>(steps, 1, sms));
}

inline void set_shape(RouteArguments& arguments, const RoutingShape& shape) {
  arguments.shape = shape;
  arguments.by_top = Divisor::by(shape.top);
  arguments.by_experts = Divisor::by(shape.local_experts);
  arguments.by_pairs = Divisor::by(padded_experts(shape) / 2);
  arguments.step = tokens_of_step(shape);
  arguments.bits = std::bit_width(static_cast<unsigned>(shape.local_experts));
  arguments.adders = std::min(kMostAdders, kRouteThreads / (padded_experts(shape) / 2));
}

// Loads the kernel for these types.
cudaError_t preload_route(RouteTypes types);

// Makes the tables of one rank that has all tokens. `blocks`: route_blocks of m tokens. All blocks
// are resident at the same time (a cooperative launch), because they meet.
cudaError_t launch_route(const RouteArguments& arguments, RouteTypes types, int blocks,
                         cudaStream_t stream);

}  // namespace tilepost::cuda
