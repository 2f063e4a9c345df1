// How the jobs of spare warps (tilepost_jobs_t) are cut into chunks: for kernels, which do them,
// and for the runtime, which waits for them.
#ifndef TILEPOST_JOBS_H
#define TILEPOST_JOBS_H

#include <cstdint>

#include "tilepost/mark.cuh"

namespace tilepost {

constexpr int kJobBuffers = 4;     // chunks in a CTA's shared memory
constexpr int kJobAhead = 2;       // chunks whose parts are asked for before they are needed
constexpr int kJobUnit = 16;       // bytes: what bulk copies are multiples of
constexpr int kJobBarriers = 128;  // bytes in front of the buffers, more than a barrier for each

// Bytes of a buffer, where a kernel leaves `spare_bytes` of shared memory.
TILEPOST_INLINE constexpr int job_buffer_bytes(int spare_bytes) {
  return (spare_bytes - kJobBarriers) / kJobBuffers / kJobUnit * kJobUnit;
}

// Bytes of each part in a chunk there.
TILEPOST_INLINE constexpr int job_chunk_bytes(int spare_bytes, int parts) {
  return job_buffer_bytes(spare_bytes) / parts / kJobUnit * kJobUnit;
}

// Chunks of a job whose parts have `bytes`.
TILEPOST_INLINE constexpr int job_chunks(int64_t bytes, int chunk_bytes) {
  return static_cast<int>((bytes + chunk_bytes - 1) / chunk_bytes);
}

}  // namespace tilepost

#endif  // TILEPOST_JOBS_H
