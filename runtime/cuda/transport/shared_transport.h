// What transports have in common whose ranks touch each other's memory. Each of their runs begins
// when all ranks have ended the run before, and tells the other ranks when it has ended
// (runtime/cuda/shared/flags.h).
//
// Which of them a plan has follows from what is left to do beside the GEMM:
//   nothing: its tasks do all of it    KernelTransport
//   tiles to wait for, parts to add    SharedTiles (shared_tiles.h)
//   rows of A to copy to the others    CopyEngineRows (copy_engine_rows.cpp)
#pragma once

#include "runtime/cuda/shared/service.h"
#include "runtime/cuda/transport/transport.h"

namespace tilepost::cuda {

class SharedTransport : public Transport {
 public:
  // `shared` outlives it.
  explicit SharedTransport(SharedService& shared) : shared_(shared) {}

  // Makes a run that has nothing in it but what the kinds of transport add (warm_up_lanes).
  tilepost_result_t warm_up(cudaStream_t stream) final;
  tilepost_result_t begin(const RunBeginning& beginning, cudaStream_t stream) final;
  tilepost_result_t end(cudaStream_t stream) final { return shared_.end(stream); }
  void close(bool failed) final { shared_.close(failed); }

 protected:
  // Puts on the lanes what warming up does there. It moves zeros to where other zeros are, beside
  // all memory that runs use, so that no rank writes what another reads.
  virtual tilepost_result_t warm_up_lanes(cudaStream_t stream) = 0;
  // Called when a run begins. Nothing is on the lanes then.
  virtual void reset_lanes() = 0;

  // TILEPOST_ABORTED after SharedService::abort.
  tilepost_result_t check_usable() const;
  const SharedRegions& regions() const { return shared_.regions(); }
  const SharedFlags& flags() const { return shared_.flags(); }

 private:
  SharedService& shared_;
};

// For plans whose kernel does all that is left to do: nothing is put beside it.
class KernelTransport final : public SharedTransport {
 public:
  explicit KernelTransport(SharedService& shared) : SharedTransport(shared) {}

  tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                cudaStream_t stream) override;

 private:
  tilepost_result_t warm_up_lanes(cudaStream_t /*stream*/) override { return TILEPOST_OK; }
  void reset_lanes() override {}
};

// Makes a plan's SharedService, and the way in which its runs in sequence communicate. Ranks tell
// each other their addresses by the first of the channels. Collective.
tilepost_result_t make_shared_service(const TransportSetup& setup, Transports& transports,
                                      std::unique_ptr<SharedService>& shared);

// A transport of class Kind, made of a service and a plan.
template <class Kind>
tilepost_result_t make_shared(SharedService& shared, const tilepost_plan_t& plan,
                              std::unique_ptr<Transport>& transport) {
  auto made = std::make_unique<Kind>(shared, plan);
  TILEPOST_TRY(made->create());
  transport = std::move(made);
  return TILEPOST_OK;
}

// Makes the transport of rows of A that copy engines bring. A rank's copies to the others go one
// after the other, and each group is announced when it is there.
//   next peer's:    group 1   group 2 …
//   announcing:             └ announce 1   announce 2 …
//   caller's:       one kernel: { wait for others' 1, post 1, wait for others' 2, … }
// The transport posts what has come (arrivals.h). Copies to the others wait for nothing but the
// run's beginning. Tasks that copy the own rows are waited for before anything is posted.
tilepost_result_t make_copy_engine_rows(SharedService& shared, const tilepost_plan_t& plan,
                                        std::unique_ptr<Transport>& transport);

// ---- What these transports put on streams, and where

constexpr int64_t kWarmUpBytes = 16;

constexpr uint64_t bit_of(int rank) {
  return uint64_t{1} << rank;
}

// The address that lies `bytes` behind `base`.
inline void* at(const void* base, int64_t bytes) {
  return const_cast<char*>(static_cast<const char*>(base)) + bytes;
}

// What comes on `stream` from here on follows what is on `leader` so far.
tilepost_result_t follow(cudaStream_t stream, const Event& event, cudaStream_t leader);

// Copies with copy engines. Does nothing where both places are the same.
tilepost_result_t copy(void* to, const void* from, int64_t bytes, cudaStream_t stream);

// All ranks but this one, a bit each.
uint64_t others_of(const SharedFlags& flags);

// The ranks that the steps behind an announcement need, a bit each. What peers have announced is
// needed by pulls, and by rows that have landed; such steps come directly behind the announcement.
uint64_t needed_by(std::span<const Step> steps);

// The error that a transport cannot carry out such a step.
tilepost_result_t refuse_step(StepKind kind);

}  // namespace tilepost::cuda
