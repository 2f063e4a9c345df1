// Transport 'copy_engine': every rank keeps what it has computed in memory that the others map. A
// rank that needs some of it copies it from there. Rows of A are copied by their own rank to the
// others. Copy engines carry out the copies. Only a few SMs take part: they announce, wait and add.
#include "runtime/cuda/transport/shared_tiles.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

class CopyEngineTiles final : public SharedTiles {
 public:
  CopyEngineTiles(SharedService& shared, const tilepost_plan_t& plan) : SharedTiles(shared, plan) {}

 private:
  // The tiles are this rank's own, and the operation has waited for their counters.
  tilepost_result_t wait_for_tiles(int /*group*/, cudaStream_t /*stream*/) override {
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
    return at(buffers.send, step.from * element_bytes(plan().output));
  }
};

}  // namespace

tilepost_result_t make_copy_engine(const TransportSetup& setup, Transports& transports) {
  std::unique_ptr<SharedService> shared;
  TILEPOST_TRY(make_shared_service(setup, transports, shared));
  const bool gathers = row_of(setup.plan).moves_input();
  TILEPOST_TRY(gathers ? make_copy_engine_rows(*shared, setup.plan, transports.overlapping)
                       : make_shared<CopyEngineTiles>(*shared, setup.plan, transports.overlapping));
  transports.shared = std::move(shared);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
