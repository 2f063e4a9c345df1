// How the steps of a group (tilepost/steps.h) get to the other ranks. One file per transport; a new
// one is a class, a file and a line in make_transports().
#pragma once

#include <memory>
#include <span>

#include "runtime/cuda/comm.h"
#include "tilepost/steps.h"

namespace tilepost::cuda {

// What steps read and write, device pointers; those that a run's pattern has no use for are null.
struct Buffers {
  void* send;      // where the kernel stores
  void* out;       // what steps receive into: the caller's out, or the consumer's input
  const void* a;   // all_gather_gemm: this rank's rows
  void* gathered;  // all_gather_gemm: all ranks' rows
  void* landing;   // what a reduce_scatter receives beyond what may be written to out
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Enqueues the steps of one group on the communicator of `lane`. May be captured. Allocates
  // nothing once warm_up has seen the like of them on this lane.
  virtual tilepost_result_t communicate(const Buffers& buffers, std::span<const Step> steps,
                                        int lane, cudaStream_t stream) = 0;

  // Every rank's `count` numbers to every rank: `from` [count], `to` [ranks, count], device
  // pointers. On the communicator of lane 0.
  virtual tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count,
                                     cudaStream_t stream) = 0;

  // TILEPOST_OK, or what went wrong in the background. Called by the watchdog.
  virtual tilepost_result_t check_async() = 0;

  // Ends what has been enqueued, also where it hangs; communicate() then returns TILEPOST_ABORTED.
  // Called by any thread.
  virtual void abort() = 0;
};

// A plan's two ways to communicate: beside the GEMM, and before or after it. A plan for any number
// of rows may have both and chooses by run.
class Transports {
 public:
  // For a run that overlaps, or does not. Requires that the plan has such runs.
  Transport& of(bool overlaps) const { return overlaps ? *overlapping : *sequence; }

  tilepost_result_t check_async() {
    if (overlapping) TILEPOST_TRY(overlapping->check_async());
    return sequence ? sequence->check_async() : TILEPOST_OK;
  }
  void abort() {
    if (overlapping) overlapping->abort();
    if (sequence) sequence->abort();
  }

  std::unique_ptr<Transport> overlapping, sequence;
};

// Collective over the ranks of `comm`, unless the plan's pattern is gemm. `plan` outlives the
// transports.
tilepost_result_t make_transports(CudaComm& comm, const tilepost_plan_t& plan,
                                  Transports& transports);

// What the pattern's steps are called in messages: "AllReduce"; "" for gemm.
const char* collective_name(tilepost_pattern_t pattern);

// The makers that make_transports() chooses from.
tilepost_result_t make_nccl_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      std::unique_ptr<Transport>& transport);
tilepost_result_t make_none_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      std::unique_ptr<Transport>& transport);
std::unique_ptr<Transport> make_local_transport();

}  // namespace tilepost::cuda
