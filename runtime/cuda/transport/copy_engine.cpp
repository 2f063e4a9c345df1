// Transport 'copy_engine': every rank keeps what it has computed, or its rows, in memory that the
// others map, and who needs some of it copies it out of there; rows of A it copies to the others.
// Copy engines do that: no SM takes part but the few that announce, wait and add.
#include "runtime/cuda/shared/shared_transport.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

class CopyEngineTransport final : public SharedTransport {
 public:
  explicit CopyEngineTransport(const tilepost_plan_t& plan) : SharedTransport(plan) {}

 private:
  // Tiles are this rank's own, whose counters the operation waits for. What tasks copy are its rows
  // of A, all of them group 0; a rank without rows has none.
  tilepost_result_t wait_for_tiles(const GroupRun& run, cudaStream_t stream) override {
    if (run.chunks > 0) TILEPOST_CUDA(launch_wait_added(flags(), run.group, run.chunks, stream));
    return TILEPOST_OK;
  }

  void find_parts(const Buffers& buffers, const Step& step,
                  SumArguments& arguments) const override {
    arguments.num_parts = flags().ranks;
    for (int rank = 0; rank < flags().ranks; ++rank)
      arguments.parts[rank] =
          rank == flags().rank ? own_part(buffers, step) : slot(rank, step.from_slot);
  }

  const void* own_part(const Buffers& buffers, const Step& step) const override {
    return static_cast<const char*>(buffers.send) + step.from * element_bytes(plan().output);
  }
};

}  // namespace

tilepost_result_t make_copy_engine_transport(CudaComm& comm, const tilepost_plan_t& plan,
                                             const SharedSetup& others,
                                             std::unique_ptr<Transport>& transport) {
  return make_shared_transport<CopyEngineTransport>(comm, plan, others, transport);
}

}  // namespace tilepost::cuda
