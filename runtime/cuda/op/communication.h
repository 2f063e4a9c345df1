// The work that follows the GEMM in a run, or comes before it: waits and posts, the transport's
// steps and the consumer, group by group.
#pragma once

#include "runtime/cuda/device/device.h"
#include "runtime/cuda/op/buffers.h"
#include "runtime/cuda/op/op_base.h"
#include "runtime/cuda/op/run.h"
#include "runtime/cuda/watch/waiter.h"

namespace tilepost::cuda {

// Waits on a stream for the counters that tiles of this rank raise, and raises the counters that
// tiles wait for. Reports to the watchdog how far the stream has come.
class GroupWaits {
 public:
  // Both arguments outlive this object.
  GroupWaits(RunState& state, const Driver& driver) : state_(state), driver_(driver) {}

  // Work that is put on run.comm after this call sees the group's tiles.
  tilepost_result_t wait(const Run& run, int group) const;
  // Tiles that wait for the group see the work that was put on run.comm before this call.
  tilepost_result_t post(const Run& run, int group) const;
  PostArguments post_of(const Run& run, int group) const;

 private:
  tilepost_result_t poll(const Run& run, int group) const;
  tilepost_result_t wait_on_stream(const Run& run, int group) const;

  RunState& state_;
  const Driver& driver_;
};

// The work of a run on this rank alone: it puts rows into order, normalises or quantises them, or
// copies them to where the caller wants them.
class Consumption {
 public:
  // `device` outlives this object.
  Consumption(const OpBase& base, const DeviceInfo& device, int rank)
      : plan_(base.plan), paths_(base.paths), device_(device), rank_(rank) {}

  // Loads the kernels, so that none has to be loaded while something waits.
  tilepost_result_t load() const;

  // Puts the rows of a group that has arrived into order, on the lane's stream. Does nothing unless
  // the consumer is unpermute.
  tilepost_result_t unpermute(const Run& run, int group) const;
  // Normalises the rows of the whole run. Does nothing unless the consumer normalises.
  tilepost_result_t normalise(const Run& run) const;
  // Quantises rows of out, those of a group that has arrived, or of the whole run. Does nothing
  // unless the consumer is quantise.
  tilepost_result_t quantise_group(const Run& run, int group) const;
  tilepost_result_t quantise(const Run& run) const;
  // Copies to the run's out the sums that the other ranks have pushed to `landed`
  // (RunPath::copies_landed).
  tilepost_result_t move_landed(const Run& run, const void* landed) const;
  // Copies the gathered rows of A to the caller's `gathered`, if the caller passed one and the rows
  // were gathered elsewhere.
  tilepost_result_t hand_out_gathered(const Run& run) const;
  // Copies the scales that have moved with rows of A to the caller's `gathered_scales`, if the
  // caller passed one and they came together elsewhere.
  tilepost_result_t hand_out_scales(const Run& run) const;

 private:
  tilepost_result_t quantise_rows(const Run& run, int64_t first, int64_t rows) const;
  tilepost_result_t unpermute_slots(const Run& run, const tilepost_group_t& group) const;
  tilepost_result_t unpermute_slabs(const Run& run, int group) const;
  tilepost_result_t copy_gathered(const Run& run, int64_t first_row, int64_t end_row) const;
  int64_t row_bytes_of_a() const;

  const tilepost_plan_t& plan_;
  const RunPaths& paths_;
  const DeviceInfo& device_;
  const int rank_;
};

class Communication {
 public:
  // `consumption` outlives this object.
  Communication(const OpBase& base, const Consumption& consumption)
      : plan_(base.plan),
        transports_(base.transports),
        waits_(base.state, base.driver),
        lanes_(base.lanes),
        buffers_(base.buffers),
        consumption_(consumption),
        timeline_(base.timeline) {}

  const GroupWaits& waits() const { return waits_; }

  // Sorts rows of A by destination rank in runs that need it (RunPath::sorts_a). It is the first
  // work on the caller's stream.
  tilepost_result_t pack(const Run& run) const;

  // Copies this rank's own rows of A to where all ranks' rows come together, for a GEMM that reads
  // them there. The copies are on the caller's stream, before the GEMM. In a run that begins beside
  // its GEMM (RunPath::begins_on_comm_stream) this only lets the copies to other ranks begin.
  tilepost_result_t bring_own_rows(const Run& run) const;

  // Issues the communication of one group on the group's lane, with its waits, posts and consumer.
  // It is only for runs whose kernel does not carry out the steps itself
  // (RunPath::kernel_does_all).
  tilepost_result_t communicate(const Run& run, int group) const;

  // Issues the work that follows the groups. Lane 0 then continues behind all of this work.
  tilepost_result_t finish(const Run& run) const;

  // Communicates once on the caller's stream before the first run with a number of rows. On first
  // use of each kind and size NCCL makes its connections, buffers and kernels, and waits for the
  // device. A GEMM that waits for its input would keep NCCL waiting. The GEMMs of the other
  // patterns end by themselves, so they need no warm-up.
  tilepost_result_t warm_up(const Run& run, DeviceMap& map) const;

 private:
  tilepost_result_t bring_own_scales(const Run& run) const;
  // Waits for all rows that other ranks push, if the caller wants them (gathered).
  tilepost_result_t await_pushed_rows(const Run& run) const;
  // Whether the rows of a group have arrived on run.comm behind the group's steps.
  bool arrive_by_groups(const Run& run) const;
  int lane_of(const Run& run, int group) const;
  Run on_lane(const Run& run, int lane) const;
  // The edge rows of a run that begins beside its GEMM; empty for any other run.
  EdgeRows edges(const Run& run) const;
  // Posts the group behind its steps, so that the group's tiles can begin.
  tilepost_result_t let_arrive(const Run& run, int group) const;

  const tilepost_plan_t& plan_;
  const Transports& transports_;
  const GroupWaits waits_;
  const Lanes& lanes_;
  const OpBuffers& buffers_;
  const Consumption& consumption_;
  const RunTimeline& timeline_;
};

}  // namespace tilepost::cuda
