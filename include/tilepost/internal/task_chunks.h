// How the tasks of helper warps (tilepost_tasks_t) are cut into chunks: for kernels, which do them,
// and for the runtime, which waits for them.
#ifndef TILEPOST_TASK_CHUNKS_H
#define TILEPOST_TASK_CHUNKS_H

#include <cstdint>

#include "tilepost/mark.cuh"

namespace tilepost {

constexpr int kTaskBuffers = 4;     // chunks in a CTA's shared memory
constexpr int kTaskAhead = 2;       // chunks whose parts are asked for before they are needed
constexpr int kTaskUnit = 16;       // bytes: what bulk copies are multiples of
constexpr int kTaskBarriers = 128;  // bytes in front of the buffers, more than a barrier for each

// Bytes of a buffer, where a kernel leaves `helper_bytes` of shared memory.
TILEPOST_INLINE constexpr int task_buffer_bytes(int helper_bytes) {
  return (helper_bytes - kTaskBarriers) / kTaskBuffers / kTaskUnit * kTaskUnit;
}

// Bytes of each part in a chunk there.
TILEPOST_INLINE constexpr int task_chunk_bytes(int helper_bytes, int parts) {
  return task_buffer_bytes(helper_bytes) / parts / kTaskUnit * kTaskUnit;
}

// Chunks of a task whose parts have `bytes`.
TILEPOST_INLINE constexpr int task_chunks(int64_t bytes, int chunk_bytes) {
  return static_cast<int>((bytes + chunk_bytes - 1) / chunk_bytes);
}

}  // namespace tilepost

#endif  // TILEPOST_TASK_CHUNKS_H
