// The common part of transports whose ranks read or write each other's memory. Each run begins when
// all ranks have ended the run before, and announces its end to the other ranks
// (runtime/cuda/shared/flags.h).
//
// A plan's transport follows from the work that is left beside the GEMM:
//   none: the kernel does all of it    KernelTransport
//   tiles to wait for, parts to add    SharedTiles (shared_tiles.h)
//   rows of A to copy to the others    CopyEngineRows (copy_engine_rows.cpp)
#pragma once

#include "runtime/cuda/shared/service.h"
#include "runtime/cuda/transport/transport.h"

namespace tilepost::cuda {

class SharedTransport : public Transport {
 public:
  // `shared` outlives this object.
  explicit SharedTransport(SharedService& shared) : shared_(shared) {}

  // Makes a run without a GEMM, which has only the work of warm_up_lanes().
  tilepost_result_t warm_up(cudaStream_t stream) final;
  tilepost_result_t begin(const RunBeginning& beginning, cudaStream_t stream) final;
  tilepost_result_t end(bool captured, cudaStream_t stream) final {
    return shared_.end(captured, stream);
  }
  void close(bool failed, bool /*stuck*/) final { shared_.close(failed); }

 protected:
  // Puts the work of warming up on the lanes. It copies zeros over other zeros, in memory that runs
  // do not use, so that no rank writes what another rank reads.
  virtual tilepost_result_t warm_up_lanes(cudaStream_t stream) = 0;
  // Called when a run begins. The lanes then have no work.
  virtual void reset_lanes() = 0;

  // Returns TILEPOST_ABORTED after SharedService::abort.
  tilepost_result_t check_usable() const;
  const SharedRegions& regions() const { return shared_.regions(); }
  const SharedFlags& flags() const { return shared_.flags(); }

 private:
  SharedService& shared_;
};

// The transport of plans whose kernel does all the work. It puts no work beside the kernel.
class KernelTransport final : public SharedTransport {
 public:
  explicit KernelTransport(SharedService& shared) : SharedTransport(shared) {}

  tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                cudaStream_t stream) override;

 private:
  tilepost_result_t warm_up_lanes(cudaStream_t /*stream*/) override { return TILEPOST_OK; }
  void reset_lanes() override {}
};

// Makes a plan's SharedService, and the transport of its runs in sequence if it has such runs.
// Ranks exchange their addresses through the first of the channels. Collective.
tilepost_result_t make_shared_service(const TransportSetup& setup, Transports& transports,
                                      std::unique_ptr<SharedService>& shared);

// Makes a transport of class Kind from a service and a plan.
template <class Kind>
tilepost_result_t make_shared(SharedService& shared, const tilepost_plan_t& plan,
                              std::unique_ptr<Transport>& transport) {
  auto made = std::make_unique<Kind>(shared, plan);
  TILEPOST_TRY(made->create());
  transport = std::move(made);
  return TILEPOST_OK;
}

// Makes the transport of rows of A that copy engines bring. A rank's copies to the others go one
// after the other, and each group is announced when its copies have ended.
//   next peer's:    group 1   group 2 …
//   announcing:             └ announce 1   announce 2 …
//   caller's:       one kernel: { wait for others' 1, post 1, wait for others' 2, … }
// The transport posts the groups that have come (arrivals.h). Copies to the others wait only for
// the run's beginning. Before the first post the transport waits for tasks that copy the own rows.
tilepost_result_t make_copy_engine_rows(SharedService& shared, const tilepost_plan_t& plan,
                                        std::unique_ptr<Transport>& transport);

// ---- The work that these transports put on streams

constexpr int64_t kWarmUpBytes = 16;

constexpr uint64_t bit_of(int rank) {
  return uint64_t{1} << rank;
}

// The address `bytes` bytes behind `base`.
inline void* at(const void* base, int64_t bytes) {
  return const_cast<char*>(static_cast<const char*>(base)) + bytes;
}

// Lets later work on `stream` follow the work on `leader` so far.
tilepost_result_t follow(cudaStream_t stream, const Event& event, cudaStream_t leader);

// Copies with copy engines. Does nothing if both places are the same.
tilepost_result_t copy(void* to, const void* from, int64_t bytes, cudaStream_t stream);

// A bit for each rank but this one.
uint64_t others_of(const SharedFlags& flags);

// A bit for each rank that the steps behind an announcement need. Pulls, and rows that have landed,
// need what peers have announced. Such steps come directly behind the announcement.
uint64_t needed_by(std::span<const Step> steps);

// Fails with the error that a transport cannot carry out steps of this kind.
tilepost_result_t refuse_step(StepKind kind);

}  // namespace tilepost::cuda
