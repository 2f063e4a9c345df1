// Transport 'peer': the kernels store their tiles where they belong, in the memory of the rank that
// owns the rows, and raise that rank's counters. What is left to do when a group is complete is
// local: adding the parts up, or moving rows to out. Tasks of the kernel do that, and push an
// AllReduce's sums, or kernels of the runtime's do, and these sums are pulled. An AllGather's rows
// are pushed by tasks.
#include "runtime/cuda/shared/shared_transport.h"
#include "runtime/cuda/shared/tasks.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

class PeerTransport final : public SharedTransport {
 public:
  explicit PeerTransport(const tilepost_plan_t& plan) : SharedTransport(plan) {}

  bool waits_for_tiles() const override { return true; }

 private:
  tilepost_result_t wait_for_tiles(const GroupRun& run, cudaStream_t stream) override {
    TILEPOST_CUDA(has_tasks(plan(), true)
                      ? launch_wait_added(flags(), run.group, run.chunks, stream)
                      : launch_wait_stored(flags(), run.group, stream));
    return TILEPOST_OK;
  }

  // Parts that have been added to one another already are one, and zero again before the next run.
  void find_parts(const Buffers& /*buffers*/, const Step& step,
                  SumArguments& arguments) const override {
    const bool added = plan().sum == TILEPOST_SUM_ADDED;
    arguments.num_parts = added ? 1 : flags().ranks;
    for (int rank = 0; rank < arguments.num_parts; ++rank)
      arguments.parts[rank] = slot(rank, step.from_slot);
    if (added) arguments.clear = slot(0, step.from_slot);
  }

  const void* own_part(const Buffers& /*buffers*/, const Step& step) const override {
    return memory().own(memory().layout().landed + step.from * element_bytes(plan().output));
  }
};

}  // namespace

tilepost_result_t make_peer_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                      const SharedSetup& others,
                                      std::unique_ptr<Transport>& transport) {
  return make_shared_transport<PeerTransport>(comm, plan, others, transport);
}

}  // namespace tilepost::cuda
