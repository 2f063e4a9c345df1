// Making a transport that shares memory: finding the memory, with the flags that ranks and kernels
// count in (runtime/cuda/shared/arena.h), and making the lanes.
#include <algorithm>

#include "runtime/cuda/shared/shared_transport.h"
#include "runtime/cuda/shared/tasks.h"

namespace tilepost::cuda {
namespace {

constexpr int kSharedCounters = 256;  // of the plans that share memory: more than most have

}  // namespace

tilepost_result_t SharedTransport::create(CudaComm& comm, const SharedSetup& others) {
  messages_ = &others.messages;
  TILEPOST_TRY(find_memory(comm, others));
  flags_ = arena_->flags();
  if (!adds() && !completes_out(plan_, true)) flags_.done = arena_->done();
  if (!adds() && waits_for_tiles()) TILEPOST_TRY(access_.create(shared_counters(plan_)));
  TILEPOST_TRY(make_lanes());
  TILEPOST_CUDA(preload_shared_kernels());
  if (adds()) TILEPOST_CUDA(preload_sum(plan_.output));
  return TILEPOST_OK;
}

// Memory that is shared has room for the counters of other plans too.
tilepost_result_t SharedTransport::find_memory(CudaComm& comm, const SharedSetup& others) {
  shares_ = others.shares && !keeps_zeros();
  const SharedLayout layout =
      shared_layout(plan_, most_sizes(plan_), shares_ ? kSharedCounters : 0);
  TILEPOST_TRY(find_arena(comm, others.messages, {layout, shares_}, others.deadline_seconds, arena_,
                          made_arena_));
  memory_ = {arena_->memory(), arena_->place(layout)};
  touched_ = made_arena_;
  return TILEPOST_OK;
}

// Whether a run takes it that slots are zero, as this operation's last one has left them.
bool SharedTransport::keeps_zeros() const {
  return stores_tiles(plan_) && plan_.sum == TILEPOST_SUM_ADDED;
}

tilepost_result_t SharedTransport::make_lanes() {
  if (completes_out(plan_, true)) return TILEPOST_OK;
  lanes_.resize(gathers() ? 1 : std::max(1, plan_.comm_lanes));
  for (Lane& lane : lanes_) {
    TILEPOST_TRY(make_stream(lane.stream, true));
    if (adds() && !gathers()) TILEPOST_TRY(make_stream(lane.adding, false));
    for (Event* event : {&lane.begun, &lane.fork, &lane.ready, &lane.summed, &lane.done})
      TILEPOST_TRY(make_event(*event));
    if (!copies()) continue;
    lane.peers.resize(flags_.ranks);
    for (int rank = 0; rank < flags_.ranks; ++rank) {
      if ((copying() >> rank & 1) == 0) continue;
      TILEPOST_TRY(make_stream(lane.peers[rank].stream, true));
      TILEPOST_TRY(make_event(lane.peers[rank].copied));
    }
  }
  return TILEPOST_OK;
}

// What kernels have stored at its owner's is copied by nobody, but an AllReduce's sums are, unless
// tasks push them.
bool SharedTransport::copies() const {
  return plan_.access == TILEPOST_ACCESS_READ ||
         (plan_.pattern == TILEPOST_GEMM_ALL_REDUCE && plan_.pushes == 0);
}

// Elsewhere the kernel's tasks do, or nothing is added.
bool SharedTransport::adds() const {
  return !has_tasks(plan_, true);
}

void SharedTransport::report_to(WatchPage* page, double deadline_seconds) {
  deadline_seconds_ = deadline_seconds;
  flags_.page = page;
  flags_.deadline_ns = static_cast<uint64_t>(deadline_seconds * 1e9);
}

}  // namespace tilepost::cuda
