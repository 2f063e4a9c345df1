// A warp sums one row of a tile at a time, sixteen bytes with each lane. It has the rows and
// weights of its token in the lanes' registers, a lane for each expert of the token. Rows of
// several experts are loaded before the first of them is added, because a load takes long and the
// sum is short.
#include "runtime/cuda/consumers/token_sums.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "runtime/cuda/device/kernel_launch.cuh"
#include "tilepost/device/element.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/dtype.h"
#include "tilepost/internal/expert_tiles.h"
#include "tilepost/internal/kernel_dtype.h"
#include "tilepost/internal/route_recipe.h"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = 768;  // with their registers they fill an SM
constexpr int kThreadsThatWait = 128;
constexpr int kWidth = 8;   // elements of sixteen bytes
constexpr int kAtOnce = 4;  // rows that a lane loads before it adds them

static_assert(kMostTop <= 32, "a lane has an entry of a token");

// Eight elements of a row, in fp32.
struct Sum {
  float2 words[kWidth / 2] = {};
};

template <DType kType>
__device__ __forceinline__ void add(Sum& sum, const uint4& vector, float weight) {
  const uint32_t words[] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int w = 0; w < kWidth / 2; ++w) {
    const float2 y = unpack<kType>(words[w]);
    sum.words[w] = {__fmaf_rn(weight, y.x, sum.words[w].x), __fmaf_rn(weight, y.y, sum.words[w].y)};
  }
}

template <DType kType>
__device__ __forceinline__ void add_residual(Sum& sum, const uint4& vector) {
  const uint32_t words[] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int w = 0; w < kWidth / 2; ++w) {
    const float2 y = unpack<kType>(words[w]);
    sum.words[w] = {__fadd_rn(sum.words[w].x, y.x), __fadd_rn(sum.words[w].y, y.y)};
  }
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
  entries.count = __popc(__ballot_sync(0xFFFFFFFF, entries.row >= 0));
  return entries;
}

// The sum of the token's rows at a column, which a lane has. All lanes of a warp call; a lane with
// `inside` false loads nothing.
template <DType kType>
__device__ __forceinline__ Sum sum_rows(const TokenSumArguments& args, const Entries& entries,
                                        int column, bool inside) {
  Sum sum;
  const auto* const products = static_cast<const uint16_t*>(args.products);
  for (int first = 0; first < entries.count; first += kAtOnce) {
    uint4 vectors[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int row = __shfl_sync(0xFFFFFFFF, entries.row, (first + i) & 31);
      if (inside && first + i < entries.count)
        vectors[i] = __ldcs(reinterpret_cast<const uint4*>(
            products + static_cast<long long>(row) * args.n + column));
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = __shfl_sync(0xFFFFFFFF, entries.weight, (first + i) & 31);
      if (first + i < entries.count) add<kType>(sum, vectors[i], weight);
    }
  }
  return sum;
}

// Returns where row `row` of a tile goes.
__device__ __forceinline__ uint16_t* place_of_row(const TokenSumArguments& args, const Tile& tile,
                                                  int row) {
  if (args.owner_rows == 0)
    return static_cast<uint16_t*>(args.out) + static_cast<long long>(tile.row + row) * args.n;
  const int owner = tile.m / args.owner_rows;
  return static_cast<uint16_t*>(args.peer_out[owner]) +
         static_cast<long long>(tile.m + row - owner * args.owner_rows) * args.n;
}

// A warp makes every `warps`-th row of a tile.
template <DType kType>
__device__ __forceinline__ void sum_tile(const TokenSumArguments& args, const Tile& tile, int warp,
                                         int warps, int lane) {
  const int rows = args.sums.rows_of_tile(tile.m);
  const int end = min(tile.n + args.tile_n, args.n);
  Entries next;
  if (warp < rows) next = entries_of(args.sums, args.sums.token_of(tile.m + warp), lane);
  for (int row = warp; row < rows; row += warps) {
    const TokenPlace place = args.sums.token_of(tile.m + row);
    const Entries entries = next;
    // Those of the next row are on their way while this row is summed.
    if (row + warps < rows)
      next = entries_of(args.sums, args.sums.token_of(tile.m + row + warps), lane);
    uint16_t* const to = place_of_row(args, tile, row);
    for (int first = tile.n; first < end; first += 32 * kWidth) {
      const int column = first + lane * kWidth;
      const bool inside = column < end;
      Sum sum = sum_rows<kType>(args, entries, column, inside);
      if (!inside) continue;
      if (args.residual != nullptr && place.rank == args.sums.rank)
        add_residual<kType>(sum, __ldcs(reinterpret_cast<const uint4*>(
                                     static_cast<const uint16_t*>(args.residual) +
                                     static_cast<long long>(place.token) * args.n + column)));
      *reinterpret_cast<uint4*>(to + column) = rounded<kType>(sum);
    }
  }
}

// Tells whoever waits for the tile's group that the tile is stored. The barrier puts the stores of
// all threads of the block before thread 0's release, which is cumulative (PTX ISA, barrier; 8.9.5,
// Causality Order). Its scope spans GPUs, as the stores to other ranks' memory need.
__device__ __forceinline__ void raise(const TokenSumArguments& args, const Tile& tile) {
  __syncthreads();
  if (threadIdx.x != 0 || (args.owner_rows != 0 && tile.is_padding())) return;
  uint32_t* const counters =
      args.owner_rows == 0 ? args.counters : args.peer_counters[tile.m / args.owner_rows];
  ptx::red_release_sys(counters + static_cast<long long>(tile.group) * TILEPOST_COUNTER_STRIDE, 1);
}

// Makes the tile at a position of the schedule. All threads of the block call this.
template <DType kType>
__device__ __forceinline__ void make_tile(const TokenSumArguments& args, int position) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const ptx::Quad entry = ptx::load_readonly(args.tiles + position);
  const Tile tile{entry.x, entry.y, entry.z, entry.w};
  if (!tile.is_padding())
    sum_tile<kType>(args, tile, warp, static_cast<int>(blockDim.x) / 32, lane);
  raise(args, tile);
}

// ---- Tiles beside the GEMM

// How many tile rows experts have. All threads of the block call this.
__device__ int count_tile_rows_of_experts(const TokenSumArguments& args) {
  __shared__ int all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  const Experts experts{args.panels.expert_ends, args.panels.experts};
  for (int e = static_cast<int>(threadIdx.x); e < experts.count;
       e += static_cast<int>(blockDim.x)) {
    const int begin = e == 0 ? 0 : experts.end(e - 1, args.panels.rows);
    const int rows = experts.end(e, args.panels.rows) - begin;
    if (rows > 0) atomicAdd(&all, count_tile_rows(rows, args.sums.tile_m));
  }
  __syncthreads();
  return all;
}

// Waits until the GEMM has stored all tiles of a panel. The GEMM waits for nothing, so that this
// ends. Each tile's release is a read-modify-write of the counter, so that one load that sees the
// target has acquired all of them (PTX ISA 8.8, release patterns), and the barrier hands that on to
// the block's threads.
__device__ __forceinline__ void wait_panel(const TokenSumArguments& args, int panel,
                                           int tile_rows) {
  constexpr uint32_t kPollNanoseconds = 100;
  if (threadIdx.x == 0) {
    const int left = args.panels.columns - panel * args.panels.panel_columns;
    const uint32_t target = static_cast<uint32_t>(tile_rows * min(left, args.panels.panel_columns) *
                                                  args.panels.raised);
    const uint32_t* const counter =
        args.panels.words->panels + static_cast<long long>(panel) * TILEPOST_COUNTER_STRIDE;
    while (ptx::load_acquire_sys(counter) < target) ptx::sleep_ns(kPollNanoseconds);
  }
  __syncthreads();
}

// The next ticket. All threads of the block call this.
__device__ __forceinline__ int next_ticket(const TokenSumArguments& args) {
  __shared__ int ticket;
  __syncthreads();  // all threads have read the ticket before
  if (threadIdx.x == 0) ticket = static_cast<int>(atomicAdd(&args.panels.words->ticket, 1u));
  __syncthreads();
  return ticket;
}

// Tickets go panel by panel, and in a panel from the first tile row of all shares to the last: so
// groups, which are tile rows of all shares, are complete one after the other. This rank's own
// share comes last of each, since its stores take no links.
template <DType kType>
__device__ __forceinline__ void make_tiles_by_ticket(const TokenSumArguments& args) {
  const TokenSumPanels& panels = args.panels;
  const int width = panels.panel_columns > 0 ? panels.panel_columns : panels.columns;
  const int tile_rows = panels.panel_columns > 0 ? count_tile_rows_of_experts(args) : 0;
  const int shared_rows = panels.ranks * panels.share_tiles;
  const int all = shared_rows * panels.columns;
  int there = panels.panel_columns > 0 ? -1 : panels.columns;  // the last panel that is there
  for (int ticket = next_ticket(args); ticket < all; ticket = next_ticket(args)) {
    const int panel = ticket / (shared_rows * width), first = panel * width;
    const int columns = min(width, panels.columns - first);
    const int in_panel = ticket - panel * shared_rows * width;
    const int line = in_panel / columns, column = first + in_panel - line * columns;
    const int owner = (line % panels.ranks + args.sums.rank + 1) % panels.ranks;
    const int tile_row = owner * panels.share_tiles + line / panels.ranks;
    const int position = __ldg(panels.positions + tile_row * panels.columns + column);
    if (position < 0) continue;  // a share may have fewer tile rows
    if (panel > there) wait_panel(args, panel, tile_rows);
    there = max(there, panel);
    make_tile<kType>(args, position);
  }
}

// The block that comes last of all launches of a run sets the words to zero for the next run. What
// the others did to them comes before: each block's barrier orders its threads before thread 0's
// fence, and a fence and the atomic operation behind it are a release pattern, as one with a fence
// behind it is an acquire pattern (PTX ISA, bar; 8.8). Where a run waits for no panel, the GEMM has
// ended before.
__device__ void clear_words(const TokenSumPanels& panels) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  TokenSumWords& words = *panels.words;
  __threadfence();
  const auto last = static_cast<uint32_t>(panels.all_blocks - 1);
  if (atomicInc(&words.blocks, last) != last) return;
  __threadfence();
  words.ticket = 0;
  for (int panel = 0; panel < TokenSumWords::kMostPanels; ++panel)
    words.panels[panel * TILEPOST_COUNTER_STRIDE] = 0;
}

template <DType kType>
__global__ void __launch_bounds__(kThreads, 1)
    token_sums_kernel(const __grid_constant__ TokenSumArguments args) {
  if (args.panels.positions != nullptr) {
    make_tiles_by_ticket<kType>(args);
  } else {
    for (int position = static_cast<int>(blockIdx.x); position < args.num_tiles;
         position += static_cast<int>(gridDim.x))
      make_tile<kType>(args, position);
  }
  if (args.panels.words != nullptr) clear_words(args.panels);
}

// Ends when the GEMM has stored the first panel.
__global__ void __launch_bounds__(kThreadsThatWait)
    first_panel_kernel(const __grid_constant__ TokenSumArguments args) {
  wait_panel(args, 0, count_tile_rows_of_experts(args));
}

using Kernel = void (*)(TokenSumArguments);

// Outputs of experts have 16 bits.
Kernel kernel_of(tilepost_dtype_t type) {
  return type == TILEPOST_BF16 ? token_sums_kernel<DType::bf16> : token_sums_kernel<DType::f16>;
}

}  // namespace

cudaError_t preload_token_sums(tilepost_dtype_t type) {
  const auto* const first = reinterpret_cast<const void*>(first_panel_kernel);
  if (const auto error = preload_beside_gemm(first); error != cudaSuccess) return error;
  return preload_beside_gemm(reinterpret_cast<const void*>(kernel_of(type)));
}

cudaError_t launch_first_panel(const TokenSumArguments& arguments, cudaStream_t stream) {
  return launch_kernel(first_panel_kernel, dim3(1), dim3(kThreadsThatWait), stream, arguments);
}

int blocks_behind(const TokenSumArguments& arguments, int sms) {
  return std::clamp(arguments.num_tiles, 1, sms);
}

cudaError_t launch_token_sums(const TokenSumArguments& arguments, tilepost_dtype_t type, int blocks,
                              cudaStream_t stream) {
  return launch_kernel(kernel_of(type), dim3(blocks), dim3(kThreads), stream, arguments);
}

}  // namespace tilepost::cuda
