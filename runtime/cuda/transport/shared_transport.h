// What the transports have in common whose ranks touch each other's memory: every run of theirs
// begins when all ranks have ended the one before, and says when it has ended
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

  // A run with nothing in it but what the kinds of transport add (warm_up_lanes).
  tilepost_result_t warm_up(cudaStream_t stream) final;
  tilepost_result_t begin(const RunBeginning& beginning, cudaStream_t stream) final;
  tilepost_result_t end(cudaStream_t stream) final { return shared_.end(stream); }
  void close(bool failed) final { shared_.close(failed); }

 protected:
  // What is on the lanes in warming up: zeros are moved to where other zeros are, beside all that
  // runs use, so that no rank writes what another reads.
  virtual tilepost_result_t warm_up_lanes(cudaStream_t stream) = 0;
  // A run begins: nothing is on the lanes.
  virtual void reset_lanes() = 0;

  // TILEPOST_ABORTED after SharedService::abort.
  tilepost_result_t check_usable() const;
  const SharedRegions& regions() const { return shared_.regions(); }
  const SharedFlags& flags() const { return shared_.flags(); }

 private:
  SharedService& shared_;
};

// Of plans whose kernel's tasks do all that is left to do: nothing is put beside it.
class KernelTransport final : public SharedTransport {
 public:
  explicit KernelTransport(SharedService& shared) : SharedTransport(shared) {}

  tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                cudaStream_t stream) override;

 private:
  tilepost_result_t warm_up_lanes(cudaStream_t /*stream*/) override { return TILEPOST_OK; }
  void reset_lanes() override {}
};

// Makes a plan's SharedService, and the way in which its runs in sequence communicate, which ranks
// first tell each other their addresses by. Collective.
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

// Rows of A that copy engines bring: one copy to the others after the other,
// announced when they are there.
//   next peer's:    group 1   group 2 …
//   announcing:             └ announce 1   announce 2 …
//   caller's:       one kernel: { wait for others' 1, post 1, wait for others' 2, … }
// The transport posts what has come (arrivals.h); copies to the others wait for nothing but the
// run's beginning. Tasks that copy the own rows are waited for before anything is posted.
tilepost_result_t make_copy_engine_rows(SharedService& shared, const tilepost_plan_t& plan,
                                        std::unique_ptr<Transport>& transport);

// ---- What these transports put on streams, and where

constexpr int64_t kWarmUpBytes = 16;

constexpr uint64_t bit_of(int rank) {
  return uint64_t{1} << rank;
}

// `bytes` behind `base`.
inline void* at(const void* base, int64_t bytes) {
  return const_cast<char*>(static_cast<const char*>(base)) + bytes;
}

// What comes on `stream` from here on follows what is on `leader` so far.
tilepost_result_t follow(cudaStream_t stream, const Event& event, cudaStream_t leader);

// By copy engines; nothing where both places are the same.
tilepost_result_t copy(void* to, const void* from, int64_t bytes, cudaStream_t stream);

// All ranks but this one, a bit each.
uint64_t others_of(const SharedFlags& flags);

// The ranks that the steps behind an announcement need, a bit each: what peers have announced is
// needed by the pulls, and the rows that have landed, which come directly behind it.
uint64_t needed_by(std::span<const Step> steps);

// That a step cannot be carried out so.
tilepost_result_t refuse_step(StepKind kind);

}  // namespace tilepost::cuda
