// A warp makes one part of a share at a time (runtime/map/sum_parts.h), a row of a token. It stores
// the row of another rank's token there and raises the part's flag by itself, so that no other warp
// waits until these stores have arrived. To the row of an own token it adds what other ranks have
// sent.
#include "runtime/cuda/consumers/home_sums.h"

#include <cuda_runtime.h>

#include "runtime/cuda/consumers/last_block.cuh"
#include "runtime/cuda/consumers/rows_bound.cuh"
#include "runtime/cuda/consumers/token_sums.cuh"
#include "runtime/cuda/device/kernel_launch.cuh"
#include "runtime/cuda/shared/flags.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

constexpr int kWarps = 16, kThreads = kWarps * 32;  // with their registers they fill an SM
constexpr int kFewRows = 4;   // of a token, for which a lane has two columns' vectors at a time
constexpr int kManyRows = 8;  // of any token, that a lane has at a time

// A warp's tickets. The next one is drawn while the one before it is worked off.
class Tickets {
 public:
  __device__ Tickets(uint32_t* word, int lane) : word_(word), lane_(lane) { draw(); }
  __device__ int take() {
    const int ticket = __shfl_sync(kAllLanes, drawn_, 0);
    draw();
    return ticket;
  }

 private:
  __device__ void draw() {
    if (lane_ == 0) drawn_ = static_cast<int>(atomicAdd(word_, 1u));
  }
  uint32_t* const word_;
  const int lane_;
  int drawn_ = 0;
};

// The flag on rank `where` by which `source` says that it has stored a part there.
__device__ __forceinline__ uint32_t* flag_of_part(const SharedFlags& flags, int where, uint32_t run,
                                                  int part, int source) {
  uint32_t* const first = flags.of[where] + (flags.arrived - flags.of[flags.rank]);
  return first + exchange_flag_word(flags.parts, run, 0, part) + source;
}

// Waits for all other ranks' sums of a part, a rank with each lane. All lanes of a warp call.
// Returns false if the run was given up.
__device__ __forceinline__ bool wait_for_part(const SharedFlags& flags, uint32_t run, int part,
                                              int lane) {
  bool here = true;
  if (lane < flags.ranks && lane != flags.rank)
    here = wait_for_run(flags, flag_of_part(flags, flags.rank, run, part, lane), run,
                        flags.page->shared + stored_wait(0));
  const bool all = __all_sync(kAllLanes, here);
  __syncwarp();  // hands what each lane has acquired on to the others (PTX ISA, bar.warp.sync)
  return all;
}

// A row that a warp makes, or some of its columns. Vectors of eight elements are counted.
struct Row {
  uint4* to;       // row 0 of the output, or of the slots of the token's rank
  uint32_t first;  // the row's first vector there, and in the residual and in this rank's slots
  bool own;        // whether the token is this rank's
  uint32_t begin, end;  // the columns
};

// Other ranks' sums of eight elements. `other` counts these ranks.
__device__ __forceinline__ uint4 load_other(const HomeSumArguments& args, const Row& row,
                                            uint32_t at, int other) {
  const int rank = other < args.flags.rank ? other : other + 1;
  const auto* const slot = static_cast<const char*>(args.slots) + rank * args.slot_bytes;
  return __ldcs(reinterpret_cast<const uint4*>(slot) + (row.first + at));
}

// Eight elements of this rank's output: all ranks' sums, in the order of ranks, as in sum.cu.
// `first_other` is that of the first other rank.
template <DType kType>
__device__ __forceinline__ uint4 add_ranks(const HomeSumArguments& args, const Row& row,
                                           uint32_t at, const uint4& own,
                                           const uint4& first_other) {
  const int rank = args.flags.rank;
  Sum sum = unpacked<kType>(first_other);
  if (rank < 2) add_unweighted<kType>(sum, own);  // the order of two does not matter
#pragma unroll 1
  for (int r = rank < 2 ? 2 : 1; r < args.flags.ranks; ++r) {
    if (r == rank)
      add_unweighted<kType>(sum, own);
    else
      add_unweighted<kType>(sum, load_other(args, row, at, r < rank ? r : r - 1));
  }
  return rounded<kType>(sum);
}

// Finishes eight elements of this rank's sums of a token.
template <DType kType>
__device__ __forceinline__ void finish(const HomeSumArguments& args, const Row& row, uint32_t at,
                                       Sum& sum, const uint4& first_other) {
  if (row.own && args.residual != nullptr)
    add_unweighted<kType>(sum, __ldcs(static_cast<const uint4*>(args.residual) + (row.first + at)));
  uint4 all = rounded<kType>(sum);
  if (row.own) all = add_ranks<kType>(args, row, at, all, first_other);
  row.to[row.first + at] = all;
}

// Makes a row of a token that has few rows on this rank. The vectors of the next columns are on
// their way while those of these columns are added.
template <DType kType>
__device__ __forceinline__ void make_ahead(const HomeSumArguments& args, const Entries& entries,
                                           const Row& row, uint32_t width, int lane) {
  const auto* const products = static_cast<const uint4*>(args.products);
  const uint4* rows[kFewRows];
  float weights[kFewRows];
#pragma unroll
  for (int i = 0; i < kFewRows; ++i) {
    rows[i] =
        products + static_cast<uint64_t>(max(0, __shfl_sync(kAllLanes, entries.row, i))) * width;
    weights[i] = __shfl_sync(kAllLanes, entries.weight, i);
  }
  uint4 next[kFewRows], next_other{};
  const auto load = [&](uint32_t at) {
#pragma unroll
    for (int i = 0; i < kFewRows; ++i)
      if (i < entries.count) next[i] = __ldcs(rows[i] + at);
    if (row.own) next_other = load_other(args, row, at, 0);
  };
  uint32_t at = row.begin + lane;
  if (at < row.end) load(at);
#pragma unroll 1
  for (; at < row.end; at += 32) {
    uint4 now[kFewRows];
#pragma unroll
    for (int i = 0; i < kFewRows; ++i) now[i] = next[i];
    const uint4 other = next_other;
    if (at + 32 < row.end) load(at + 32);
    Sum sum;
#pragma unroll
    for (int i = 0; i < kFewRows; ++i)
      if (i < entries.count) add<kType>(sum, now[i], weights[i]);
    finish<kType>(args, row, at, sum, other);
  }
}

// Makes a row of any token.
template <DType kType>
__device__ __forceinline__ void make_any(const HomeSumArguments& args, const Entries& entries,
                                         const Row& row, uint32_t width, int lane) {
#pragma unroll 1
  for (uint32_t first = row.begin; first < row.end; first += 32) {
    const uint32_t at = first + lane;
    const bool inside = at < row.end;
    uint4 other{};
    if (row.own && inside) other = load_other(args, row, at, 0);
    Sum sum;
    add_rows<kType, kManyRows>(static_cast<const uint4*>(args.products), width, entries, at, inside,
                               sum);
    if (inside) finish<kType>(args, row, at, sum, other);
  }
}

// Makes some columns of the row of a token of rank `owner`.
template <DType kType>
__device__ __forceinline__ void make_part(const HomeSumArguments& args, int owner, int token,
                                          int block, int lane) {
  const auto width = static_cast<uint32_t>(args.n / kSumWidth);
  const int first = block * args.parts.columns, end = min(first + args.parts.columns, args.n);
  const bool own = owner == args.flags.rank;
  const Row row{static_cast<uint4*>(own ? args.out : args.peer_out[owner]),
                static_cast<uint32_t>(token) * width, own, static_cast<uint32_t>(first) / kSumWidth,
                static_cast<uint32_t>(end) / kSumWidth};
  const Entries entries = entries_of(args.sums, {owner, token}, lane);
  if (entries.count <= kFewRows)
    make_ahead<kType>(args, entries, row, width, lane);
  else
    make_any<kType>(args, entries, row, width, lane);
}

// All parts of all shares that this rank makes. The warp's barrier puts all lanes' stores before
// lane 0's release, which is cumulative (PTX ISA, bar.warp.sync; 8.9.5, Causality Order). Its scope
// spans GPUs, as the stores do.
template <DType kType>
__device__ __forceinline__ void make_parts(const HomeSumArguments& args) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int rank = args.flags.rank, ranks = args.flags.ranks;
  const uint32_t run = *args.flags.run;
  Tickets tickets(&args.words->ticket, lane);
  const int end = sum_tickets(args.parts, ranks, args.lag);
  for (int ticket = tickets.take(); ticket < end; ticket = tickets.take()) {
    const auto [owner, number] = sum_turn(ticket, rank, ranks, args.lag);
    if (number < 0 || number >= args.parts.count()) continue;
    const int token = number / args.parts.across, block = number - token * args.parts.across;
    if (token >= args.sums.rows_of_share(owner)) continue;
    if (owner == rank && !wait_for_part(args.flags, run, number, lane)) continue;
    make_part<kType>(args, owner, token, block, lane);
    if (owner == rank) continue;
    __syncwarp();
    if (lane == 0) ptx::store_release_sys(flag_of_part(args.flags, owner, run, number, rank), run);
  }
}

// Where a rank has too many rows, all ranks find that, and none waits for another. After a wait
// that was given up before, other ranks may still read what the run before has brought: nothing may
// be stored there.
template <DType kType>
__global__ void __launch_bounds__(kThreads, 1)
    home_sums_kernel(const __grid_constant__ HomeSumArguments args) {
  const bool over =
      threadIdx.x == 0 && (is_given_up(args.flags) || is_over(args.bound, &args.words->over));
  if (__syncthreads_or(over ? 1 : 0) == 0) make_parts<kType>(args);
  const bool last = comes_last(&args.words->blocks, gridDim.x);
  if (last && threadIdx.x == 0) args.words->ticket = 0;  // for the next run
}

using Kernel = void (*)(HomeSumArguments);

// Outputs of experts have 16 bits.
Kernel kernel_of(tilepost_dtype_t type) {
  return type == TILEPOST_BF16 ? home_sums_kernel<DType::bf16> : home_sums_kernel<DType::f16>;
}

}  // namespace

cudaError_t preload_home_sums(tilepost_dtype_t type) {
  return preload_beside_gemm(reinterpret_cast<const void*>(kernel_of(type)));
}

int home_sum_warps(int sms) {
  return sms * kWarps;
}

cudaError_t launch_home_sums(const HomeSumArguments& arguments, tilepost_dtype_t type, int sms,
                             cudaStream_t stream) {
  return launch_kernel(kernel_of(type), dim3(sms), dim3(kThreads), stream, arguments);
}

}  // namespace tilepost::cuda
