// How the jobs of spare warps (tilepost_jobs_t) are cut into chunks: for kernels, which do them,
// and for the runtime, which waits for them.
#ifndef TILEPOST_JOBS_H
#define TILEPOST_JOBS_H

#include <cstdint>

#include "tilepost/mark.cuh"

namespace tilepost {

constexpr int kJobUnit = 16;       // bytes: what bulk copies are multiples of
constexpr int kJobBarriers = 128;  // bytes in front of the buffers, more than a barrier for each
// Of a kernel whose jobs only move: chunks in a CTA's shared memory.
constexpr int kJobMoves = 4;
// Of one whose jobs add: chunks that are coming, all their parts, in places that moves use too; and
// sums that are leaving.
constexpr int kJobInputs = 3, kJobSums = 4;

// Bytes of each part in a chunk that is added up by a kernel with jobs of `job_parts` parts, which
// leaves `spare_bytes` of shared memory; with one part, of a chunk that is moved.
TILEPOST_INLINE constexpr int job_part_bytes(int spare_bytes, int job_parts) {
  const int buffers = job_parts == 1 ? kJobMoves : kJobInputs * job_parts + kJobSums;
  return (spare_bytes - kJobBarriers) / buffers / kJobUnit * kJobUnit;
}

// The same for a job of `parts` parts, job_parts or 1, of such a kernel: what is moved takes the
// place of all parts.
TILEPOST_INLINE constexpr int job_chunk_bytes(int spare_bytes, int job_parts, int parts) {
  return job_part_bytes(spare_bytes, job_parts) * (parts == 1 ? job_parts : 1);
}

// Chunks of a job whose parts have `bytes`.
TILEPOST_INLINE constexpr int job_chunks(int64_t bytes, int chunk_bytes) {
  return static_cast<int>((bytes + chunk_bytes - 1) / chunk_bytes);
}

}  // namespace tilepost

#endif  // TILEPOST_JOBS_H
