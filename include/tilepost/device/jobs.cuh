// Jobs: what a warp that a kernel has to spare does beside the GEMM (tilepost_jobs_t). All CTAs'
// spare warps share a job: cut into chunks, it goes round them, so that each has about as much to
// do as every other.
//
// A chunk's parts come into shared memory by bulk copies, of which several chunks' are under way;
// the warp adds them up there, in place of the first part, and a bulk copy takes the sum away. So
// one warp with few registers keeps enough bytes in flight.
#ifndef TILEPOST_DEVICE_JOBS_CUH
#define TILEPOST_DEVICE_JOBS_CUH

#include "tilepost/device/element.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/jobs.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// The calling warp's chunks and their buffers. `turns` counts its chunks over all jobs.
template <int kParts>
struct JobMemory {
  uint32_t base;
  int chunk;  // bytes of a part

  __device__ explicit JobMemory(Spare spare)
      : base(spare.address), chunk(job_chunk_bytes(spare.bytes, kParts)) {}
  __device__ uint32_t barrier(int turn) const { return base + turn % kJobBuffers * 8; }
  __device__ uint32_t parity(int turn) const { return turn / kJobBuffers & 1; }
  __device__ uint32_t part(int turn, int part) const {
    return base + kJobBarriers + (turn % kJobBuffers * kParts + part) * chunk;
  }
};

// One lane. Waits until every rank's tiles of the group are in this rank's memory, and acquires
// them as wait_for_input does; the proxy fence is for the bulk copies that read them. False if the
// run was given up.
__device__ __forceinline__ bool wait_for_parts(const tilepost_jobs_t& jobs, int group) {
  constexpr unsigned kPollNanoseconds = 100;
  constexpr int kPollsPerCheck = 1 << 14;  // of the abort word, which is in the host's memory
  if (group < 0) return true;
  const uint32_t* counter = jobs.stored + static_cast<long long>(group) * TILEPOST_COUNTER_STRIDE;
  const uint32_t target = jobs.expected[group];
  for (int polls = 1; static_cast<int32_t>(ptx::load_relaxed_sys(counter) - target) < 0; ++polls) {
    if (polls % kPollsPerCheck == 0 && ptx::load_relaxed_sys(jobs.abort) != 0) return false;
    ptx::sleep_ns(kPollNanoseconds);
  }
  ptx::load_acquire_sys(counter);
  ptx::fence_global_to_async();
  return true;
}

// The whole warp: what lies at `first` becomes the sum of all parts, added in their order.
template <DType kType, int kParts>
__device__ __forceinline__ void add_parts(uint32_t first, int stride, int bytes, int lane) {
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
    ptx::store_shared_quad(first + at,
                           {sum(&uint4::x), sum(&uint4::y), sum(&uint4::z), sum(&uint4::w)});
  }
}

// The warp's chunks of one job: the first is number `first`, the others follow gridDim.x apart.
// Before a buffer is filled again the chunk that was in it has been stored: all groups of bulk
// stores but the last have been read by then.
template <DType kType, int kParts>
__device__ __forceinline__ void do_job(const tilepost_jobs_t& jobs, const tilepost_job_t& job,
                                       const JobMemory<kParts>& memory, int first, int count,
                                       int turn, int lane) {
  const auto offset = [&](int i) {
    return (first + static_cast<long long>(i) * gridDim.x) * memory.chunk;
  };
  const auto bytes = [&](int i) {
    const long long left = job.bytes - offset(i);
    return left < memory.chunk ? static_cast<int>(left) : memory.chunk;
  };
#pragma unroll 1
  for (int i = -kJobAhead; i < count; ++i) {
    if (lane == 0 && i + kJobAhead < count) {
      const int next = i + kJobAhead, size = bytes(next);
      ptx::wait_bulk_read<kJobBuffers - kJobAhead - 1>();
      const uint32_t barrier = memory.barrier(turn + next);
      ptx::arrive_expecting(barrier, kParts * size);
      const char* from = static_cast<const char*>(jobs.in) + job.from + offset(next);
#pragma unroll 1
      for (int part = 0; part < kParts; ++part)
        ptx::load_bytes_once(memory.part(turn + next, part), from + part * jobs.stride, size,
                             barrier);
    }
    if (i < 0) continue;
    const uint32_t sum = memory.part(turn + i, 0);
    ptx::wait_barrier(memory.barrier(turn + i), memory.parity(turn + i));
    if constexpr (kParts > 1) add_parts<kType, kParts>(sum, memory.chunk, bytes(i), lane);
    // Before the stores, and before the loads into what has been read (PTX ISA 8.6, Proxies).
    ptx::fence_shared_to_async();
    __syncwarp();
    if (lane == 0) {
      ptx::store_bytes(static_cast<char*>(jobs.out) + job.to + offset(i), sum, bytes(i));
      if (job.also != nullptr)
        ptx::store_bytes(static_cast<char*>(job.also) + offset(i), sum, bytes(i));
      ptx::commit_bulk();
    }
  }
}

// All lanes of a warp, in every CTA. What is done is counted when it is complete (tile_done).
template <DType kType, int kParts>
__device__ __forceinline__ void do_jobs(const tilepost_jobs_t& jobs, Spare spare) {
  const int lane = threadIdx.x % 32;
  const JobMemory<kParts> memory(spare);
  if (lane == 0) {
    for (int buffer = 0; buffer < kJobBuffers; ++buffer)
      ptx::init_barrier(memory.barrier(buffer), 1);
    ptx::fence_barrier_init();
  }
  __syncwarp();
  int chunk = blockIdx.x, turn = 0;
#pragma unroll 1
  for (int j = 0; j < jobs.count; ++j) {
    const tilepost_job_t job = jobs.list[j];  // in registers
    const int chunks = job_chunks(job.bytes, memory.chunk);
    const int stride = gridDim.x;
    const int count = chunk < chunks ? (chunks - chunk + stride - 1) / stride : 0;
    if (count > 0) {
      const bool ready = lane != 0 || wait_for_parts(jobs, job.group);
      if (!__shfl_sync(0xFFFFFFFF, ready, 0)) break;
      do_job<kType>(jobs, job, memory, chunk, count, turn, lane);
      if (lane == 0 && jobs.done != nullptr) {
        ptx::wait_bulk<0>();
        const long long group = job.group < 0 ? 0 : job.group;
        ptx::red_release_sys(jobs.done + group * TILEPOST_COUNTER_STRIDE, count);
      }
    }
    turn += count;
    chunk += count * stride - chunks;
  }
  if (lane == 0) ptx::wait_bulk<0>();
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_JOBS_CUH
