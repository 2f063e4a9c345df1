// Transport 'peer': the kernels store their tiles in the memory of the rank that owns the rows, and
// raise that rank's counters. When a group is complete, the remaining work is local: adding the
// parts up, or moving rows to out. Either tasks of the kernel do this work, and push an AllReduce's
// sums. Or kernels of the runtime do it, and the sums are pulled. Tasks push rows of A.
#include "runtime/cuda/transport/shared_tiles.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

class PeerTiles final : public SharedTiles {
 public:
  PeerTiles(SharedService& shared, const tilepost_plan_t& plan) : SharedTiles(shared, plan) {}

 private:
  tilepost_result_t wait_for_tiles(int group, cudaStream_t stream) override {
    TILEPOST_CUDA(launch_wait_stored(flags(), group, stream));
    return TILEPOST_OK;
  }

  // Parts that were added to one another as they were stored are one part. It is set to zero again
  // before the next run.
  void find_parts(const Buffers& /*buffers*/, const Step& step,
                  SumArguments& arguments) const override {
    const bool added = plan().sum == TILEPOST_SUM_ADDED;
    arguments.num_parts = added ? 1 : flags().ranks;
    for (int rank = 0; rank < arguments.num_parts; ++rank)
      arguments.parts[rank] = slot(rank, step.from_slot);
    if (added) arguments.clear = slot(0, step.from_slot);
  }

  const void* own_part(const Buffers& /*buffers*/, const Step& step) const override {
    return regions().own(regions().layout().landed + step.from * element_bytes(plan().output));
  }
};

}  // namespace

tilepost_result_t make_peer(const TransportSetup& setup, Transports& transports) {
  std::unique_ptr<SharedService> shared;
  TILEPOST_TRY(make_shared_service(setup, transports, shared));
  if (path_of(setup.plan, true).kernel_does_all) {
    TILEPOST_CUDA(preload_flags());
    transports.overlapping = std::make_unique<KernelTransport>(*shared);
  } else {
    TILEPOST_TRY(make_shared<PeerTiles>(*shared, setup.plan, transports.overlapping));
  }
  transports.shared = std::move(shared);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
