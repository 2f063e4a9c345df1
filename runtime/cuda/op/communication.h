// What follows the GEMM in a run, or comes before it: waits and posts, the transport's steps and
// the consumer, group by group.
#pragma once

#include "runtime/cuda/device/device.h"
#include "runtime/cuda/op/buffers.h"
#include "runtime/cuda/op/run.h"
#include "runtime/cuda/op/run_state.h"
#include "runtime/cuda/watch/waiter.h"

namespace tilepost::cuda {

// Waits on a stream for the counters that tiles of this rank raise, and raises those that tiles
// wait for. Reports to the watchdog how far the stream is.
class GroupWaits {
 public:
  // Both outlive this.
  GroupWaits(RunState& state, const Driver& driver) : state_(state), driver_(driver) {}

  // What follows on run.comm sees the group's tiles.
  tilepost_result_t wait(const Run& run, int group) const;
  // Tiles that wait for the group see what precedes it on run.comm.
  tilepost_result_t post(const Run& run, int group) const;
  PostArguments post_of(const Run& run, int group) const;

 private:
  tilepost_result_t poll(const Run& run, int group) const;
  tilepost_result_t wait_on_stream(const Run& run, int group) const;

  RunState& state_;
  const Driver& driver_;
};

// What a run does with what it has computed or received, on this rank alone: puts rows into order,
// normalises them, or copies them to where the caller wants them.
class Consumption {
 public:
  // Both outlive this.
  Consumption(const tilepost_plan_t& plan, const DeviceInfo& device, int rank)
      : plan_(plan), device_(device), rank_(rank) {}

  // Loads the kernels, so that none has to be loaded while something waits.
  tilepost_result_t load() const;

  // Of a group that has come, on the lane's stream; nothing unless the consumer is unpermute.
  tilepost_result_t unpermute(const Run& run, int group) const;
  // Of the whole run, where the consumer normalises; nothing elsewhere.
  tilepost_result_t normalise(const Run& run) const;
  // Sums that the other ranks have pushed to `landed`, to the run's out (RunPath::moves_landed).
  tilepost_result_t move_landed(const Run& run, const void* landed) const;
  // Rows of A that came together elsewhere, to the caller if it wants them.
  tilepost_result_t hand_out_gathered(const Run& run) const;

 private:
  tilepost_result_t unpermute_slots(const Run& run, const tilepost_group_t& group) const;
  tilepost_result_t unpermute_slabs(const Run& run, int group) const;
  tilepost_result_t copy_gathered(const Run& run, int64_t first_row, int64_t end_row) const;
  int64_t row_bytes_of_a() const;

  const tilepost_plan_t& plan_;
  const DeviceInfo& device_;
  const int rank_;
};

class Communication {
 public:
  // All outlive this.
  Communication(const tilepost_plan_t& plan, const Transports& transports, RunState& state,
                const Driver& driver, const Lanes& lanes, const OpBuffers& buffers,
                const Consumption& consumption)
      : plan_(plan),
        transports_(transports),
        waits_(state, driver),
        lanes_(lanes),
        buffers_(buffers),
        consumption_(consumption) {}

  const GroupWaits& waits() const { return waits_; }

  // Before all else, on the caller's stream: sorts rows of A by destination where that is to be
  // done (RunPath::packs).
  tilepost_result_t pack(const Run& run) const;

  // Of a GEMM that reads its own rows, or some, where all ranks' come together: brings these there,
  // on the caller's stream before the GEMM. Beside it (RunPath::begins_beside) this only lets
  // copies to others begin.
  tilepost_result_t bring_own_rows(const Run& run) const;

  // A group of a run whose kernel does not complete it, on the group's lane.
  tilepost_result_t communicate(const Run& run, int group) const;

  // What follows the groups. Lane 0 goes on behind all of it.
  tilepost_result_t finish(const Run& run) const;

  // NCCL makes its connections, buffers and kernels on first use, by kind and size, and waits for
  // the device then. A GEMM that waits for its input would keep it from that; so the first run with
  // a number of rows gathers once before, on the caller's stream. The other patterns' GEMMs end by
  // themselves.
  tilepost_result_t warm_up(const Run& run, DeviceMap& map) const;

 private:
  int lane_of(const Run& run, int group) const;
  Run on_lane(const Run& run, int lane) const;
  // Of runs that begin beside their GEMM.
  EdgeRows edges(const Run& run) const;
  // Behind a group's steps, what tiles wait for.
  tilepost_result_t let_arrive(const Run& run, int group) const;

  const tilepost_plan_t& plan_;
  const Transports& transports_;
  const GroupWaits waits_;
  const Lanes& lanes_;
  const OpBuffers& buffers_;
  const Consumption& consumption_;
};

}  // namespace tilepost::cuda
