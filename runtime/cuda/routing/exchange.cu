#include "runtime/cuda/routing/exchange.h"

#include "runtime/cuda/device/kernel_launch.cuh"
#include "runtime/cuda/routing/callers_routes.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"

namespace tilepost::cuda {
namespace {

// What a block knows of a set.
struct Set {
  bool is_over;  // whether an earlier set was given up
  uint64_t number;
  int tokens[kMostRoutedRanks];    // how many tokens each rank has
  unsigned long long first_wrong;  // the first route of a wrong id among those that it stores
};

// How many of the grid's blocks route so many tokens, or store so many.
__device__ __forceinline__ int working_blocks(const ExchangeArguments& args, int tokens) {
  const int each = args.step;
  return min(max((tokens + each - 1) / each, 1), args.blocks);
}

__device__ __forceinline__ RouteWindow window_of(const ExchangeArguments& args) {
  return RouteWindow(args.shape, args.blocks);
}

__device__ __forceinline__ bool is_given_up(const ExchangeArguments& args) {
  return *static_cast<volatile uint32_t*>(&args.numbers->given_up) != 0;
}

__device__ __forceinline__ int all_tokens(const ExchangeArguments& args, const Set& set) {
  int all = 0;
  for (int rank = 0; rank < args.shape.ranks; ++rank) all += set.tokens[rank];
  return all;
}

// Whether a rank with so many tokens stores its routes in lines.
__device__ __forceinline__ bool in_lines(const ExchangeArguments& args, int tokens) {
  return tokens <= args.step;
}

// This rank's memory `at` bytes into its window.
template <class T>
__device__ __forceinline__ const T* arrived(const ExchangeArguments& args, int64_t at) {
  return reinterpret_cast<const T*>(args.windows[args.shape.rank] + at);
}

// The routes that have arrived in this rank's window.
struct ArrivedRoutes {
  const ExchangeArguments& args;
  const Set& set;
  int blocks;  // that route

  __device__ __forceinline__ routing::Share share() const {
    const int all = all_tokens(args, set);
    return routing::share_of(all, tokens_of_block(all, blocks), static_cast<int>(blockIdx.x));
  }
  __device__ __forceinline__ routing::Read read(int token, int position) const {
    const TokenOfRank at = ordered_token(args.shape, set.tokens, token);
    const int number = args.shape.token_number(at.rank, at.token);
    const int64_t route = static_cast<int64_t>(at.token) * args.shape.top + position;
    if (in_lines(args, set.tokens[at.rank])) {
      const uint4 line = line_of(at.rank, static_cast<int>(route));
      const int expert = line.y == RouteWindow::kNoExpertWord ? kNoExpert
                         : is_wrong(line)                     ? kWrongId
                                                              : static_cast<int>(line.y);
      return {number, expert, __uint_as_float(line.x)};
    }
    const RouteWindow window = window_of(args);
    return {number, __ldcg(arrived<int16_t>(args, window.experts(half(), at.rank)) + route),
            __ldcg(arrived<float>(args, window.weights(half(), at.rank)) + route)};
  }
  // The first wrong id of all is also the first one of its block.
  __device__ __forceinline__ int64_t wrong_id(int number, int position) const {
    const int rank = number / args.shape.most_tokens, token = number % args.shape.most_tokens;
    const int tokens = set.tokens[rank];
    if (in_lines(args, tokens)) {
      const uint4 line = line_of(rank, token * args.shape.top + position);
      return static_cast<int64_t>(static_cast<uint64_t>(line.y) << 32 | line.x);
    }
    const int each = tokens_of_block(tokens, working_blocks(args, tokens));
    return __ldcg(arrived<long long>(args, window_of(args).wrong_id(half(), rank, token / each)));
  }

 private:
  static __device__ __forceinline__ bool is_wrong(const uint4& line) {
    return (line.y & 0x80000000) != 0;
  }
  __device__ __forceinline__ uint4 line_of(int rank, int route) const {
    return ptx::load_line_sys(arrived<char>(args, window_of(args).line(half(), rank, 1 + route)));
  }
  __device__ __forceinline__ int half() const { return static_cast<int>(set.number & 1); }
};

// Reads the number of this set.
__device__ __forceinline__ void read_number(const ExchangeArguments& args, Set& set) {
  if (threadIdx.x == 0) {
    set.is_over = is_given_up(args);
    set.number = *static_cast<volatile uint64_t*>(&args.numbers->sets) + 1;
    set.first_wrong = kNoneWrong;
  }
  __syncthreads();
}

// One thread of each block, when the block has read the number. The last one writes it for the next
// set.
__device__ __forceinline__ void count_reader(const ExchangeArguments& args, uint64_t number) {
  __threadfence();
  if (atomicAdd(&args.numbers->readers, 1) + 1 != gridDim.x) return;
  volatile RouteNumbers* const numbers = args.numbers;
  numbers->readers = 0;
  numbers->sets = number;
}

__device__ __forceinline__ void store_line(const ExchangeArguments& args, const Set& set, int rank,
                                           int number, uint32_t first, uint32_t second) {
  const int half = static_cast<int>(set.number & 1);
  ptx::store_line_sys(
      args.windows[rank] + window_of(args).line(half, args.shape.rank, number),
      {first, second, static_cast<uint32_t>(set.number), static_cast<uint32_t>(set.number >> 32)});
}

// A thread's next route, and where the block's routes end.
struct Loaded {
  int64_t route, end;
  int64_t id;
  float weight;
};

// Stores the thread's route into the lines of all ranks.
__device__ __forceinline__ void store_in_line(const ExchangeArguments& args, const Set& set,
                                              const Loaded& loaded) {
  if (loaded.route >= loaded.end) return;
  const int expert = expert_of_id(loaded.id, args.shape.experts);
  const bool wrong = expert == kWrongId;
  const uint32_t first = wrong ? static_cast<uint32_t>(loaded.id) : __float_as_uint(loaded.weight);
  const uint32_t second = wrong                 ? static_cast<uint32_t>(loaded.id >> 32)
                          : expert == kNoExpert ? RouteWindow::kNoExpertWord
                                                : static_cast<uint32_t>(expert);
  for (int rank = 0; rank < args.shape.ranks; ++rank)
    store_line(args, set, rank, 1 + static_cast<int>(loaded.route), first, second);
}

// Stores the experts and weights of the block's routes into the windows of all ranks, and then
// tells all ranks.
template <class Routes>
__device__ __forceinline__ void store_parts(const ExchangeArguments& args, Set& set,
                                            const Routes& routes, Loaded loaded) {
  const RoutingShape& shape = args.shape;
  const RouteWindow window = window_of(args);
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int half = static_cast<int>(set.number & 1);
  const int64_t experts_at = window.experts(half, shape.rank);
  const int64_t weights_at = window.weights(half, shape.rank);
  while (loaded.route < loaded.end) {
    const int64_t route = loaded.route;
    const int expert = expert_of_id(loaded.id, shape.experts);
    if (expert == kWrongId) atomicMin(&set.first_wrong, static_cast<unsigned long long>(route));
    for (int rank = 0; rank < shape.ranks; ++rank) {
      char* const there = args.windows[rank];
      reinterpret_cast<int16_t*>(there + experts_at)[route] = static_cast<int16_t>(expert);
      reinterpret_cast<float*>(there + weights_at)[route] = loaded.weight;
    }
    loaded.route += kRouteThreads;
    if (loaded.route >= loaded.end) break;
    loaded.id = routes.id(loaded.route);
    loaded.weight = routes.weight(loaded.route);
  }
  __syncthreads();
  if (thread >= shape.ranks) return;
  char* const there = args.windows[thread];
  if (set.first_wrong != kNoneWrong)
    *reinterpret_cast<long long*>(there + window.wrong_id(half, shape.rank, block)) =
        routes.id(static_cast<int64_t>(set.first_wrong));
  ptx::store_release_sys(reinterpret_cast<uint64_t*>(there + window.flag(half, shape.rank, block)),
                         set.number);
}

// Stores this block's share of the rank's routes for all ranks. Also reads the number of the set,
// behind the loads of the first routes.
template <class Id, class Weight>
__device__ __forceinline__ void store_routes(const ExchangeArguments& args, Set& set) {
  const routing::CallersRoutes<Id, Weight> routes{args};
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int blocks = working_blocks(args, args.m), top = args.shape.top;
  const routing::Share share = routing::share_of(args.m, tokens_of_block(args.m, blocks), block);
  Loaded loaded{static_cast<int64_t>(share.first) * top + thread,
                static_cast<int64_t>(share.end) * top, 0, 0.0f};
  if (loaded.route < loaded.end) {
    loaded.id = routes.id(loaded.route);
    loaded.weight = routes.weight(loaded.route);
  }
  read_number(args, set);
  if (set.is_over || block >= blocks) return;
  if (block == 0 && thread < args.shape.ranks)
    store_line(args, set, thread, 0, static_cast<uint32_t>(args.m), 0);
  if (in_lines(args, args.m))
    store_in_line(args, set, loaded);
  else
    store_parts(args, set, routes, loaded);
}

// Tells the host that a rank has not come in time, and all blocks to wait no more.
__device__ __noinline__ void give_up(const ExchangeArguments& args, const Set& set, int rank) {
  if (atomicExch(&args.numbers->given_up, 1) != 0) return;
  volatile RoutingFault* const fault = args.fault;
  if (fault->found != 0) return;
  fault->rank = rank;
  fault->id = static_cast<int64_t>(set.number);
  __threadfence_system();
  fault->found = kLateRankFound;
}

// One thread. Waits until has_come(). Returns false if the wait was given up, for which `rank` is
// late then.
template <class HasCome>
__device__ __forceinline__ bool await(const ExchangeArguments& args, const Set& set, int rank,
                                      const HasCome& has_come) {
  constexpr int kPollsPerCheck = 1024;
  uint64_t start = 0;
  for (int polls = 1; !has_come(); ++polls) {
    if (polls % kPollsPerCheck != 0) continue;
    if (is_given_up(args)) return false;
    const uint64_t now = ptx::global_time_ns();
    if (start == 0) start = now;
    if (args.deadline_ns == 0 || now - start < args.deadline_ns) continue;
    give_up(args, set, rank);
    return false;
  }
  return true;
}

// One thread. Waits for a line of `rank`, and sets `words` to its first two words.
__device__ __forceinline__ bool await_line(const ExchangeArguments& args, const Set& set, int rank,
                                           int number, uint2& words) {
  const int half = static_cast<int>(set.number & 1);
  const auto* const line = arrived<char>(args, window_of(args).line(half, rank, number));
  return await(args, set, rank, [&] {
    const uint4 found = ptx::load_line_sys(line);
    words = {found.x, found.y};
    return (found.z | static_cast<uint64_t>(found.w) << 32) == set.number;
  });
}

// Waits until every rank has said how many tokens it has. Returns false if the wait was given up.
__device__ __forceinline__ bool await_tokens(const ExchangeArguments& args, Set& set) {
  const int rank = static_cast<int>(threadIdx.x);
  bool came = true;
  if (rank < args.shape.ranks) {
    uint2 words{};
    came = await_line(args, set, rank, 0, words);
    set.tokens[rank] = static_cast<int>(words.x);
  }
  return __syncthreads_and(came ? 1 : 0) != 0;
}

// Waits for the routes of every rank.
__device__ __forceinline__ bool await_routes(const ExchangeArguments& args, const Set& set) {
  bool came = true;
  for (int rank = 0; rank < args.shape.ranks; ++rank) {
    const int tokens = set.tokens[rank];
    const bool lines = in_lines(args, tokens);
    const int awaited = lines ? tokens * args.shape.top : working_blocks(args, tokens);
    for (int i = static_cast<int>(threadIdx.x); came && i < awaited; i += kRouteThreads) {
      uint2 words{};
      const auto* const flag =
          arrived<uint64_t>(args, window_of(args).flag(static_cast<int>(set.number & 1), rank, i));
      came =
          lines ? await_line(args, set, rank, 1 + i, words)
                : await(args, set, rank, [&] { return ptx::load_acquire_sys(flag) == set.number; });
    }
  }
  return __syncthreads_and(came ? 1 : 0) != 0;
}

// Makes the tables when the block has stored its routes. Blocks that have nothing to route leave
// before the others meet.
__device__ __forceinline__ void route_arrived(const ExchangeArguments& args,
                                              routing::Memory& memory, Set& set) {
  if (!await_tokens(args, set)) return;
  const int blocks = working_blocks(args, all_tokens(args, set));
  if (static_cast<int>(blockIdx.x) >= blocks || !await_routes(args, set)) return;
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < args.shape.ranks)
    args.tables.tokens[threadIdx.x] = set.tokens[threadIdx.x];
  const ArrivedRoutes routes{args, set, blocks};
  routing::route_tokens(args, memory, routes, blocks, [&] { return is_given_up(args); });
}

template <class Id, class Weight>
__global__ void __launch_bounds__(kRouteThreads)
    exchange_kernel(const __grid_constant__ ExchangeArguments args) {
  __shared__ __align__(16) routing::Memory memory;
  __shared__ Set set;
  store_routes<Id, Weight>(args, set);
  if (set.is_over) return;
  route_arrived(args, memory, set);
  if (threadIdx.x == 0) count_reader(args, set.number);
}

struct Kernels {
  template <class Id, class Weight>
  static auto kernel() {
    return exchange_kernel<Id, Weight>;
  }
};

}  // namespace

cudaError_t preload_exchange(RouteTypes types) {
  return preload_kernel(reinterpret_cast<const void*>(routing::kernel_for<Kernels>(types)));
}

cudaError_t launch_exchange(const ExchangeArguments& arguments, RouteTypes types,
                            cudaStream_t stream) {
  return launch_together(routing::kernel_for<Kernels>(types),
                         dim3(static_cast<unsigned>(arguments.blocks)), dim3(kRouteThreads), stream,
                         arguments);
}

}  // namespace tilepost::cuda
