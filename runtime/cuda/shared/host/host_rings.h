// Pinned host memory by which ranks of one host pass chunks to each other: the rings of transport
// host_copies (runtime/map/host_rings.h).
//
// Each rank makes a segment for what it sends, on the NUMA node of its GPU, and the others attach
// it. A chunk has a word that says whether the chunk is empty or full. The word is a binary
// semaphore: the sender waits until the chunk is empty, fills it, and writes that it is full; the
// receiver waits until it is full, takes it, and writes that it is empty. The values are the same
// in every run, so a graph can be replayed. All chunks are empty between runs, and every run begins
// with the first chunk of each ring.
//
// Streams wait for words and write them by stream memory operations (CUDA driver API, "Stream
// Memory Operations"). cuStreamWriteValue32 has a fence of system scope in front of it, so a copy
// into a chunk is seen before the word that says so. A wait precedes all later work of its stream.
// docs/internals/memory-model.md has the rules.
//
// A rank whose runs have failed releases its own streams: it keeps writing that its chunks are both
// empty and full. Before that it writes to every other rank's *end word* that it has failed. Every
// run waits, as the last thing that it does, until its rank's end word is 0. It also does so in
// each group that something on the rank follows. So no run of another rank ends with data that was
// never sent.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/cuda/device/host_segment.h"
#include "runtime/cuda/shared/arena.h"
#include "runtime/cuda/watch/watch_page.h"
#include "runtime/map/host_rings.h"

namespace tilepost::cuda {

// The sizes of all rings, the same on all ranks.
struct RingShape {
  int channels = 1;  // between two ranks, each with rings of its own
  int64_t chunk_bytes = kHostChunkBytes;
  int chunks = kHostRingChunks;  // of a ring
};

class HostRings {
 public:
  // The states of a chunk. A wait looks at one bit, so that the last value releases all waits.
  enum Word : uint32_t { kEmpty = 1, kFull = 2, kReleased = kEmpty | kFull };

  // One chunk of a ring.
  struct Chunk {
    void* data;      // for copies, at the host's address
    uint32_t* word;  // for stream memory operations, at the device's address
  };

  // The shape of the rings that transports make, apart from the channels. Only tests change it, on
  // all ranks alike and before they make any.
  static RingShape& usual_shape();

  HostRings() = default;
  HostRings(const HostRings&) = delete;
  HostRings& operator=(const HostRings&) = delete;
  // Unpins and detaches the memory, unless it was leaked. This rank's runs have ended.
  ~HostRings();

  // Makes this rank's segment, attaches those of the others, and pins what this rank uses of them.
  // Collective. Fails on all ranks if one of them gets no memory, with the reason and what to do.
  tilepost_result_t create(const SharedRanks& ranks, const RingShape& shape);

  // The pinned memory that each of the ranks makes.
  static int64_t bytes_of(int ranks, const RingShape& shape);
  int64_t bytes() const { return bytes_of(ranks_, shape_); }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const RingShape& shape() const { return shape_; }

  // Chunk number `index` (modulo the ring's chunks) of the ring from `from` to `to`, one of which
  // is this rank.
  Chunk chunk(int from, int to, int channel, int64_t index) const;
  // The word that is 0 unless another rank has failed.
  uint32_t* end_word() const;
  // Where the device notes the first group of this rank's run of which it has not received all from
  // `peer` through the channel, or not sent all.
  uint32_t* received(int channel, int peer) const { return count_at(2 * channel, peer); }
  uint32_t* sent(int channel, int peer) const { return count_at(2 * channel + 1, peer); }

  // The first group of a run whose messages have not all gone through, and the ranks that it waits
  // for. Nothing if all of the run's `groups` groups have. abort() tells the other ranks the first
  // of the ranks that were found last. Any thread may call.
  std::optional<OpenWait> find_open_wait(int groups) const;

  // Returns TILEPOST_OK, or the error that a rank has failed. Any thread may call.
  tilepost_result_t check() const;
  // Tells the other ranks that this one has failed, and releases this rank's streams until the
  // object is destroyed. Any thread may call, more than once.
  void abort();
  bool is_aborted() const { return aborted_.load(); }

  // Leaves the memory to the process, for when the device may still use it.
  void leak();

 private:
  // A rank's segment, as this rank has attached it. Offsets are the same for all segments.
  struct Peer {
    HostSegment segment;
    // What this rank has pinned of it: the words, and the rings from its rank to this one. In the
    // own segment these are all rings.
    void* words = nullptr;
    void* rings = nullptr;
    char* device_words = nullptr;  // the words as the device sees them
  };

  tilepost_result_t make_own(HostSegment::Address& address);
  tilepost_result_t attach(int peer, const HostSegment::Address& address);
  tilepost_result_t pin(Peer& peer, int64_t first, int64_t bytes);
  tilepost_result_t share(const SharedRanks& ranks);

  int64_t ring_bytes() const { return shape_.chunks * shape_.chunk_bytes; }
  int64_t pair_bytes() const { return shape_.channels * ring_bytes(); }
  int64_t words_bytes() const;
  // The place of a receiver among the ranks that a sender sends to.
  static int place_of(int from, int to) { return to < from ? to : to - 1; }
  int64_t count_word(int row, int peer) const;
  uint32_t* count_at(int row, int peer) const;
  int64_t chunk_word(int from, int to, int channel, int index) const;
  uint32_t* word_at(int owner, int64_t offset) const;
  bool is_awaited(Awaited what, int channel, int peer) const;
  void release() const;
  void keep_releasing();

  int rank_ = 0, ranks_ = 0, device_ = 0;
  RingShape shape_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank, the own segment among them
  bool leaked_ = false;
  std::atomic<bool> aborted_ = false;
  mutable std::atomic<int> awaited_ = -1;  // the rank that find_open_wait() found
  std::mutex mutex_;
  std::condition_variable changed_;
  bool releases_ = false, stopping_ = false;  // what releaser_ is to do
  std::thread releaser_;
};

}  // namespace tilepost::cuda
