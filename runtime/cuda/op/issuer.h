// Puts runs on the streams, one after the other, eagerly or into the caller's capture.
//
// The order of the host's calls works with every device queue setting
// (CUDA_DEVICE_MAX_CONNECTIONS=1 too): the GEMM is issued before anything that waits for it, so no
// waiter can stand in front of it in a queue.
//   user stream:  [counters = 0]  begin  GEMM                                       wait(end)
//   comm stream:                  wait(begin)  { wait for group, collective, … }*   end
//
// Where the GEMM waits for its input the GEMM is issued first too. Nothing that the GEMM waits for
// is issued behind anything that waits for the GEMM. The GEMM never waits for its own rows. Either
// they are copied before the GEMM starts, when the copy has all of the GPU. Or the GEMM reads them
// in the caller's memory, while its helper warps copy them by tasks that wait for nothing, and the
// posts wait for that copy. Where copy engines bring rows, their copies are on streams of their
// own, and one kernel on the communication stream posts many groups (Communication::let_arrive).
//   user stream:  [counters = 0]  begin  (copy own rows)  fork  GEMM            wait(lane end)  end
//   comm stream:                         wait(fork)  { collective, post group }*      lane end
//
// Beside neighbours (docs/transports.md) the GEMM must not wait. It is launched for each group,
// behind the group's collective. Each launch is issued after the calls that bring its group and
// before those of the next group.
//   user stream:  …  (copy own rows)  fork  GEMM 0   wait(1) GEMM 1   wait(2) GEMM 2 …   end
//   comm stream:          wait(fork)  { collective, post group }*           lane end
//
// Where ranks share memory, a run begins when all ranks have ended the run before, and the rank
// announces the end of its run to the others (runtime/cuda/shared/flags.h). The begin comes first
// on the user's stream, before anything is stored. The end comes last on the communication stream
// or, in a captured run, on the user's stream. The lanes then fork behind the begin. But where the
// GEMM reads its own rows in the caller's memory and has no tasks, the begin is on the
// communication stream, beside the GEMM (RunPath::begins_on_comm_stream). A run whose GEMM reads
// what other ranks store ends only after its GEMM.
//
// Where the GEMM's helper warps carry out all steps (tasks), nothing runs beside the GEMM:
//   user stream:  begin  GEMM with tasks  end
//   comm stream:                         wait(end)  announce the end
// Where ranks push tokens (RunPath::pushes_tokens), a kernel in front of the GEMM does so. The GEMM
// waits for other ranks' tokens. What pushes them waits for the ends of the run before alone:
//   user stream:  begin  list and push  GEMM  end
// Where the GEMM also begins and ends the run by itself (RunPath::whole_run), there is only the
// GEMM. Where sums of tokens are added up at home (RunPath::sums_at_home), ranks meet behind the
// GEMM, which touches nothing that they share:
//   user stream:  GEMM  begin  sums  end
#pragma once

#include "runtime/cuda/op/communication.h"
#include "runtime/cuda/op/gemm.h"
#include "runtime/cuda/op/state/run_orders.h"

namespace tilepost::cuda {

class RunIssuer {
 public:
  // All arguments outlive this object.
  RunIssuer(const OpBase& base, Watchdog& watchdog, Gemm& gemm, const Communication& communication,
            RunOrders& orders)
      : transports_(base.transports),
        state_(base.state),
        watchdog_(watchdog),
        lanes_(base.lanes),
        buffers_(base.buffers),
        gemm_(gemm),
        communication_(communication),
        orders_(orders),
        nvtx_(base.nvtx),
        timeline_(base.timeline) {}

  // `run` has the caller's operands and its map. `map` is that map. A failure ends the operation if
  // other ranks already wait for the run or counters are going to grow.
  tilepost_result_t run_eager(Run& run, DeviceMap& map);
  tilepost_result_t run_captured(Run& run);
  // Issues a run in which no rank has rows.
  tilepost_result_t run_nothing(cudaStream_t stream);

 private:
  tilepost_result_t give_up(const Run& run, tilepost_result_t result);
  tilepost_result_t end_with_failure();
  tilepost_result_t wait_for_room();
  tilepost_result_t follow_last_run(cudaStream_t stream);
  tilepost_result_t start(Run& run);
  tilepost_result_t begin_moving(Run& run);
  bool counts_replays(const Run& run) const;
  bool begins_shared(const Run& run) const;
  ReplayBeginning replay_of(const Run& run) const;
  tilepost_result_t finish(const Run& run);
  tilepost_result_t launch_behind(const Run& run, int group);
  tilepost_result_t end(const Run& run);
  tilepost_result_t end_apart(const Run& run, cudaStream_t last);

  const Transports& transports_;
  RunState& state_;
  Watchdog& watchdog_;
  const Lanes& lanes_;
  const OpBuffers& buffers_;
  Gemm& gemm_;
  const Communication& communication_;
  RunOrders& orders_;
  const NvtxNames& nvtx_;
  RunTimeline& timeline_;
  const RunMap nothing_;
  unsigned long long last_stream_ = 0;  // cudaStreamGetId of the last eager run's stream
};

}  // namespace tilepost::cuda
