// The rings of pinned host memory by which transport host_copies carries messages: their sizes, for
// the planner, which says how much memory they take, and for the runtime, which allocates it.
//
// There is a ring for every ordered pair of ranks and each of their channels. A message goes
// through its ring in chunks: a copy engine of the sender fills a chunk, then a copy engine of the
// receiver empties it. Every chunk costs a wait and a write besides its copies, some 18 us on two
// H200. A large chunk keeps the receiver waiting: for the first one of a message nothing is
// received meanwhile.
#ifndef TILEPOST_HOST_RINGS_H
#define TILEPOST_HOST_RINGS_H

#include <cstdint>

#include "runtime/map/patterns.h"

namespace tilepost {

inline constexpr int64_t kHostChunkBytes = int64_t{4} << 20;  // at most
inline constexpr int kHostRingChunks = 4;

// The bytes of the chunks into which a message is cut, apart from the last one. They are about
// equal, and a message that takes longer than a chunk's wait and write has at least two, so that
// one half is received while the other one is sent. `most`: the bytes of a chunk of the ring.
constexpr int64_t host_chunk_bytes(int64_t message, int64_t most) {
  constexpr int64_t kUndivided = int64_t{1} << 20, kUnit = 256;
  const int64_t least = message > kUndivided ? 2 : 1;
  const int64_t fit = (message + most - 1) / most;
  const int64_t chunks = fit > least ? fit : least;
  const int64_t each = ((message + chunks - 1) / chunks + kUnit - 1) / kUnit * kUnit;
  return each < most ? each : most;
}

// The number of channels between two ranks. An AllReduce has one for the parts of sums and one for
// the sums, so that the parts of a group need not wait for the sums of the group before.
constexpr int host_channels(const PatternRow& pattern) {
  return pattern.product_spreads() ? 2 : 1;
}

// Whether something on a rank follows each group: tiles that multiply its rows, or the pass that
// makes them row-major. Otherwise a run follows all groups at its end, and waits for a group's
// tiles while groups before it are still on their way.
constexpr bool host_groups_join(const PatternRow& pattern, tilepost_consumer_t consumer) {
  return pattern.moves_input() || consumer == TILEPOST_CONSUMER_UNPERMUTE;
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
