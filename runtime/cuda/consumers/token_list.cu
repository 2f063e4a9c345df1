// Every warp of the first blocks makes the entries of some tile rows, in the order of experts. The
// last of these blocks then sorts them by group. The blocks behind them push tokens. None of either
// waits for another. A run for which a rank has too many rows gets an empty list, and
// so does every run behind it: the host ends the operation, and until then no output is written.
#include "runtime/cuda/consumers/token_list.h"

#include <algorithm>

#include "runtime/cuda/consumers/last_block.cuh"
#include "runtime/cuda/consumers/row_pushes.cuh"
#include "runtime/cuda/consumers/rows_bound.cuh"
#include "runtime/cuda/device/kernel_launch.cuh"
#include "tilepost/device/expert_table.cuh"
#include "tilepost/device/ptx.cuh"

namespace tilepost::cuda {
namespace {

constexpr int kWarps = 32, kThreads = 32 * kWarps;

static_assert(kThreads == kPushingThreads);

static_assert(kMostTokenGroups <= 32, "a lane counts the tile rows of a group");

// The memory of a list (token_list_bytes).
struct ListMemory {
  tilepost_token_tile_t* list;
  tilepost_token_tile_t* unsorted;
  unsigned* blocks;
  unsigned* over;  // not 0 from the first run with too many rows on

  __device__ ListMemory(void* memory, int most)
      : list(static_cast<tilepost_token_tile_t*>(memory)),
        unsorted(list + 1 + most),
        blocks(reinterpret_cast<unsigned*>(unsorted + most)),
        over(blocks + 1) {}
};

// The expert that has tile row `tile_row`.
__device__ int expert_of(const ExpertTable& table, int experts, int tile_row) {
  int expert = 0;
  for (int behind = experts; behind - expert > 1;) {
    const int middle = (expert + behind) / 2;
    if (table.tile_rows(middle) <= tile_row)
      expert = middle;
    else
      behind = middle;
  }
  return expert;
}

// All lanes of a warp make the entry of a tile row.
__device__ void make_entry(const TokenListArguments& arguments, const ExpertTable& table,
                           int tile_row, int lane, tilepost_token_tile_t& entry) {
  const int expert = expert_of(table, arguments.experts, tile_row);
  const int begin = table.rows(expert);
  const ExpertRows rows = tile_row_at(table.rows(expert + 1) - begin, arguments.tile_m,
                                      tile_row - table.tile_rows(expert));
  int group = 0;
  if (arguments.groups.groups > 1)
    for (int row = lane; row < rows.count; row += 32)
      group = max(group, arguments.groups.group_of(arguments.row_tokens[begin + rows.first + row]));
  group = __reduce_max_sync(0xFFFFFFFF, group);
  if (lane == 0) entry = {begin + rows.first, rows.count, expert, group};
}

// Sorts the entries by group. All threads of a block call this. Each warp has some consecutive
// entries, and a lane counts those of its group. `first` has for each group and warp where the
// warp's entries of the group begin.
__device__ void sort_entries(const ListMemory& memory, int count) {
  __shared__ int first[kMostTokenGroups * kWarps];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int each = (count + kWarps - 1) / kWarps;
  const int begin = min(warp * each, count), end = min(begin + each, count);
  int mine = 0;
#pragma unroll 8
  for (int i = begin; i < end; ++i) mine += __ldcg(&memory.unsorted[i].group) == lane ? 1 : 0;
  first[lane * kWarps + warp] = mine;
  __syncthreads();
  if (warp == 0) {
    // A lane adds up the warps of its group, then lanes add up the groups before theirs.
    int all = 0;
    for (int i = 0; i < kWarps; ++i) all += first[lane * kWarps + i];
    int before = all;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(0xFFFFFFFF, before, step);
      if (lane >= step) before += other;
    }
    before -= all;
    for (int i = 0; i < kWarps; ++i) {
      const int of_warp = first[lane * kWarps + i];
      first[lane * kWarps + i] = before;
      before += of_warp;
    }
  }
  __syncthreads();
  int next = first[lane * kWarps + warp];
  for (int i = begin; i < end; ++i) {
    const int4 entry = __ldcg(reinterpret_cast<const int4*>(memory.unsorted) + i);
    if (entry.w != lane) continue;
    reinterpret_cast<int4*>(memory.list)[1 + next++] = entry;
  }
  if (threadIdx.x == 0) memory.list[0] = {count, 0, 0, 0};
}

// Block `block` of `blocks` that list tile rows.
__device__ __forceinline__ void list_tile_rows(const TokenListArguments& arguments, int block,
                                               int blocks) {
  __shared__ __align__(16) char table_memory[kExpertTableBytes];
  const ExpertTable table{ptx::shared_address(table_memory)};
  table.build({arguments.expert_ends, arguments.experts}, arguments.m, arguments.tile_m,
              static_cast<int>(threadIdx.x), kThreads);
  const ListMemory memory(arguments.memory, arguments.most);
  const bool over =
      __syncthreads_or(threadIdx.x == 0 && is_over(arguments.bound, memory.over) ? 1 : 0) != 0;
  const int count = over ? 0 : min(table.tile_rows(arguments.experts), arguments.most);
  const int warp = block * kWarps + static_cast<int>(threadIdx.x) / 32;
  for (int i = warp; i < count; i += blocks * kWarps)
    make_entry(arguments, table, i, static_cast<int>(threadIdx.x) % 32, memory.unsorted[i]);
  if (comes_last(memory.blocks, static_cast<uint32_t>(blocks))) sort_entries(memory, count);
}

__global__ void __launch_bounds__(kThreads)
    list_kernel(const __grid_constant__ TokenListArguments arguments, int listing) {
  const auto block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  if (block < listing)
    list_tile_rows(arguments, block, listing);
  else
    push_rows(arguments.pushes, block - listing, blocks - listing);
}

}  // namespace

cudaError_t preload_token_list() {
  return preload_kernel(reinterpret_cast<const void*>(list_kernel));
}

cudaError_t launch_token_list(const TokenListArguments& arguments, int sms, cudaStream_t stream) {
  const auto tile_rows = static_cast<int>(std::min<int64_t>(
      arguments.most, most_tile_rows(arguments.m, arguments.experts, arguments.tile_m)));
  const int listing = std::clamp((tile_rows + kWarps - 1) / kWarps, 1, sms);
  const int pushing = std::min(all_pushed_chunks(arguments.pushes), sms);
  return launch_kernel(list_kernel, dim3(listing + pushing), dim3(kThreads), stream, arguments,
                       listing);
}

}  // namespace tilepost::cuda
