// How the blocks of a grid make a routing's tables together. Each block has a share of the tokens,
// which it takes in steps. It counts its routes to each expert, meets the other blocks, and then
// knows the rows of its routes. Kernels differ in where routes come from.
#pragma once

#include "runtime/cuda/routing/route.h"
#include "tilepost/internal/expert_tiles.h"

namespace tilepost::cuda::routing {

constexpr int kWarp = 32, kWarps = kRouteThreads / kWarp;
constexpr unsigned kAllLanes = 0xFFFFFFFF;

// Routes of one expert: in the blocks before this one, and in all blocks.
struct Counted {
  int before, all;
};

struct Memory {
  // Of a step, for each expert: how many routes each warp has, and then how many the warps before
  // it have. Rows of 80 bytes let eight threads read 16 bytes of theirs without a conflict.
  static constexpr int kStride = kWarps + 8;
  union {
    uint16_t of_warps[kMostExperts][kStride];
    Counted sums[2 * kRouteThreads];  // [adders, padded experts]
  };
  int of_steps[kMostExperts];                // routes of the block's steps before
  int first_row[kMostExperts];               // the row of the block's first route
  uint16_t keys[kRouteThreads];              // of a step's routes: route_key
  uint8_t ranks[kRouteThreads];              // … and the ranks of their experts
  int of_all_warps[kWarps];                  // sums over threads
  unsigned rows_of_ranks[kMostRoutedRanks];  // how many of the block's routes are to each rank
};

// The tokens [first, end) of a block, of all tokens in their order. Each block has `each` tokens,
// as far as there are so many.
struct Share {
  int first, end;
};
__device__ __forceinline__ Share share_of(int tokens, int each, int block) {
  const int first = min(tokens, each * block);
  return {first, min(tokens, first + each)};
}

// A route as it is read: its token's number, the expert of its id, its weight.
struct Read {
  int number, expert;
  float weight;
};

// A thread's route. Where the thread has none, `number` is -1.
struct Route {
  int number, position;
  int local;  // RoutingShape::local_expert
  int place;  // place_of_route, after write_early
  float weight;
};

// Reads the thread's route of the step that begins at token `first`, and tells the block its key
// and rank. `notes`: whether a wrong id is noted.
template <class Routes>
__device__ __forceinline__ Route read_route(const RouteArguments& args, Memory& memory,
                                            const Routes& routes, int first, int end, bool notes) {
  const int thread = static_cast<int>(threadIdx.x), top = args.shape.top;
  const int in_step = args.by_top.quotient(thread), position = thread - in_step * top;
  Route route{-1, position, kNoExpert, 0, 0};
  int expert = kNoExpert;
  if (in_step < args.step && first + in_step < end) {
    const Read read = routes.read(first + in_step, position);
    route.number = read.number;
    route.weight = read.weight;
    expert = read.expert;
    if (expert == kWrongId && notes)
      atomicMin(args.first_wrong, static_cast<unsigned long long>(read.number) * top + position);
  }
  route.local = expert < 0 ? kNoExpert : args.shape.local_expert(expert);
  memory.keys[thread] = static_cast<uint16_t>(route_key(route.local, position));
  memory.ranks[thread] =
      static_cast<uint8_t>(expert < 0 ? kNoRank : args.by_experts.quotient(expert));
  return route;
}

constexpr int kQuadsOfRow = Memory::kStride / 8;  // of 16 bytes, in a row of of_warps

// Begins a step: no expert has routes yet.
__device__ __forceinline__ void clear_counts(const RoutingShape& shape, Memory& memory) {
  auto* const quads = reinterpret_cast<uint4*>(memory.of_warps);
  for (int i = static_cast<int>(threadIdx.x); i < shape.local_experts * kQuadsOfRow;
       i += kRouteThreads)
    quads[i] = uint4{};
}

// The lanes of the warp whose `number` is that of the calling lane. Numbers have `bits` bits. The
// instruction for this (match) takes the longer the more numbers there are.
__device__ __forceinline__ unsigned lanes_with(int number, int bits) {
  unsigned lanes = kAllLanes;
#pragma unroll 5
  for (int bit = 0; bit < bits; ++bit) {
    const bool is_set = (number >> bit & 1) != 0;
    const unsigned set = __ballot_sync(kAllLanes, is_set);
    lanes &= is_set ? set : ~set;
  }
  return lanes;
}

// How many routes of this block to the same expert come before the thread's. Every thread of the
// block calls this for each step in turn, behind clear_counts. Thread e keeps in `count` how many
// routes expert e has in the steps so far.
__device__ __forceinline__ int count_before(const RouteArguments& args, Memory& memory, int local,
                                            int& count) {
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp, lane = thread % kWarp;
  const unsigned same = lanes_with(local - kNoExpert, args.bits);
  __syncthreads();
  const int before = __popc(same & ((1u << lane) - 1));
  if (local != kNoExpert && before == 0)
    memory.of_warps[local][warp] = static_cast<uint16_t>(__popc(same));
  __syncthreads();
  if (thread < args.shape.local_experts) {
    uint4* const row = reinterpret_cast<uint4*>(memory.of_warps) + thread * kQuadsOfRow;
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < kWarps / 8; ++i) {
      uint4 quad = row[i];
#pragma unroll
      for (unsigned* word : {&quad.x, &quad.y, &quad.z, &quad.w}) {
        const unsigned low = *word & 0xFFFF, high = *word >> 16;
        *word = sum | (sum + low) << 16;
        sum += low + high;
      }
      row[i] = quad;
    }
    memory.of_steps[thread] = count;
    count += static_cast<int>(sum);
  }
  __syncthreads();
  if (local == kNoExpert) return 0;
  return memory.of_steps[local] + memory.of_warps[local][warp] + before;
}

// Counts the step's routes to each rank. Every thread of the block calls this for each step, behind
// count_before.
__device__ __forceinline__ void count_ranks(const RoutingShape& shape, Memory& memory) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const int of_route = memory.ranks[thread];
  unsigned routes = 0;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const unsigned lanes = __ballot_sync(kAllLanes, of_route == rank);
    if (lane == rank) routes = static_cast<unsigned>(__popc(lanes));
  }
  if (routes > 0) atomicAdd(&memory.rows_of_ranks[lane], routes);
}

// The blocks of the grid that route meet: each comes, and then waits for the others. What they have
// stored before they came is seen by all that have waited. The highest bit of the word turns over
// when the last block comes, and the others are 0 again then, so that the word serves every launch.
constexpr uint32_t kTurn = 0x80000000;

// Returns, in one thread, what `wait_for_blocks` has to know.
__device__ __forceinline__ uint32_t come(uint32_t* word, int blocks) {
  __syncthreads();
  if (threadIdx.x != 0) return 0;
  __threadfence();
  return atomicAdd(word, blockIdx.x == 0 ? kTurn - static_cast<uint32_t>(blocks - 1) : 1);
}

// All blocks are resident, so the wait ends, unless a block has given up before: then `is_over` is
// true, and the meeting is not complete. Returns whether it is.
template <class IsOver>
__device__ __forceinline__ bool wait_for_blocks(const uint32_t* word, uint32_t came,
                                                const IsOver& is_over) {
  bool over = false;
  if (threadIdx.x == 0) {
    while (((came ^ *static_cast<const volatile uint32_t*>(word)) & kTurn) == 0 && !over)
      over = is_over();
    __threadfence();
  }
  return __syncthreads_or(over ? 1 : 0) == 0;
}

// Adds up what the blocks have told each other. Thread e gets the routes of expert e.
__device__ __forceinline__ Counted add_blocks(const RouteArguments& args, Memory& memory,
                                              int blocks) {
  const int thread = static_cast<int>(threadIdx.x);
  const int padded = padded_experts(args.shape), pairs = padded / 2;
  const int adders = args.adders;
  const int adder = args.by_pairs.quotient(thread), pair = thread - adder * pairs;
  const auto* const counts = reinterpret_cast<const uint32_t*>(args.counts);
  if (adder < adders) {
    constexpr int kAtOnce = 8;
    Counted low{}, high{};
    for (int first = adder; first < blocks; first += kAtOnce * adders) {
      uint32_t both[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int block = first + i * adders;
        both[i] = block < blocks ? __ldcg(counts + block * pairs + pair) : 0;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const bool is_before = first + i * adders < static_cast<int>(blockIdx.x);
        const int low_count = static_cast<int>(both[i] & 0xFFFF);
        const int high_count = static_cast<int>(both[i] >> 16);
        low.all += low_count;
        high.all += high_count;
        low.before += is_before ? low_count : 0;
        high.before += is_before ? high_count : 0;
      }
    }
    memory.sums[adder * padded + 2 * pair] = low;
    memory.sums[adder * padded + 2 * pair + 1] = high;
  }
  __syncthreads();
  Counted sum{};
  if (thread < args.shape.local_experts)
    for (int i = 0; i < adders; ++i) {
      const Counted& part = memory.sums[i * padded + thread];
      sum.before += part.before;
      sum.all += part.all;
    }
  return sum;
}

// The sum of the values of this thread and of the threads before it.
__device__ __forceinline__ int sum_so_far(Memory& memory, int value) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto add_lanes = [lane](int sum) {
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const int other = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += other;
    }
    return sum;
  };
  const int in_warp = add_lanes(value);
  if (lane == kWarp - 1) memory.of_all_warps[warp] = in_warp;
  __syncthreads();
  const int warps = add_lanes(memory.of_all_warps[lane]);
  const int before = __shfl_sync(kAllLanes, warps, max(warp - 1, 0));
  return in_warp + (warp == 0 ? 0 : before);
}

// Tells the other blocks how many routes expert e has in this one, `count` of thread e, and block 0
// how many each rank has. Returns what wait_for_blocks has to know.
__device__ __forceinline__ uint32_t tell_count(const RouteArguments& args, const Memory& memory,
                                               int count, int blocks) {
  const int thread = static_cast<int>(threadIdx.x), padded = padded_experts(args.shape);
  if (thread < padded)
    args.counts[static_cast<int>(blockIdx.x) * padded + thread] = static_cast<uint16_t>(count);
  if (thread < args.shape.ranks) atomicAdd(args.rank_rows + thread, memory.rows_of_ranks[thread]);
  return come(args.meeting, blocks);
}

// Block 0, when all blocks have told their counts. The words are 0 again then, for the next launch.
__device__ __forceinline__ void write_rank_rows(const RouteArguments& args, const Memory& memory,
                                                int blocks) {
  const int rank = static_cast<int>(threadIdx.x);
  if (rank >= args.shape.ranks) return;
  unsigned rows = memory.rows_of_ranks[rank];
  if (blocks > 1) rows = atomicExch(args.rank_rows + rank, 0);
  args.tables.rank_rows[rank] = static_cast<int32_t>(rows);
}

// Finds the block's first row of each expert. `counted`: the routes of expert e, in thread e.
__device__ __forceinline__ void find_first_rows(const RouteArguments& args, Memory& memory,
                                                Counted counted) {
  const int thread = static_cast<int>(threadIdx.x);
  const int end = sum_so_far(memory, counted.all);
  if (thread < args.shape.local_experts) {
    memory.first_row[thread] = end - counted.all + counted.before;
    if (blockIdx.x == 0) args.tables.expert_ends[thread] = end;
  }
  __syncthreads();
}

// Writes what the tables say of the thread's route whatever its row is: its weight, and for the
// first route of one of this rank's tokens the ranks that have rows of the token.
__device__ __forceinline__ void write_early(const RouteArguments& args, const Memory& memory,
                                            Route& route) {
  if (route.number < 0) return;
  const RoutingShape& shape = args.shape;
  const int first = static_cast<int>(threadIdx.x) - route.position;
  route.place = place_of_route(memory.keys + first, shape.top, memory.keys[threadIdx.x]);
  write_weight(shape, args.tables, route.number, route.place,
               route.local == kNoExpert ? 0.0f : route.weight);
  const int own = route.number - shape.token_number(shape.rank, 0);
  if (route.position == 0 && own >= 0 && own < shape.most_tokens)
    args.tables.token_ranks[own] = ranks_of_token(memory.ranks + first, shape.top);
}

__device__ __forceinline__ void write_row_of(const RouteArguments& args, const Memory& memory,
                                             const Route& route, int before) {
  if (route.number < 0) return;
  const int row = route.local == kNoExpert ? -1 : memory.first_row[route.local] + before;
  write_row(args.shape, args.tables, route.number, route.place, row);
}

// One thread, when all blocks have read all ids. If an id was wrong, tells the host of the first
// one, unless the host has been told of something before.
template <class Routes>
__device__ __forceinline__ void tell_wrong(const RouteArguments& args, const Routes& routes) {
  const unsigned long long at = *static_cast<volatile unsigned long long*>(args.first_wrong);
  if (at == kNoneWrong) return;
  *args.first_wrong = kNoneWrong;
  volatile RoutingFault* const fault = args.fault;
  if (fault->found != 0) return;
  const int number = static_cast<int>(at / args.shape.top);
  fault->rank = number / args.shape.most_tokens;
  fault->token = number % args.shape.most_tokens;
  fault->id = routes.wrong_id(number, static_cast<int>(at % args.shape.top));
  __threadfence_system();
  fault->found = kWrongIdFound;
}

// Makes the tables, with the first `blocks` blocks of the grid, of which this is one. A block with
// one step keeps its routes, and writes what it can while it waits for the other blocks. A block
// with more reads and counts its routes a second time. Returns false if a block has given up.
template <class Routes, class IsOver>
__device__ __forceinline__ bool route_tokens(const RouteArguments& args, Memory& memory,
                                             const Routes& routes, int blocks,
                                             const IsOver& is_over) {
  const Share share = routes.share();
  const bool one_step = share.end - share.first <= args.step;
  int count = 0, before = 0;
  Route route{-1, 0, kNoExpert, 0, 0};
  // A block without a step meets no barrier before thread r reads this again.
  if (threadIdx.x < kMostRoutedRanks) memory.rows_of_ranks[threadIdx.x] = 0;
  for (int first = share.first; first < share.end; first += args.step) {
    clear_counts(args.shape, memory);
    route = read_route(args, memory, routes, first, share.end, true);
    before = count_before(args, memory, route.local, count);
    count_ranks(args.shape, memory);
    __syncthreads();
  }
  const uint32_t came = blocks > 1 ? tell_count(args, memory, count, blocks) : 0;
  if (one_step) write_early(args, memory, route);
  Counted counted{0, count};
  if (blocks > 1) {
    if (!wait_for_blocks(args.meeting, came, is_over)) return false;
    counted = add_blocks(args, memory, blocks);
  }
  find_first_rows(args, memory, counted);
  if (one_step) write_row_of(args, memory, route, before);
  if (blockIdx.x == 0) write_rank_rows(args, memory, blocks);
  if (blockIdx.x == 0 && threadIdx.x == 0) tell_wrong(args, routes);
  if (one_step) return true;
  count = 0;
  for (int first = share.first; first < share.end; first += args.step) {
    clear_counts(args.shape, memory);
    route = read_route(args, memory, routes, first, share.end, false);
    before = count_before(args, memory, route.local, count);
    write_early(args, memory, route);
    write_row_of(args, memory, route, before);
    __syncthreads();
  }
  return true;
}

}  // namespace tilepost::cuda::routing
