// One routing on one rank of the CUDA target (tilepost/routing.h). A set is one launch of a kernel,
// which reads the caller's ids and writes the tables. With one rank nothing is exchanged (route.h).
// With several, each has a window into which all ranks store (exchange.h).
#pragma once

#include "runtime/core/routing/routing.h"
#include "runtime/cuda/op/run_check.h"
#include "runtime/cuda/routing/exchange.h"
#include "runtime/cuda/shared/memory.h"
#include "runtime/cuda/transport/comm.h"

namespace tilepost::cuda {

class CudaRouting final : public tilepost_expert_routing {
 public:
  // `shape` has been checked.
  CudaRouting(const RoutingTerms& terms, const RoutingShape& shape, const DeviceInfo& device,
              const Communicator& comm);
  ~CudaRouting() override;

  // Allocates what this rank has for itself, and loads the kernel. The routing's device is current.
  tilepost_result_t create();

  // How many blocks this rank's kernel has room for.
  int most_blocks() const { return most_blocks_; }

  // Makes the window for kernels of `blocks` blocks, the same number on all ranks. Collective.
  // TILEPOST_UNSUPPORTED on all ranks if they cannot access each other's memory.
  tilepost_result_t make_window(ControlChannel& channel, int blocks);

  tilepost_result_t set(const void* ids, const void* weights, int64_t m,
                        CUstream_st* stream) override;
  tilepost_result_t status() override;
  tilepost_result_t synchronize() override;
  void get_info(tilepost_routing_info_t& info) override;
  const RoutingShape& shape() const override { return shape_; }

 protected:
  tilepost_result_t make_rows(int64_t bytes, std::shared_ptr<LentRows>& rows) const override;

 private:
  tilepost_result_t clear(cudaStream_t stream) const;
  tilepost_result_t check(const void* ids, const void* weights, int64_t m, cudaStream_t stream,
                          cudaStreamCaptureStatus capture);
  tilepost_result_t launch(const void* ids, const void* weights, int64_t m, cudaStream_t stream);
  tilepost_result_t launch_eager(const void* ids, const void* weights, int64_t m,
                                 cudaStream_t stream);
  tilepost_result_t find_fault();
  tilepost_result_t query();
  tilepost_result_t wait();
  RouteTypes types() const { return {terms_.wide_ids(), terms_.half_weights()}; }
  bool exchanges() const { return shape_.ranks > 1; }

  const RoutingTerms terms_;
  const RoutingShape shape_;
  const RoutingLayout layout_;
  const DeviceInfo device_;
  const AbortedFlag aborted_;              // the communicator's
  const std::shared_ptr<RunOrder> order_;  // the communicator's; sets of several ranks are in it
  const int most_blocks_;
  Driver driver_;
  RunCheck check_{device_, driver_};
  DeviceMemory memory_;  // the tables, then what blocks tell each other
  PinnedMemory fault_;   // RoutingFault
  SharedMemory window_;  // exists if ranks exchange
  int blocks_ = 0;       // of kernels that exchange
  Event end_;            // of the last eager set
  bool was_set_ = false;
  RunOrder::Member member_;
};

// Makes a routing of the communicator. Collective if it has several ranks.
tilepost_result_t make_routing(Communicator& comm, const RoutingTerms& terms,
                               std::unique_ptr<tilepost_expert_routing>& routing);

}  // namespace tilepost::cuda
