// What the transports have in common whose ranks touch each other's memory: that memory and the
// flags in it, the streams that pull, and the steps one after the other.
// runtime/cuda/transport/copy_engine.cpp and runtime/cuda/transport/peer.cpp say what differs: how
// a rank knows its tiles, and where parts of sums lie.
//
// The caller's stream only waits for tiles, group by group: one small kernel at a time stands
// beside the GEMM, whose clusters need their SMs side by side. Everything else is on streams of the
// lane:
//   caller's stream:  tiles 0   tiles 1  …                                                  rejoin
//   lane's stream:         └ announce, wait for the others   (announce sums, wait)
//   peer p's:                                         └ copies from p
//   adding:                                                        └ sum
// An AllGather's rows are copied to the others, one copy after the other, and announced when they
// are there:
//   next peer's:    group 1   group 2 …
//   lane's:                 └ announce 1   announce 2 …
//   comm stream:    wait for others' 1   post 1   wait for others' 2 …
// Where the kernel's tasks add up what it has stored (tilepost_tasks_t), a wait for them stands in
// the place of `tiles`, and nothing is adding; tasks that copy the own rows are waited for before
// others' are posted. Where ranks read, one stream per peer keeps all links busy. Sums have the
// lowest priority: their many blocks fill whatever SMs are free, and must not keep the small
// kernels out. Streams fork and join by events only, so that a run may be captured. Nothing is made
// after create().
//
// runtime/cuda/shared/create.cpp makes it, runtime/cuda/shared/transport_tasks.cpp says what tasks
// need, shared_transport.cpp has the rest.
#pragma once

#include <atomic>
#include <vector>

#include "runtime/cuda/shared/arena.h"
#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/shared/sum.h"
#include "runtime/cuda/transport/transport.h"
#include "runtime/cuda/watch/counter_access.h"

namespace tilepost::cuda {

class SharedTransport : public Transport {
 public:
  // Collective: makes the memory that ranks share, or finds some. Once, before anything else.
  tilepost_result_t create(CudaComm& comm, const SharedSetup& others);

  tilepost_result_t begin(const uint32_t* targets, int counters, cudaStream_t stream) override;
  tilepost_result_t rejoin(cudaStream_t stream) override;
  tilepost_result_t end(cudaStream_t stream) override;
  tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                cudaStream_t stream) override;
  tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count,
                             cudaStream_t stream) override;
  tilepost_result_t check_async() override { return TILEPOST_OK; }
  void abort() override { aborted_ = true; }

  tilepost_tasks_t tasks() const override;
  std::optional<OpenWait> find_missing_tiles() override;
  const SharedRegions* shared() const override { return &memory_; }
  int64_t shared_bytes() const override { return made_arena_ ? arena_->memory().bytes() : 0; }
  RunOrder* order() override { return shares_ ? &arena_->order() : nullptr; }
  AbortedFlag aborted() const override { return shares_ ? arena_->aborted() : nullptr; }
  void report_to(WatchPage* page, double deadline_seconds) override;
  tilepost_result_t warm_up(cudaStream_t stream) override;
  void close(bool failed) override;

 protected:
  explicit SharedTransport(const tilepost_plan_t& plan) : plan_(plan) {}

  // Waits, where this transport does, until the tiles of a group are there, or its tasks are done.
  virtual tilepost_result_t wait_for_tiles(const GroupRun& run, cudaStream_t stream) = 0;
  // Fills in the parts of a sum, in the order of ranks, and what is cleared behind.
  virtual void find_parts(const Buffers& buffers, const Step& step,
                          SumArguments& arguments) const = 0;
  // Where an own_part is read.
  virtual const void* own_part(const Buffers& buffers, const Step& step) const = 0;

  const tilepost_plan_t& plan() const { return plan_; }
  const SharedRegions& memory() const { return memory_; }
  const SharedFlags& flags() const { return flags_; }
  // An element of what has come from rank `source`.
  void* slot(int source, int64_t element) const;

 private:
  struct Peer {
    Stream stream;
    Event copied;
  };
  struct Lane {
    Stream stream, adding;
    std::vector<Peer> peers;  // by rank; empty where nothing is copied
    Event begun;              // caller's stream → lane's
    Event fork;               // → the peers'
    Event ready, summed;      // → adding, and back
    Event done;               // → caller's
    bool used = false;        // in this run
    GroupRun own_rows;        // of an AllGather, which its tasks copy
    uint64_t busy = 0;        // ranks whose streams have work that nobody has joined
  };

  tilepost_result_t find_memory(CudaComm& comm, const SharedSetup& others);
  bool keeps_zeros() const;
  tilepost_result_t make_lanes();
  tilepost_result_t enter(Lane& lane, cudaStream_t stream);
  tilepost_result_t gather(const Buffers& buffers, const GroupRun& run, cudaStream_t stream);
  tilepost_result_t take_all(const Buffers& buffers, const GroupRun& run, cudaStream_t stream);
  tilepost_result_t take(const Buffers& buffers, const GroupRun& run, size_t at,
                         cudaStream_t stream);
  tilepost_result_t announce(Flag flag, const GroupRun& run, uint64_t sources, cudaStream_t stream);
  tilepost_result_t announce_copies(const GroupRun& run, uint64_t sources, cudaStream_t stream);
  tilepost_result_t fork(Lane& lane, uint64_t sources, cudaStream_t stream);
  tilepost_result_t copy_beside(Lane& lane, int peer, void* to, const void* from, int64_t bytes);
  tilepost_result_t join(Lane& lane, cudaStream_t stream);
  tilepost_result_t move(void* to, const void* from, int64_t count, Lane& lane);
  tilepost_result_t add_up(const Buffers& buffers, const Step& step, Lane& lane);
  tilepost_result_t warm_up_lane(int index, cudaStream_t stream);
  bool has_ended() const;
  uint32_t* own_counters() const;
  const void* pulled_at(const Step& step) const;
  void* pulled_to(const Buffers& buffers, const Step& step) const;
  bool copies() const;
  bool adds() const;
  bool gathers() const { return plan_.pattern == TILEPOST_ALL_GATHER_GEMM; }
  uint64_t others() const;
  uint64_t copying() const;
  int64_t bytes_of(const Step& step) const;

  const tilepost_plan_t& plan_;
  Transport* messages_ = nullptr;
  double deadline_seconds_ = 0;
  std::shared_ptr<SharedArena> arena_;
  bool shares_ = false;      // the arena with other operations
  bool made_arena_ = false;  // for this operation
  bool touched_ = false;     // other ranks may use the memory because of this operation
  SharedRegions memory_;
  SharedFlags flags_{};
  CounterAccess access_;             // where tasks wait: to counters and what they have to reach
  std::vector<Lane> lanes_;          // none where the kernel's tasks are all there is to do
  cudaStream_t ended_on_ = nullptr;  // where eager runs that overlap say that they have ended
  std::atomic<bool> aborted_ = false;
};

// A transport of class Kind, which is a SharedTransport made of a plan. Collective.
template <class Kind>
tilepost_result_t make_shared_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                        const SharedSetup& others,
                                        std::unique_ptr<Transport>& transport) {
  auto made = std::make_unique<Kind>(plan);
  TILEPOST_TRY(made->create(comm, others));
  transport = std::move(made);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
