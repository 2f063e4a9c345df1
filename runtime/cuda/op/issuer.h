// Puts runs on the streams, one after the other, eagerly or into the caller's capture.
//
// Order of the host's calls, for every device queue setting (CUDA_DEVICE_MAX_CONNECTIONS=1 too):
// the GEMM goes out before anything that waits for it, so no waiter can stand in front of it in a
// queue.
//   user stream:  [counters = 0]  begin  GEMM                                       wait(end)
//   comm stream:                  wait(begin)  { wait for group, collective, … }*   end
// Where the GEMM waits for its input it goes out first too; nothing that it waits for comes behind
// anything that waits for it. Its own rows it never waits for: they are copied, with all of the GPU
// to do it, before it starts; or it reads them where the caller has them, while its helper warps
// copy them (tasks, which wait for nothing), and the posts wait for that. Where copy engines
// bring rows, their copies are on streams of their own, and one kernel on the communication stream
// posts many groups (Communication::let_arrive).
//   user stream:  [counters = 0]  begin  (copy own rows)  fork  GEMM            wait(lane end)  end
//   comm stream:                         wait(fork)  { collective, post group }*      lane end
// Beside neighbours the GEMM may not wait, and is launched for each group behind its collective:
//   user stream:  …  (copy own rows)  fork  GEMM 0   wait(1) GEMM 1   wait(2) GEMM 2 …   end
//   comm stream:          wait(fork)  { collective, post group }*           lane end
// with each launch behind the calls that bring its group, and in front of those of the next.
// Where ranks share memory, a run begins when all ranks have ended the one before, and says when it
// has ended: first on the user's stream, before anything is stored, and last on the communication
// stream, or, captured, on the user's (runtime/cuda/shared/flags.h). The lanes then fork behind the
// beginning; but where the GEMM reads its own rows in the caller's memory, and has no tasks, the
// run begins on the communication stream, beside it (RunPath::begins_beside). It has not ended
// before its GEMM where that reads what other ranks store. Where its helper warps do all there is
// to do (tasks), nothing is beside the GEMM:
//   user stream:  begin  GEMM with tasks  end
//   comm stream:                         wait(end)  say so
// and where they begin and end the run too (RunPath::meets), there is nothing but the GEMM.
#pragma once

#include "runtime/cuda/op/communication.h"
#include "runtime/cuda/op/gemm.h"
#include "runtime/cuda/shared/run_order.h"

namespace tilepost::cuda {

class RunIssuer {
 public:
  // All outlive this, but for `order`, that of the communicator's runs that communicate, and
  // `family`: of runs of other plans that are the same operation's to the caller. `board` and
  // `family`: null where there is none.
  RunIssuer(const Transports& transports, RunState& state, Watchdog& watchdog, const Lanes& lanes,
            const OpBuffers& buffers, Gemm& gemm, const Communication& communication,
            std::shared_ptr<RunOrder> order, RunOrder* family, RunBoard* board, bool communicates)
      : transports_(transports),
        state_(state),
        watchdog_(watchdog),
        lanes_(lanes),
        buffers_(buffers),
        gemm_(gemm),
        communication_(communication),
        order_(std::move(order)),
        family_(family),
        board_(board),
        communicates_(communicates) {}

  // `run` has what the caller gave, and its map, which is `map`. Once other ranks wait for a run,
  // or counters will grow, a failure ends the operation.
  tilepost_result_t run_eager(Run& run, DeviceMap& map);
  tilepost_result_t run_captured(Run& run);

  // When runs have ended, before the events that say so and what ranks share are no more.
  void leave_orders();

 private:
  tilepost_result_t give_up(const Run& run, tilepost_result_t result);
  tilepost_result_t come_too_late();
  tilepost_result_t wait_for_room();
  tilepost_result_t follow_last_run(cudaStream_t stream);
  tilepost_result_t follow_others(const Run& run);
  void let_others_follow(const Run& run);
  RunOrder::Run in_order(const Run& run) const;
  tilepost_result_t start(Run& run);
  tilepost_result_t begin_moving(Run& run);
  tilepost_result_t finish(const Run& run);
  tilepost_result_t launch_behind(const Run& run, int group);
  tilepost_result_t end(const Run& run);
  tilepost_result_t end_apart(const Run& run, cudaStream_t last);
  RunOrder* shared_order() const;

  const Transports& transports_;
  RunState& state_;
  Watchdog& watchdog_;
  const Lanes& lanes_;
  const OpBuffers& buffers_;
  Gemm& gemm_;
  const Communication& communication_;
  const std::shared_ptr<RunOrder> order_;
  RunOrder* const family_;
  RunBoard* const board_;
  const bool communicates_;
  RunOrder::Member in_comm_, in_arena_, in_family_;
  unsigned long long last_stream_ = 0;  // cudaStreamGetId of the last eager run's
};

}  // namespace tilepost::cuda
