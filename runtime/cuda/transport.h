// How a group's block gets to the other ranks. One file per transport; a new one is a class, a file
// and a line in make_transport().
#pragma once

#include <memory>

#include "runtime/cuda/comm.h"

namespace tilepost::cuda {

class Transport {
 public:
  virtual ~Transport() = default;

  // Whether groups are communicated while the GEMM runs. If not, the whole send buffer is one block
  // that follows the GEMM in its own stream, and nothing is waited for.
  virtual bool overlaps() const = 0;

  // What the collective is called in error messages; "" if there is none.
  virtual const char* collective() const = 0;

  // Enqueues the collective for elements [offset, offset + count) of `buffer`, in place, on the
  // communicator of `lane`. May be captured. Allocates nothing once warm_up has seen lane and
  // count.
  virtual tilepost_result_t communicate(void* buffer, const tilepost_group_t& block, int lane,
                                        cudaStream_t stream) = 0;

  // TILEPOST_OK, or what went wrong in the background. Called by the watchdog.
  virtual tilepost_result_t check_async() = 0;

  // Ends what has been enqueued, also where it hangs; communicate() then returns TILEPOST_ABORTED.
  // Called by any thread.
  virtual void abort() = 0;
};

// Collective over the ranks of `comm`, unless the plan's pattern is gemm. `plan` outlives the
// transport.
tilepost_result_t make_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                 std::unique_ptr<Transport>& transport);

// The makers that make_transport() chooses from.
tilepost_result_t make_nccl_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      std::unique_ptr<Transport>& transport);
tilepost_result_t make_none_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      std::unique_ptr<Transport>& transport);
std::unique_ptr<Transport> make_local_transport();

}  // namespace tilepost::cuda
