// The steps that follow a group's tiles, where ranks read or write each other's memory: parts and
// sums are announced, pulled and added up. The derived classes know how a rank waits for its tiles,
// and where parts lie (runtime/cuda/transport/copy_engine.cpp, runtime/cuda/transport/peer.cpp).
#pragma once

#include <vector>

#include "runtime/cuda/shared/sum.h"
#include "runtime/cuda/transport/pull_lane.h"
#include "runtime/cuda/transport/shared_transport.h"

namespace tilepost::cuda {

class SharedTiles : public SharedTransport {
 public:
  // Makes the lanes and loads the kernels that runs put on them. Called once, before all other
  // calls.
  tilepost_result_t create();

  tilepost_result_t communicate(const Buffers& buffers, const GroupRun& run,
                                cudaStream_t stream) override;
  tilepost_result_t rejoin(cudaStream_t stream) override;
  void name_streams(const NvtxNames& nvtx) const override;

 protected:
  SharedTiles(SharedService& shared, const tilepost_plan_t& plan)
      : SharedTransport(shared), plan_(plan) {}

  // Waits until the tiles of a group are there, if this transport has to wait.
  virtual tilepost_result_t wait_for_tiles(int group, cudaStream_t stream) = 0;
  // Fills in the parts of a sum, in the order of ranks, and the memory that is zeroed after adding.
  virtual void find_parts(const Buffers& buffers, const Step& step,
                          SumArguments& arguments) const = 0;
  // The place that an own_part step reads.
  virtual const void* own_part(const Buffers& buffers, const Step& step) const = 0;

  const tilepost_plan_t& plan() const { return plan_; }
  // The place of an element in the slot of rank `source`.
  void* slot(int source, int64_t element) const;

 private:
  tilepost_result_t warm_up_lanes(cudaStream_t stream) override;
  void reset_lanes() override;
  tilepost_result_t take(const Buffers& buffers, const GroupRun& run, size_t index);
  tilepost_result_t announce(Flag flag, const GroupRun& run, uint64_t sources, cudaStream_t stream);
  tilepost_result_t add_up(const Buffers& buffers, const Step& step, PullLane& lane);
  tilepost_result_t move(void* to, const void* from, int64_t count, PullLane& lane);
  const void* pulled_at(const Step& step) const;
  void* pulled_to(const Buffers& buffers, const Step& step) const;
  bool copies() const;
  bool spreads_sums() const;
  int64_t bytes(int64_t elements) const;

  const tilepost_plan_t& plan_;
  std::vector<PullLane> lanes_;
};

}  // namespace tilepost::cuda
