// The rings of pinned host memory by which transport host_copies carries messages: their sizes, for
// the planner, which says how much memory they take, and for the runtime, which allocates it.
//
// There is a ring for every ordered pair of ranks and each of their channels. A message goes
// through its ring in chunks: a copy engine of the sender fills a chunk, then a copy engine of the
// receiver empties it. Chunks of 2 MiB were the fastest of 512 KiB to 16 MiB on two H100: smaller
// ones cost more waits, and larger ones keep the receiver waiting for the first one.
#ifndef TILEPOST_HOST_RINGS_H
#define TILEPOST_HOST_RINGS_H

#include <cstdint>

#include "runtime/map/patterns.h"

namespace tilepost {

inline constexpr int64_t kHostChunkBytes = int64_t{2} << 20;
inline constexpr int kHostRingChunks = 4;

// The number of channels between two ranks. An AllReduce has one for the parts of sums and one for
// the sums, so that the parts of a group need not wait for the sums of the group before.
constexpr int host_channels(const PatternRow& pattern) {
  return pattern.product_spreads() ? 2 : 1;
}

// The pinned host memory that one rank allocates, for what it sends; bytes. Small counts in front
// of the rings (HostRings) are left out.
constexpr int64_t host_ring_bytes(const PatternRow& pattern, int ranks) {
  return int64_t{ranks - 1} * host_channels(pattern) * kHostRingChunks * kHostChunkBytes;
}

// Elements that separate the parts of two groups of an AllReduce, because the parts are rounded up
// to whole vectors of the kernel that adds them.
inline constexpr int64_t kHostPartGap = 64;

// The elements between the parts that two ranks send to the same rank, where parts of sums come
// together in device memory. `send`: the elements of the largest send buffer (RunSizes::send). 0 if
// nothing is summed.
constexpr int64_t host_part_stride(const tilepost_plan_t& plan, int64_t send) {
  const PatternRow& pattern = row_of(plan);
  if (!pattern.sums) return 0;
  const int64_t part = (send + plan.ranks - 1) / plan.ranks;
  const int64_t gaps = pattern.product_spreads() ? plan.map.num_groups + int64_t{1} : 1;
  return (part + gaps * kHostPartGap) / kHostPartGap * kHostPartGap;
}

// How an AllReduce divides a group of `count` elements, which begin at element `from` of the send
// buffer, among the ranks that add them up. Rank r adds up elements [r * each, (r + 1) * each) of
// the group. The parts of its elements come together from element `slot` on. Both are whole vectors
// of the kernel that adds them.
struct HostParts {
  int64_t each, slot;
};
constexpr HostParts host_parts(int ranks, int group, int64_t from, int64_t count) {
  const int64_t part = (count + ranks - 1) / ranks;
  return {(part + kHostPartGap - 1) / kHostPartGap * kHostPartGap,
          (from / ranks + group * kHostPartGap) / kHostPartGap * kHostPartGap};
}

}  // namespace tilepost

#endif  // TILEPOST_HOST_RINGS_H
