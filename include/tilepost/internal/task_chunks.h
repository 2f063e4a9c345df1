// How the tasks of helper warps (tilepost_tasks_t) are cut into chunks. Kernels do the chunks, and
// the runtime waits for them.
#ifndef TILEPOST_TASK_CHUNKS_H
#define TILEPOST_TASK_CHUNKS_H

#include <cstdint>

#include "tilepost/mark.cuh"

namespace tilepost {

constexpr int kTaskBuffers = 4;     // chunks in a CTA's shared memory
constexpr int kTaskAhead = 2;       // how many chunks ahead the parts of a chunk are loaded
constexpr int kTaskUnit = 16;       // bytes: sizes of bulk copies are multiples of this
constexpr int kTaskBarriers = 128;  // bytes in front of the buffers: a barrier for each, and more

// Bytes of a buffer, where a kernel leaves `helper_bytes` bytes of shared memory for tasks.
TILEPOST_INLINE constexpr int task_buffer_bytes(int helper_bytes) {
  return (helper_bytes - kTaskBarriers) / kTaskBuffers / kTaskUnit * kTaskUnit;
}

// Bytes of each part of a chunk in such a buffer, which holds `parts` parts.
TILEPOST_INLINE constexpr int task_chunk_bytes(int helper_bytes, int parts) {
  return task_buffer_bytes(helper_bytes) / parts / kTaskUnit * kTaskUnit;
}

// How many chunks a task has whose parts have `bytes` bytes each.
TILEPOST_INLINE constexpr int task_chunks(int64_t bytes, int chunk_bytes) {
  return static_cast<int>((bytes + chunk_bytes - 1) / chunk_bytes);
}

}  // namespace tilepost

#endif  // TILEPOST_TASK_CHUNKS_H
