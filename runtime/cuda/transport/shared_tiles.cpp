#include "runtime/cuda/transport/shared_tiles.h"

#include <algorithm>

#include "runtime/cuda/watch/stamp.h"
#include "runtime/map/slots.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/timeline_words.h"

namespace tilepost::cuda {

tilepost_result_t SharedTiles::create() {
  lanes_.resize(std::max(1, plan_.comm_lanes));
  for (PullLane& lane : lanes_)
    TILEPOST_TRY(lane.create(flags().ranks, copies() ? others_of(flags()) : 0));
  TILEPOST_CUDA(preload_flags());
  TILEPOST_CUDA(preload_sum(plan_.output));
  return TILEPOST_OK;
}

void SharedTiles::name_streams(const NvtxNames& nvtx) const {
  for (size_t lane = 0; lane < lanes_.size(); ++lane)
    lanes_[lane].name_streams(nvtx, static_cast<int>(lane));
}

// Whether lanes copy from other ranks. What kernels have stored with its owner needs no copy, but
// sums that all ranks want do.
bool SharedTiles::copies() const {
  return path_of(plan_, true).exchanged == Memory::shared || spreads_sums();
}

bool SharedTiles::spreads_sums() const {
  return row_of(plan_).product_spreads();
}

void SharedTiles::reset_lanes() {
  for (PullLane& lane : lanes_) lane.reset();
}

tilepost_result_t SharedTiles::warm_up_lanes(cudaStream_t stream) {
  const int64_t from = regions().layout().warm_up;
  void* to = regions().own(from + kWarmUpBytes);
  for (size_t index = 0; index < lanes_.size(); ++index) {
    TILEPOST_TRY(wait_for_tiles(0, stream));
    TILEPOST_TRY(copy(to, regions().own(from), kWarmUpBytes, stream));
    if (!copies()) continue;
    const GroupRun run{{}, 0, static_cast<int>(index)};
    TILEPOST_TRY(announce(Flag::block, run, others_of(flags()), stream));
    TILEPOST_TRY(lanes_[index].fork(others_of(flags()), stream));
    for (int peer = 0; peer < flags().ranks; ++peer)
      if (peer != flags().rank)
        TILEPOST_TRY(lanes_[index].copy_from(peer, to, regions().of(peer, from), kWarmUpBytes));
    TILEPOST_TRY(lanes_[index].join(stream));
  }
  return TILEPOST_OK;
}

tilepost_result_t SharedTiles::rejoin(cudaStream_t stream) {
  for (PullLane& lane : lanes_) TILEPOST_TRY(lane.rejoin(stream));
  return TILEPOST_OK;
}

// Waits for tiles even if there are no steps, because a run has not ended before all tiles are
// stored.
tilepost_result_t SharedTiles::communicate(const Buffers& buffers, const GroupRun& run,
                                           cudaStream_t stream) {
  TILEPOST_TRY(check_usable());
  TILEPOST_TRY(wait_for_tiles(run.group, stream));
  if (run.stamps != nullptr) TILEPOST_CUDA(launch_stamp(run.stamps + kStepsBegin, stream));
  TILEPOST_TRY(lanes_[run.lane].enter(stream));
  for (size_t i = 0; i < run.steps.size(); ++i) TILEPOST_TRY(take(buffers, run, i));
  return run.stamps != nullptr ? lanes_[run.lane].stamp(run.stamps + kStepsEnd) : TILEPOST_OK;
}

tilepost_result_t SharedTiles::take(const Buffers& buffers, const GroupRun& run, size_t index) {
  const Step& step = run.steps[index];
  PullLane& lane = lanes_[run.lane];
  const uint64_t sources = needed_by(run.steps.subspan(index + 1));
  switch (step.kind) {
    case StepKind::announce:
      return announce(Flag::block, run, sources, lane.stream());
    case StepKind::announce_sums:
      TILEPOST_TRY(lane.follow_adding(lane.stream()));
      return announce(Flag::sums, run, sources, lane.stream());
    case StepKind::pull_part:
    case StepKind::pull:
    case StepKind::pull_sums:
      return lane.copy_from(step.peer, pulled_to(buffers, step), pulled_at(step),
                            bytes(step.count));
    case StepKind::sum:
      return add_up(buffers, step, lane);
    case StepKind::own_part:
      return move(pulled_to(buffers, step), own_part(buffers, step), step.count, lane);
    case StepKind::landed_part:
      return move(pulled_to(buffers, step),
                  regions().own(regions().layout().landed + bytes(step.from)), step.count, lane);
    default:
      return refuse_step(step.kind);
  }
}

// The announcement covers earlier work on the stream. Streams that pull start behind the wait.
tilepost_result_t SharedTiles::announce(Flag flag, const GroupRun& run, uint64_t sources,
                                        cudaStream_t stream) {
  if (sources == 0) {
    TILEPOST_CUDA(launch_announce(flags(), flag, run.lane, run.group, stream));
    return TILEPOST_OK;
  }
  TILEPOST_CUDA(launch_announce_and_wait(flags(), flag, run.lane, run.group, sources, stream));
  return lanes_[run.lane].fork(sources, stream);
}

// Adds behind the pulls, and behind the wait for tiles where tiles are not pulled.
tilepost_result_t SharedTiles::add_up(const Buffers& buffers, const Step& step, PullLane& lane) {
  TILEPOST_TRY(lane.begin_adding());
  TILEPOST_TRY(lane.join(lane.adding()));
  SumArguments arguments{};
  find_parts(buffers, step, arguments);
  arguments.out = at(buffers.out, bytes(step.to));
  if (spreads_sums())
    arguments.sums = regions().own(regions().layout().sums + bytes(step.from_slot));
  arguments.count = step.count;
  TILEPOST_CUDA(launch_sum(arguments, plan_.output, lane.adding()));
  return TILEPOST_OK;
}

// Moves rows within this rank's memory. CUDA's copies within a device are not used, because they
// are kernels that take the free SMs until they end.
tilepost_result_t SharedTiles::move(void* to, const void* from, int64_t count, PullLane& lane) {
  TILEPOST_TRY(lane.begin_adding());
  SumArguments arguments{};
  arguments.parts[0] = from;
  arguments.num_parts = 1;
  arguments.out = to;
  arguments.count = count;
  TILEPOST_CUDA(launch_sum(arguments, plan_.output, lane.adding()));
  return TILEPOST_OK;
}

void* SharedTiles::slot(int source, int64_t element) const {
  return regions().own(regions().layout().slots +
                       bytes(slots_of(plan_, plan_.map).at(source, element)));
}

const void* SharedTiles::pulled_at(const Step& step) const {
  const SharedLayout& layout = regions().layout();
  const int64_t region = step.kind == StepKind::pull_sums ? layout.sums : layout.send;
  return regions().of(step.peer, region + bytes(step.from));
}

void* SharedTiles::pulled_to(const Buffers& buffers, const Step& step) const {
  return step.kind == StepKind::pull_part ? slot(step.peer, step.to)
                                          : at(buffers.out, bytes(step.to));
}

int64_t SharedTiles::bytes(int64_t elements) const {
  return elements * element_bytes(plan_.output);
}

}  // namespace tilepost::cuda
