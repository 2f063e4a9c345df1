// Jobs: what a warp that a kernel has to spare does beside the GEMM (tilepost_jobs_t). All CTAs'
// spare warps share a job: cut into chunks, it goes round them, so that each has about as much to
// do as every other.
//
// A chunk's parts come into shared memory by bulk copies, of which several chunks' are under way;
// the warp adds them up there, in place of the first part, and bulk copies take the sum away, to
// this rank's memory and, of a push, to every other rank's. So one warp with few registers keeps
// enough bytes in flight.
#ifndef TILEPOST_DEVICE_JOBS_CUH
#define TILEPOST_DEVICE_JOBS_CUH

#include "tilepost/device/element.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/jobs.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// The calling warp's buffers, of which its chunks take turns. Moves stay where they have come, in
// kMoves places; of sums the parts come to kJobInputs places, which are free again when they have
// been added up, and the results leave from others. A kernel that does both moves in the places of
// parts, with barriers of their own.
template <int kParts>
struct JobMemory {
  static constexpr int kMoves = kParts == 1 ? kJobMoves : kJobInputs;
  uint32_t base;
  int part;  // bytes

  __device__ explicit JobMemory(Spare spare)
      : base(spare.address), part(job_part_bytes(spare.bytes, kParts)) {}
  __device__ uint32_t barrier(int number) const { return base + number * 8; }
  __device__ uint32_t input(int number) const {
    return base + kJobBarriers + number * kParts * part;
  }
  __device__ uint32_t sum(int turn) const {
    return input(kJobInputs) + turn % kJobSums * part;
  }
  __device__ uint32_t sum_barrier(int turn) const { return barrier(turn % kJobInputs); }
  __device__ uint32_t move_barrier(int turn) const {
    return barrier((kParts == 1 ? 0 : kJobInputs) + turn % kMoves);
  }
};
constexpr int kMostJobBarriers = 2 * kJobInputs;
static_assert(kMostJobBarriers >= kJobMoves && kMostJobBarriers * 8 <= kJobBarriers);

// The chunks of a job that fall to the calling warp: number `first`, then every gridDim.x-th.
struct JobChunks {
  const tilepost_job_t& job;
  int first, count;
  int bytes;  // of a part

  __device__ long long offset(int i) const {
    return (first + static_cast<long long>(i) * gridDim.x) * bytes;
  }
  __device__ int size(int i) const {
    const long long left = job.bytes - offset(i);
    return left < bytes ? static_cast<int>(left) : bytes;
  }
};

// One lane. Waits until what the counter stands for is in this rank's memory, and acquires it as
// wait_for_input does; the proxy fence is for the bulk copies that read it. False if the run was
// given up. `before`: called if there is anything to wait for.
template <class Before>
__device__ __forceinline__ bool wait_for_parts(const tilepost_jobs_t& jobs, int counter_index,
                                               Before before) {
  constexpr unsigned kPollNanoseconds = 100;
  constexpr int kPollsPerCheck = 1 << 14;  // of the abort word, which is in the host's memory
  if (counter_index < 0) return true;
  const uint32_t* counter =
      jobs.stored + static_cast<long long>(counter_index) * TILEPOST_COUNTER_STRIDE;
  const uint32_t target = jobs.expected[counter_index];
  for (int polls = 1; static_cast<int32_t>(ptx::load_relaxed_sys(counter) - target) < 0; ++polls) {
    if (polls == 1) before();
    if (polls % kPollsPerCheck == 0 && ptx::load_relaxed_sys(jobs.abort) != 0) return false;
    ptx::sleep_ns(kPollNanoseconds);
  }
  ptx::load_acquire_sys(counter);
  ptx::fence_global_to_async();
  return true;
}

// The whole warp: adds up parts that lie `stride` bytes apart from `first` on, in their order.
template <DType kType, int kParts>
__device__ __forceinline__ void add_parts(uint32_t first, int stride, uint32_t to, int bytes,
                                          int lane) {
  constexpr int kUnrolled = kParts <= 2 ? 2 : 1;  // few registers
#pragma unroll kUnrolled
  for (int at = lane * kJobUnit; at < bytes; at += 32 * kJobUnit) {
    uint4 vectors[kParts];
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      vectors[part] = ptx::load_shared_quad(first + part * stride + at);
    const auto sum = [&](uint32_t uint4::*word) {
      float2 pair = unpack<kType>(vectors[0].*word);
#pragma unroll
      for (int part = 1; part < kParts; ++part) {
        const float2 other = unpack<kType>(vectors[part].*word);
        pair.x += other.x;
        pair.y += other.y;
      }
      return pack<kType>(pair.x, pair.y);
    };
    ptx::store_shared_quad(to + at,
                           {sum(&uint4::x), sum(&uint4::y), sum(&uint4::z), sum(&uint4::w)});
  }
}

// One lane: calls body(rank) for every other rank, the next one first, so that not all ranks begin
// with the same.
template <class Body>
__device__ __forceinline__ void for_others(const tilepost_jobs_t& jobs, Body body) {
#pragma unroll 1
  for (int distance = 1; distance < jobs.ranks; ++distance) {
    const int rank = jobs.rank + distance;
    body(rank < jobs.ranks ? rank : rank - jobs.ranks);
  }
}

// One lane: sends a chunk that is ready at `from` where it belongs.
template <bool kPushes>
__device__ __forceinline__ void store_chunk(const tilepost_jobs_t& jobs, const JobChunks& chunks,
                                            int i, uint32_t from) {
  const tilepost_job_t& job = chunks.job;
  const long long offset = chunks.offset(i);
  const int size = chunks.size(i);
  ptx::store_bytes(static_cast<char*>(jobs.out) + job.to + offset, from, size);
  if (kPushes && job.push >= 0)
    for_others(jobs, [&](int rank) {
      ptx::store_bytes(static_cast<char*>(jobs.there[rank]) + job.push + offset, from, size);
    });
  ptx::commit_bulk();
}

// The warp's chunks of a job that moves. Loads are kAhead chunks ahead of stores; before a place is
// filled again, what was in it has been read.
template <int kParts, bool kPushes>
__device__ __forceinline__ void do_moves(const tilepost_jobs_t& jobs, const JobChunks& chunks,
                                         const JobMemory<kParts>& memory, int turn, int lane) {
  using Memory = JobMemory<kParts>;
  constexpr int kAhead = 2;
#pragma unroll 1
  for (int i = -kAhead; i < chunks.count; ++i) {
    if (lane == 0 && i + kAhead < chunks.count) {
      const int next = i + kAhead, size = chunks.size(next);
      ptx::wait_bulk_read<Memory::kMoves - kAhead - 1>();
      const uint32_t barrier = memory.move_barrier(turn + next);
      ptx::arrive_expecting(barrier, size);
      ptx::load_bytes_once(memory.input((turn + next) % Memory::kMoves),
                           static_cast<const char*>(jobs.in) + chunks.job.from +
                               chunks.offset(next),
                           size, barrier);
    }
    if (i < 0) continue;
    const uint32_t place = memory.input((turn + i) % Memory::kMoves);
    ptx::wait_barrier(memory.move_barrier(turn + i), (turn + i) / Memory::kMoves & 1);
    // What the barrier has shown goes back to the async proxy (PTX ISA 8.6, Proxies).
    ptx::fence_shared_to_async();
    __syncwarp();
    if (lane == 0) store_chunk<kPushes>(jobs, chunks, i, place);
  }
  // Parts come to the same places.
  if (kParts > 1 && lane == 0) ptx::wait_bulk_read<0>();
}

template <int kParts>
__device__ __forceinline__ void load_parts(const tilepost_jobs_t& jobs, const JobChunks& chunks,
                                           const JobMemory<kParts>& memory, int turn, int i) {
  const int size = chunks.size(i);
  const uint32_t barrier = memory.sum_barrier(turn + i);
  const uint32_t to = memory.input((turn + i) % kJobInputs);
  const char* from = static_cast<const char*>(jobs.in) + chunks.job.from + chunks.offset(i);
  ptx::arrive_expecting(barrier, kParts * size);
#pragma unroll 1
  for (int part = 0; part < kParts; ++part)
    ptx::load_bytes_once(to + part * memory.part, from + part * jobs.stride, size, barrier);
}

// The warp's chunks of a job that adds. The parts of the next chunks are on their way meanwhile;
// before a sum is written, the one that was in its place has been read.
template <DType kType, int kParts, bool kPushes>
__device__ __forceinline__ void do_sums(const tilepost_jobs_t& jobs, const JobChunks& chunks,
                                        const JobMemory<kParts>& memory, int turn, int lane) {
#pragma unroll 1
  for (int i = 0; lane == 0 && i < kJobInputs && i < chunks.count; ++i)
    load_parts(jobs, chunks, memory, turn, i);
#pragma unroll 1
  for (int i = 0; i < chunks.count; ++i) {
    if (lane == 0) ptx::wait_bulk_read<kJobSums - 1>();
    ptx::wait_barrier(memory.sum_barrier(turn + i), (turn + i) / kJobInputs & 1);
    __syncwarp();
    const uint32_t sum = memory.sum(turn + i);
    add_parts<kType, kParts>(memory.input((turn + i) % kJobInputs), memory.part, sum,
                             chunks.size(i), lane);
    // Before the stores, and before the loads into what has been read (PTX ISA 8.6, Proxies).
    ptx::fence_shared_to_async();
    __syncwarp();
    if (lane != 0) continue;
    if (i + kJobInputs < chunks.count) load_parts(jobs, chunks, memory, turn, i + kJobInputs);
    store_chunk<kPushes>(jobs, chunks, i, sum);
  }
}

// Chunks of pushes that are not counted yet, because others wait for them only when they are
// complete: until then the warp goes on.
struct Uncounted {
  int counter = 0, chunks = 0;
};

// One lane: completes all stores so far and counts pushes where others wait for them (tile_done).
__device__ __forceinline__ void count_pushes(const tilepost_jobs_t& jobs, Uncounted& uncounted) {
  if (uncounted.chunks == 0) return;
  ptx::wait_bulk<0>();
  const long long at = static_cast<long long>(uncounted.counter) * TILEPOST_COUNTER_STRIDE;
  for_others(jobs, [&](int rank) {
    ptx::red_release_sys(jobs.raise[rank] + at, uncounted.chunks);
  });
  uncounted.chunks = 0;
}

// One lane, behind a job: counts the pushes of an earlier one, and this one's chunks. Sums that are
// pushed are left uncounted while the warp has something else to do; rows of A are wanted at once.
template <int kParts, bool kPushes>
__device__ __forceinline__ void count_done(const tilepost_jobs_t& jobs, const tilepost_job_t& job,
                                           int chunks, Uncounted& uncounted) {
  if constexpr (kPushes) {
    count_pushes(jobs, uncounted);
    if (job.push >= 0) uncounted = {job.counts, chunks};
    if (kParts == 1) count_pushes(jobs, uncounted);
  }
  if (jobs.done == nullptr || (kPushes && job.push >= 0)) return;
  ptx::wait_bulk<0>();
  ptx::red_release_sys(jobs.done + static_cast<long long>(job.counts) * TILEPOST_COUNTER_STRIDE,
                       chunks);
}

// All lanes of a warp, in every CTA. Jobs of a kernel that adds have kParts parts, or, if it pushes
// sums, one. Nobody waits with something uncounted that others may wait for.
template <DType kType, int kParts, bool kPushes>
__device__ __forceinline__ void do_jobs(const tilepost_jobs_t& jobs, Spare spare) {
  const int lane = threadIdx.x % 32;
  const JobMemory<kParts> memory(spare);
  if (lane == 0) {
    for (int number = 0; number < kMostJobBarriers; ++number)
      ptx::init_barrier(memory.barrier(number), 1);
    ptx::fence_barrier_init();
  }
  __syncwarp();
  const int stride = gridDim.x;
  int chunk = blockIdx.x, summed = 0, moved = 0;
  Uncounted uncounted;
#pragma unroll 1
  for (int j = 0; j < jobs.count; ++j) {
    const tilepost_job_t job = jobs.list[j];  // in registers
    const bool moves = kParts == 1 || (kPushes && job.parts == 1);
    const int bytes = moves ? kParts * memory.part : memory.part;
    const int in_all = job_chunks(job.bytes, bytes);
    const int count = chunk < in_all ? (in_all - chunk + stride - 1) / stride : 0;
    if (count > 0) {
      const auto before = [&] { count_pushes(jobs, uncounted); };
      const bool ready = lane != 0 || wait_for_parts(jobs, job.waits, before);
      if (!__shfl_sync(0xFFFFFFFF, ready, 0)) break;
      const JobChunks chunks{job, chunk, count, bytes};
      if (moves)
        do_moves<kParts, kPushes>(jobs, chunks, memory, moved, lane);
      else if constexpr (kParts > 1)
        do_sums<kType, kParts, kPushes>(jobs, chunks, memory, summed, lane);
      if (lane == 0) count_done<kParts, kPushes>(jobs, job, count, uncounted);
    }
    (moves ? moved : summed) += count;
    chunk += count * stride - in_all;
  }
  if (lane != 0) return;
  count_pushes(jobs, uncounted);
  ptx::wait_bulk<0>();
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_JOBS_CUH
