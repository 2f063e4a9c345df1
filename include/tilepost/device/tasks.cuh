// Tasks: what helper warps do beside the GEMM (tilepost_tasks_t). A task is cut into chunks, which
// are dealt to the helper warps of all CTAs in turn, so that each warp has about as much to do as
// every other.
//
// Bulk copies bring the parts of a chunk into shared memory, and the copies of several chunks are
// under way at a time. The warp adds the parts up there, in place of the first part. Then bulk
// copies take the sum to this rank's memory and, for a push, to every other rank's, or to one other
// rank's alone. So one warp with few registers keeps enough bytes in flight.
//
// Scales of A's blocks move with its rows, by tasks of their own. Where they do not begin at
// multiples of 16 bytes, as bulk copies must, lanes load and store them.
#ifndef TILEPOST_DEVICE_TASKS_CUH
#define TILEPOST_DEVICE_TASKS_CUH

#include "tilepost/device/element.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/internal/task_chunks.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// The calling warp's buffers. A turn is one chunk of the warp's, counted over all of its tasks.
// Each turn takes the next buffer, however many parts its task has.
struct TaskMemory {
  HelperMemory helper;

  __device__ uint32_t barrier(int turn) const { return helper.address + turn % kTaskBuffers * 8; }
  __device__ uint32_t parity(int turn) const { return turn / kTaskBuffers & 1; }
  __device__ uint32_t buffer(int turn) const {
    return helper.address + kTaskBarriers + turn % kTaskBuffers * task_buffer_bytes(helper.bytes);
  }
};

// The chunks of a task that the calling warp does: number `first`, then every gridDim.x-th, `count`
// in all.
struct TaskChunks {
  int first, count;
  int bytes;  // of each part in a chunk
};

// Runs may take turns at memory and counters. Then a run's own memory begins `bytes` bytes, and its
// own counters begin `counters` counters, behind those that its tasks name.
struct PlaceOfRun {
  long long bytes = 0;
  int counters = 0;
};

// What counters read when all of the run has come, as the kernel in front of this one has computed
// it.
struct ExpectedCounts {
  const uint32_t* counts;

  __device__ uint32_t at(int counter) const { return counts[counter]; }
};

// One lane. Waits until what the counter stands for is in this rank's memory, and acquires it as
// wait_for_input (arrivals.cuh) does. The proxy fence is for the bulk copies that read it. Returns
// false if the run was given up. Here and below, `Expected` is a type with the interface of
// ExpectedCounts.
template <class Expected>
__device__ __forceinline__ bool wait_for_parts(const tilepost_tasks_t& tasks,
                                               const Expected& expected, int counter_index) {
  constexpr unsigned kPollNanoseconds = 100;
  constexpr int kPollsPerCheck = 1 << 14;  // the abort word lies in the host's memory
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

// Where a chunk begins in a part as the part is stored, and how many bytes the chunk has up to the
// first gap. Both are multiples of kTaskUnit. Counted in these units, a part has less than 2^32.
struct ChunkPlace {
  long long begin;  // byte in the part, gaps counted
  int row_left;     // bytes up to the first gap
};

// What tasks read: rows of `bytes` bytes with a gap of `gap` bytes behind each (tilepost_tasks_t).
// If `gap` is 0, what they read has no gaps.
struct PartRows {
  int bytes, gap;

  // The place of a chunk that begins at byte `offset` of the part, gaps not counted.
  __device__ __forceinline__ ChunkPlace at(long long offset) const {
    if (gap == 0) return {offset, 1 << 30};
    const uint32_t row =
        static_cast<uint32_t>(offset / kTaskUnit) / static_cast<uint32_t>(bytes / kTaskUnit);
    return {offset + static_cast<long long>(row) * gap,
            static_cast<int>((row + 1LL) * bytes - offset)};
  }
  // How many bytes of gaps lie in front of byte `at` of the chunk, counted from its beginning.
  __device__ __forceinline__ int gaps_before(const ChunkPlace& chunk, int at) const {
    return at < chunk.row_left ? 0 : (1 + (at - chunk.row_left) / bytes) * gap;
  }
};

// One lane. Starts loading `size` bytes of a part, from `from` on, to `to`, where they arrive
// without gaps. `left` of these bytes lie in front of the first gap.
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

// The whole warp. Replaces the part at `first` by the sum of all parts, which are `stride` bytes
// apart.
template <DType kType, int kParts>
__device__ __forceinline__ void add_parts(uint32_t first, int stride, int bytes, int lane) {
  constexpr int kUnrolled = kParts <= 2 ? 2 : 1;  // saves registers
#pragma unroll kUnrolled
  for (int at = lane * kTaskUnit; at < bytes; at += 32 * kTaskUnit) {
    uint4 vectors[kParts];
#pragma unroll
    for (int part = 0; part < kParts; ++part)
      vectors[part] = ptx::load_shared_quad(first + part * stride + at);
    ptx::store_shared_quad(first + at, add_vectors<kType>(vectors));
  }
}

// One lane. Calls body(rank) for every rank that a push is for. It begins with the rank behind this
// one, so that not all ranks push to the same rank first.
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

// Does the warp's chunks of one task. A buffer is filled again only when its last chunk has been
// stored: by then all but the newest kTaskBuffers - kTaskAhead - 1 groups of bulk stores have read
// their buffers.
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
    // Needed before the stores of the sum, and before later loads into the buffers that were read
    // here (PTX ISA 8.6, Proxies).
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

// One lane. When the stores of `chunks` chunks of a task are complete, counts these chunks as done
// where a kernel waits for them, as tile_done does for tiles.
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

// Whether other ranks push into `out` itself, so that what tasks with one part would move is in
// place already. Used in a kernel that adds and pushes, which has no tasks in a run in sequence.
__device__ __forceinline__ bool lands_in_out(const tilepost_tasks_t& tasks) {
  return tasks.count > 0 && tasks.there[tasks.rank] == tasks.out;
}

// One lane in every CTA. Waits for what is not moved because it is in place: the kernel must not
// end before all of it has come. The CTAs share these waits, task by task. Whatever reads `out`
// comes behind the kernel in its stream. So it is enough that one thread of the kernel has acquired
// the pushes, because causality order is transitive (PTX ISA 8.9.5).
template <class Expected>
__device__ __forceinline__ bool wait_in_place(const tilepost_tasks_t& tasks,
                                              const Expected& expected) {
#pragma unroll 1
  for (int j = blockIdx.x; j < tasks.count; j += gridDim.x)
    if (tasks.list[j].parts == 1 && !wait_for_parts(tasks, expected, tasks.list[j].waits))
      return false;
  return true;
}

// All lanes of a warp, once, before do_tasks. Initialises the barriers of the warp's buffers.
__device__ __forceinline__ void open_tasks(HelperMemory helper) {
  const TaskMemory memory{helper};
  if (threadIdx.x % 32 == 0) {
    for (int buffer = 0; buffer < kTaskBuffers; ++buffer)
      ptx::init_barrier(memory.barrier(buffer), 1);
    ptx::fence_barrier_init();
  }
  __syncwarp();
}

// ---- Scales of A's blocks

// The task without parts, as one that moves a part out of tilepost_tasks_t::in. The scales of A's
// rows begin at `scales`.
__device__ __forceinline__ void read_scales(const tilepost_tasks_t& tasks, const float* scales,
                                            tilepost_task_t& task) {
  task.from += reinterpret_cast<long long>(scales) - reinterpret_cast<long long>(tasks.in);
}

// Whether bulk copies can carry out the task.
__device__ __forceinline__ bool may_copy(const tilepost_tasks_t& tasks,
                                         const tilepost_task_t& task) {
  const long long from = reinterpret_cast<long long>(tasks.in) + task.from;
  const long long push = task.push >= 0 ? task.push : 0;
  return ((from | task.to | task.bytes | push) & (kTaskUnit - 1)) == 0;
}

// All lanes. Moves `bytes` bytes of a task, from byte `offset` on, word by word.
__device__ __forceinline__ void move_words(const tilepost_tasks_t& tasks,
                                           const tilepost_task_t& task, long long offset, int bytes,
                                           int lane) {
  constexpr int kWord = static_cast<int>(sizeof(uint32_t)), kStep = 32 * kWord;
  constexpr int kAtOnce = 2;  // words under way in a lane; with more the warp lacks registers
  const char* const from = static_cast<const char*>(tasks.in) + task.from + offset;
#pragma unroll 1
  for (int at = lane * kWord; at < bytes; at += kAtOnce * kStep) {
    uint32_t held[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (at + i * kStep < bytes)
        held[i] = *reinterpret_cast<const uint32_t*>(from + at + i * kStep);
    const auto store = [&](void* to, long long place) {
      char* const first = static_cast<char*>(to) + place + offset + at;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        if (at + i * kStep < bytes) *reinterpret_cast<uint32_t*>(first + i * kStep) = held[i];
    };
    if (task.only < 0) store(tasks.out, task.to);
    if (task.push >= 0)
      for_pushed(tasks, task, [&](int rank) { store(tasks.there[rank], task.push); });
  }
}

// All lanes of a warp, in every CTA, before do_tasks. Does the tasks without parts that bulk copies
// cannot carry out. They wait for nothing, and their chunks are as large as those of rows. The
// barrier of the warp orders the stores of all lanes before lane 0's release (PTX ISA,
// bar.warp.sync; 8.9.5: causality order is transitive).
__device__ __forceinline__ void move_scales(const tilepost_tasks_t& tasks, const float* scales,
                                            int helper_bytes, const PlaceOfRun& place) {
  const int lane = threadIdx.x % 32, bytes = task_chunk_bytes(helper_bytes, 1);
  int chunk = blockIdx.x;
#pragma unroll 1
  for (int j = 0; j < tasks.count; ++j) {
    tilepost_task_t task = tasks.list[j];
    if (task.parts != 0) continue;
    read_scales(tasks, scales, task);
    if (may_copy(tasks, task)) continue;
    task.to += place.bytes;
    if (task.push >= 0) task.push += place.bytes;
    task.counts += place.counters;
    const int in_all = task_chunks(task.bytes, bytes);
    int done = 0;
#pragma unroll 1
    for (; chunk < in_all; chunk += gridDim.x, ++done) {
      const long long offset = static_cast<long long>(chunk) * bytes, left = task.bytes - offset;
      move_words(tasks, task, offset, left < bytes ? static_cast<int>(left) : bytes, lane);
    }
    __syncwarp();
    if (lane == 0 && done > 0) count_done<true>(tasks, task, done);
    chunk -= in_all;
  }
}

// ---- All tasks

// All lanes of a warp, in every CTA. Does the first `number` tasks, but for those that move_scales
// has done. In a kernel that adds and pushes a task has kParts parts or one. `scales` is what tasks
// without parts read; null: there are none. Returns to lane 0 whether the run was not given up.
template <DType kType, int kParts, bool kPushes, class Expected>
__device__ __forceinline__ bool do_tasks(const tilepost_tasks_t& tasks, int number,
                                         const Expected& expected, HelperMemory helper,
                                         const PlaceOfRun& place = {},
                                         const float* scales = nullptr) {
  const int lane = threadIdx.x % 32;
  const TaskMemory memory{helper};
  const int stride = gridDim.x;
  const bool in_place = kParts > 1 && kPushes && lands_in_out(tasks);
  bool through = true;
  int chunk = blockIdx.x, turn = 0;
#pragma unroll 1
  for (int j = 0; j < number; ++j) {
    tilepost_task_t task = tasks.list[j];  // in registers
    if (scales != nullptr && task.parts == 0) {
      read_scales(tasks, scales, task);
      if (!may_copy(tasks, task)) continue;
    }
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
// When these warps have multiplied, no GEMM is left that their loads could delay, and they have
// many registers. So they load, add up and store through registers, with many more bytes under way
// than the buffers of one helper warp hold.

// All lanes. Does one chunk of a task: `bytes` bytes from byte `offset` of a part on, gaps not
// counted.
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

// All lanes of warp number `warp` of the `finishers` in every CTA. Does the warp's chunks of the
// last tasks, which are dealt to all these warps in turn. Lane 0 acquires and releases for all
// lanes: the barriers of the warp order what it has acquired before the other lanes' loads, and
// their stores before its release (PTX ISA, bar.warp.sync; 8.9.5: causality order is transitive).
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
