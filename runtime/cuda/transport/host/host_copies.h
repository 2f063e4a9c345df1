// Carries out steps that are messages by copy engines, through rings of pinned host memory
// (runtime/cuda/shared/host/host_rings.h).
//
// A group's messages are cut into chunks. The streams of a channel have this work, where each copy
// stands between a wait for its chunk's word and a write of that word:
//   caller's:   tiles 0   tiles 1  …                                          join (rejoin)
//   sending:           └ chunk 0 to p, chunk 0 to q, chunk 1 to p, …
//   receiving:           chunk 0 from p, chunk 0 from q, …
//   adding:                                                 └ sum
// One sending and one receiving stream keep both directions of a GPU's link busy, because all other
// ranks are behind that link. All ranks issue their chunks in the same order: by group, by number,
// by the distance between the ranks, and of one chunk the sending before the receiving. So the
// earliest chunk that has not arrived everywhere waits for nothing but its own sending. No ranks
// wait for each other in a circle, even where all streams share one queue of the device.
//
// An AllReduce sends the parts of sums through channel 0 and the sums through channel 1, which has
// streams of its own. So the parts of a group need not wait for the sums of the group before.
#pragma once

#include <vector>

#include "runtime/cuda/device/device.h"
#include "runtime/cuda/shared/host/host_rings.h"
#include "runtime/cuda/transport/transport.h"

namespace tilepost::cuda {

// The shape of the rings of a plan.
RingShape ring_shape_of(const tilepost_plan_t& plan);

class HostCopies final : public Transport {
 public:
  // `plan` outlives this object.
  HostCopies(std::shared_ptr<HostRings> rings, const tilepost_plan_t& plan)
      : rings_(std::move(rings)), plan_(plan) {}

  // Makes the streams, and the memory in which the parts of sums come together.
  tilepost_result_t create();

  tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                cudaStream_t stream) override;
  tilepost_result_t rejoin(cudaStream_t stream) override;
  void name_streams(const NvtxNames& nvtx) const override;
  // Adds what create() allocates for a plan.
  static void add_needs(const tilepost_plan_t& plan, tilepost_memory_t& memory);
  void add_memory(tilepost_memory_t& memory) const override {
    memory.device_bytes += parts_.bytes();
  }
  void close(bool failed, bool stuck) override;

 private:
  // This rank's side of what passes between it and another rank.
  struct Message {
    char* memory;
    int64_t bytes;
  };
  // What is left of the group's messages to or from one rank, in their order.
  struct Traffic {
    std::vector<Message> messages;
    size_t next = 0;        // the first message that is not all issued
    int64_t done = 0;       // how many bytes of that message are issued
    int64_t chunk = 0;      // the number of the ring's next chunk in this run
    bool is_noted = false;  // whether the end of the group's messages is noted
  };
  struct Channel {
    Stream sending, receiving;
    Event sent, received;           // → streams that need them
    std::vector<Traffic> to, from;  // by rank
  };
  // A sum of this rank's rows over all ranks.
  struct Sum {
    char* own;     // this rank's part
    int64_t slot;  // the first element of another rank's part within its block
    char* out;
    int64_t count;
  };
  // Rows that stay on this rank.
  struct OwnMove {
    char *from, *to;
    int64_t bytes;
  };

  tilepost_result_t collect(const Buffers& buffers, const GroupRun& run, cudaStream_t stream);
  void gather(const Buffers& buffers, const Step& step);
  void scatter(const Buffers& buffers, const Step& step);
  void reduce(const Buffers& buffers, const Step& step, int group);
  void add_message(std::vector<Traffic>& traffic, int peer, char* memory, int64_t bytes);
  bool has_work() const;
  tilepost_result_t enter(int group);
  tilepost_result_t follow_tiles(cudaStream_t stream);
  tilepost_result_t pass(int number, int group);
  tilepost_result_t send_chunk(int number, int peer, int group, bool& more);
  tilepost_result_t take_chunk(int number, int peer, int group, bool& more);
  int64_t bytes_of_next(const Message& message, int64_t done) const;
  tilepost_result_t move_own();
  tilepost_result_t add_up();
  tilepost_result_t stamp_end(uint64_t* word);
  tilepost_result_t join(cudaStream_t stream);
  tilepost_result_t wait(cudaStream_t stream, const uint32_t* word, uint32_t value,
                         unsigned how) const;
  tilepost_result_t write(cudaStream_t stream, uint32_t* word, uint32_t value) const;

  bool moves_rows() const { return row_of(plan_).moves_input(); }
  bool joins_groups() const { return host_groups_join(row_of(plan_), plan_.consumer); }
  char* part(int source, int64_t element) const;

  const std::shared_ptr<HostRings> rings_;
  const tilepost_plan_t& plan_;
  Driver driver_;
  std::vector<Channel> channels_;
  Stream adding_;
  Event begun_;         // the caller's stream, when the run's first group begins → all streams
  Event fork_;          // the caller's stream, behind a group's tiles → sending, adding
  Event summed_;        // adding → sending, the caller's
  DeviceMemory parts_;  // where parts of sums arrive: a block for each other rank
  int64_t part_stride_ = 0;  // of a block, in elements
  bool entered_ = false;     // whether the streams follow the beginning of this run
  bool adds_ = false;        // whether the adding stream does, too
  // Of the group under way. The vectors keep their memory, so that later runs allocate nothing.
  std::vector<Sum> sums_;
  std::vector<OwnMove> own_moves_;
};

}  // namespace tilepost::cuda
