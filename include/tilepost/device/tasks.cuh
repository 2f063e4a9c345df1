// Tasks: what a helper warp does beside the GEMM (tilepost_tasks_t). All CTAs'
// helper warps share a task: cut into chunks, it goes round them, so that each has about as much to
// do as every other.
//
// A chunk's parts come into shared memory by bulk copies, of which several chunks' are under way;
// the warp adds them up there, in place of the first part, and bulk copies take the sum away, to
// this rank's memory and, of a push, to every other rank's, or to one of them alone. So one warp
// with few registers keeps enough bytes in flight.
#ifndef TILEPOST_DEVICE_TASKS_CUH
#define TILEPOST_DEVICE_TASKS_CUH

#include "tilepost/device/element.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/internal/task_chunks.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// The calling warp's buffers. A turn is one chunk of its, over all tasks: however many parts a task
// has, it takes the next buffer.
struct TaskMemory {
  HelperMemory helper;

  __device__ uint32_t barrier(int turn) const { return helper.address + turn % kTaskBuffers * 8; }
  __device__ uint32_t parity(int turn) const { return turn / kTaskBuffers & 1; }
  __device__ uint32_t buffer(int turn) const {
    return helper.address + kTaskBarriers + turn % kTaskBuffers * task_buffer_bytes(helper.bytes);
  }
};

// The chunks that fall to the calling warp: number `first` of the task's, then every
// gridDim.x-th.
struct TaskChunks {
  int first, count;
  int bytes;  // of a part
};

// Where a run that takes turns with others at memory and counters has its own: behind what its
// tasks say, so many bytes and counters.
struct PlaceOfRun {
  long long bytes = 0;
  int counters = 0;
};

// What counters read when all of the run is here: as the kernel in front of this one has counted.
struct ExpectedCounts {
  const uint32_t* counts;

  __device__ uint32_t at(int counter) const { return counts[counter]; }
};

// One lane. Waits until what the counter stands for is in this rank's memory, and acquires it as
// wait_for_input does; the proxy fence is for the bulk copies that read it. False if the run was
// given up. `Expected`: as ExpectedCounts, here and below.
template <class Expected>
__device__ __forceinline__ bool wait_for_parts(const tilepost_tasks_t& tasks,
                                               const Expected& expected, int counter_index) {
  constexpr unsigned kPollNanoseconds = 100;
  constexpr int kPollsPerCheck = 1 << 14;  // of the abort word, which is in the host's memory
  if (counter_index < 0) return true;
  const uint32_t* counter =
      tasks.stored + static_cast<long long>(counter_index) * TILEPOST_COUNTER_STRIDE;
  const uint32_t target = expected.at(counter_index);
  for (int polls = 1; static_cast<int32_t>(ptx::load_relaxed_sys(counter) - target) < 0; ++polls) {
    if (polls % kPollsPerCheck == 0 && ptx::load_relaxed_sys(tasks.abort) != 0) return false;
    ptx::sleep_ns(kPollNanoseconds);
  }
  ptx::load_acquire_sys(counter);
  ptx::fence_global_to_async();
  return true;
}

// Where a chunk begins in a part as it is stored, and what it has up to the first gap. All of it is
// in multiples of kTaskUnit; counted in these, a part has less than 2^32.
struct ChunkPlace {
  long long begin;  // byte in the part, gaps counted
  int row_left;
};

// What tasks read: rows of so many bytes with a gap behind each (tilepost_tasks_t), or, where `gap`
// is 0, bytes without any.
struct PartRows {
  int bytes, gap;

  // Of a chunk that begins at byte `offset` of what has no gaps.
  __device__ __forceinline__ ChunkPlace at(long long offset) const {
    if (gap == 0) return {offset, 1 << 30};
    const uint32_t row =
        static_cast<uint32_t>(offset / kTaskUnit) / static_cast<uint32_t>(bytes / kTaskUnit);
    return {offset + static_cast<long long>(row) * gap,
            static_cast<int>((row + 1LL) * bytes - offset)};
  }
  // The bytes of gaps in front of the chunk's byte `at`.
  __device__ __forceinline__ int gaps_before(const ChunkPlace& chunk, int at) const {
    return at < chunk.row_left ? 0 : (1 + (at - chunk.row_left) / bytes) * gap;
  }
};

// One lane: `size` bytes of a part, from `from` on, of which `left` are up to the first gap, arrive
// at `to` without gaps.
__device__ __forceinline__ void load_rows(uint32_t to, const char* from, const PartRows& rows,
                                          int left, int size, uint32_t barrier) {
#pragma unroll 1
  for (; left < size; left = rows.bytes) {
    ptx::load_bytes_once(to, from, left, barrier);
    to += left;
    from += left + rows.gap;
    size -= left;
  }
  ptx::load_bytes_once(to, from, size, barrier);
}

// The whole warp: what lies at `first` becomes the sum of all parts.
template <DType kType, int kParts>
__device__ __forceinline__ void add_parts(uint32_t first, int stride, int bytes, int lane) {
  constexpr int kUnrolled = kParts <= 2 ? 2 : 1;  // few registers
#pragma unroll kUnrolled
  for (int at = lane * kTaskUnit; at < bytes; at += 32 * kTaskUnit) {
    uint4 vectors[kParts];
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      vectors[part] = ptx::load_shared_quad(first + part * stride + at);
    ptx::store_shared_quad(first + at, add_vectors<kType>(vectors));
  }
}

// One lane: calls body(rank) for every rank that a push is for, the next one first, so that not all
// ranks begin with the same.
template <class Body>
__device__ __forceinline__ void for_pushed(const tilepost_tasks_t& tasks,
                                           const tilepost_task_t& task, Body body) {
  if (task.only >= 0) {
    body(task.only);
    return;
  }
#pragma unroll 1
  for (int distance = 1; distance < tasks.ranks; ++distance) {
    const int rank = tasks.rank + distance;
    body(rank < tasks.ranks ? rank : rank - tasks.ranks);
  }
}

// The warp's chunks of one task. Before a buffer is filled again the chunk that was in it has been
// stored: all groups of bulk stores but the last have been read by then.
template <DType kType, int kParts, bool kPushes>
__device__ __forceinline__ void do_task(const tilepost_tasks_t& tasks, const tilepost_task_t& task,
                                        const TaskMemory& memory, const TaskChunks& chunks,
                                        const PartRows& rows, int turn, int lane) {
  const auto offset = [&](int i) {
    return (chunks.first + static_cast<long long>(i) * gridDim.x) * chunks.bytes;
  };
  const auto bytes = [&](int i) {
    const long long left = task.bytes - offset(i);
    return left < chunks.bytes ? static_cast<int>(left) : chunks.bytes;
  };
#pragma unroll 1
  for (int i = -kTaskAhead; i < chunks.count; ++i) {
    if (lane == 0 && i + kTaskAhead < chunks.count) {
      const int next = i + kTaskAhead, size = bytes(next);
      ptx::wait_bulk_read<kTaskBuffers - kTaskAhead - 1>();
      const uint32_t barrier = memory.barrier(turn + next);
      ptx::arrive_expecting(barrier, kParts * size);
      const ChunkPlace chunk = rows.at(offset(next));
      const char* from = static_cast<const char*>(tasks.in) + task.from + chunk.begin;
#pragma unroll 1
      for (int part = 0; part < kParts; ++part)
        load_rows(memory.buffer(turn + next) + part * chunks.bytes, from + part * tasks.stride,
                  rows, chunk.row_left, size, barrier);
    }
    if (i < 0) continue;
    const uint32_t sum = memory.buffer(turn + i);
    ptx::wait_barrier(memory.barrier(turn + i), memory.parity(turn + i));
    if constexpr (kParts > 1) add_parts<kType, kParts>(sum, chunks.bytes, bytes(i), lane);
    // Before the stores, and before the loads into what has been read (PTX ISA 8.6, Proxies).
    ptx::fence_shared_to_async();
    __syncwarp();
    if (lane == 0) {
      if (!kPushes || task.only < 0)
        ptx::store_bytes(static_cast<char*>(tasks.out) + task.to + offset(i), sum, bytes(i));
      if (kPushes && task.push >= 0)
        for_pushed(tasks, task, [&](int rank) {
          ptx::store_bytes(static_cast<char*>(tasks.there[rank]) + task.push + offset(i), sum,
                           bytes(i));
        });
      ptx::commit_bulk();
    }
  }
}

// One lane: counts `chunks` of a task as done where a kernel waits for them, when their stores are
// complete (tile_done).
template <bool kPushes>
__device__ __forceinline__ void count_done(const tilepost_tasks_t& tasks,
                                           const tilepost_task_t& task, int chunks) {
  const long long at = static_cast<long long>(task.counts) * TILEPOST_COUNTER_STRIDE;
  if (kPushes && task.push >= 0) {
    ptx::wait_bulk<0>();
    for_pushed(tasks, task,
               [&](int rank) { ptx::red_release_sys(tasks.raise[rank] + at, chunks); });
  } else if (tasks.done != nullptr) {
    ptx::wait_bulk<0>();
    ptx::red_release_sys(tasks.done + at, chunks);
  }
}

// Whether what tasks with one part move is where it is to go: other ranks push into `out` itself.
// Of a kernel that adds and pushes; in sequence it has no tasks.
__device__ __forceinline__ bool lands_in_out(const tilepost_tasks_t& tasks) {
  return tasks.count > 0 && tasks.there[tasks.rank] == tasks.out;
}

// One lane in every CTA. Waits for what has not been moved because it is in place: the kernel must
// not end before it is all there. The tasks go round the CTAs. What reads `out` comes behind the
// kernel in its stream, so that one of its threads has acquired the pushes is enough: causality
// order is transitive (PTX ISA 8.9.5).
template <class Expected>
__device__ __forceinline__ bool wait_in_place(const tilepost_tasks_t& tasks,
                                              const Expected& expected) {
#pragma unroll 1
  for (int j = blockIdx.x; j < tasks.count; j += gridDim.x)
    if (tasks.list[j].parts == 1 && !wait_for_parts(tasks, expected, tasks.list[j].waits))
      return false;
  return true;
}

// All lanes of a warp, once before do_tasks.
__device__ __forceinline__ void open_tasks(HelperMemory helper) {
  const TaskMemory memory{helper};
  if (threadIdx.x % 32 == 0) {
    for (int buffer = 0; buffer < kTaskBuffers; ++buffer)
      ptx::init_barrier(memory.barrier(buffer), 1);
    ptx::fence_barrier_init();
  }
  __syncwarp();
}

// All lanes of a warp, in every CTA, for the first `number` tasks. Tasks of a kernel that adds and
// pushes have kParts parts or one. Lane 0 is told whether the run was not given up.
template <DType kType, int kParts, bool kPushes, class Expected>
__device__ __forceinline__ bool do_tasks(const tilepost_tasks_t& tasks, int number,
                                         const Expected& expected, HelperMemory helper,
                                         const PlaceOfRun& place = {}) {
  const int lane = threadIdx.x % 32;
  const TaskMemory memory{helper};
  const int stride = gridDim.x;
  const bool in_place = kParts > 1 && kPushes && lands_in_out(tasks);
  bool through = true;
  int chunk = blockIdx.x, turn = 0;
#pragma unroll 1
  for (int j = 0; j < number; ++j) {
    tilepost_task_t task = tasks.list[j];  // in registers
    task.to += place.bytes;
    if (task.push >= 0) task.push += place.bytes;
    task.counts += place.counters;
    const bool moves = kParts > 1 && kPushes && task.parts == 1;
    if (moves && in_place) continue;
    const int bytes = task_chunk_bytes(helper.bytes, moves ? 1 : kParts);
    const int in_all = task_chunks(task.bytes, bytes);
    const int count = chunk < in_all ? (in_all - chunk + stride - 1) / stride : 0;
    if (count > 0) {
      through = lane != 0 || wait_for_parts(tasks, expected, task.waits);
      if (!__shfl_sync(0xFFFFFFFF, through, 0)) break;
      if (moves)
        do_task<kType, 1, false>(tasks, task, memory, {chunk, count, bytes}, {0, 0}, turn, lane);
      else
        do_task<kType, kParts, kPushes>(tasks, task, memory, {chunk, count, bytes},
                                        {tasks.row_bytes, tasks.row_gap}, turn, lane);
      if (lane == 0) count_done<kPushes>(tasks, task, count);
    }
    turn += count;
    chunk += count * stride - in_all;
  }
  if (lane != 0) return true;
  ptx::wait_bulk<0>();
  return through && (!in_place || wait_in_place(tasks, expected));
}

// ---- The last tasks, by warps that have multiplied
//
// Nothing of the GEMM is left to keep from its operands, and these warps have registers. So they
// load, add up and store by themselves, and many more bytes are under way than one warp's buffers
// hold.

// One chunk of a task, from byte `offset` on: all lanes.
template <DType kType, int kParts, bool kPushes>
__device__ __forceinline__ void finish_chunk(const tilepost_tasks_t& tasks,
                                             const tilepost_task_t& task, const PartRows& rows,
                                             long long offset, int bytes, int lane) {
  constexpr int kAtOnce = kParts >= 8 ? 1 : 8 / kParts;  // sums of sixteen bytes under way
  const ChunkPlace chunk = rows.at(offset);
  const char* const in = static_cast<const char*>(tasks.in) + task.from + chunk.begin;
#pragma unroll 1
  for (int first = lane * kTaskUnit; first < bytes; first += kAtOnce * 32 * kTaskUnit) {
    uint4 vectors[kAtOnce][kParts];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = first + i * 32 * kTaskUnit;
      if (at >= bytes) continue;
      const char* const from = in + at + rows.gaps_before(chunk, at);
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        vectors[i][part] = *reinterpret_cast<const uint4*>(from + part * tasks.stride);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = first + i * 32 * kTaskUnit;
      if (at >= bytes) break;
      const uint4 sum = add_vectors<kType>(vectors[i]);
      const auto store = [&](void* to, long long place) {
        *reinterpret_cast<uint4*>(static_cast<char*>(to) + place + offset + at) = sum;
      };
      if (!kPushes || task.only < 0) store(tasks.out, task.to);
      if (kPushes && task.push >= 0)
        for_pushed(tasks, task, [&](int rank) { store(tasks.there[rank], task.push); });
    }
  }
}

// All lanes of a warp, `warp` of `finishers` in every CTA: their chunks of the last tasks, which go
// round all these warps. What lane 0 has acquired the barrier of the warp orders before the other
// lanes' loads, and their stores before its release (PTX ISA, bar.warp.sync; 8.9.5: causality order
// is transitive).
template <DType kType, int kParts, bool kPushes, class Expected>
__device__ __forceinline__ void finish_tasks(const tilepost_tasks_t& tasks,
                                             const Expected& expected, int helper_bytes, int warp,
                                             int finishers) {
  const int lane = threadIdx.x % 32, stride = gridDim.x * finishers;
  const bool in_place = kParts > 1 && kPushes && lands_in_out(tasks);
  int chunk = blockIdx.x + gridDim.x * warp;
#pragma unroll 1
  for (int j = tasks.last; j < tasks.count; ++j) {
    const tilepost_task_t task = tasks.list[j];
    const bool moves = kParts > 1 && kPushes && task.parts == 1;
    if (moves && in_place) continue;
    const int bytes = task_chunk_bytes(helper_bytes, moves ? 1 : kParts);
    const int in_all = task_chunks(task.bytes, bytes);
    if (chunk < in_all) {
      const bool through = lane != 0 || wait_for_parts(tasks, expected, task.waits);
      if (!__shfl_sync(0xFFFFFFFF, through, 0)) return;
      __syncwarp();
      int done = 0;
#pragma unroll 1
      for (; chunk < in_all; chunk += stride, ++done) {
        const long long offset = static_cast<long long>(chunk) * bytes, left = task.bytes - offset;
        const int size = left < bytes ? static_cast<int>(left) : bytes;
        if (moves)
          finish_chunk<kType, 1, false>(tasks, task, {0, 0}, offset, size, lane);
        else
          finish_chunk<kType, kParts, kPushes>(tasks, task, {tasks.row_bytes, tasks.row_gap},
                                               offset, size, lane);
      }
      __syncwarp();
      if (lane == 0) count_done<kPushes>(tasks, task, done);
    }
    chunk -= in_all;
  }
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_TASKS_CUH
