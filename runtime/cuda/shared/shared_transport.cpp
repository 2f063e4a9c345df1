#include "runtime/cuda/shared/shared_transport.h"

#include <bit>
#include <limits>

#include "runtime/cuda/device/stream_wait.h"
#include "runtime/cuda/shared/tasks.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

constexpr int64_t kWarmUpBytes = 16;

constexpr uint64_t bit(int rank) {
  return uint64_t{1} << rank;
}

// Whether a step needs what its peer has announced.
bool needs_peer(StepKind kind) {
  return kind == StepKind::pull_part || kind == StepKind::pull || kind == StepKind::pull_sums ||
         kind == StepKind::landed_rows;
}

// The ranks that the steps at the beginning of `steps` need.
uint64_t needed_by(std::span<const Step> steps) {
  uint64_t sources = 0;
  for (const Step& step : steps) {
    if (!needs_peer(step.kind)) break;
    sources |= bit(step.peer);
  }
  return sources;
}

void* at(const void* base, int64_t bytes) {
  return const_cast<char*>(static_cast<const char*>(base)) + bytes;
}

tilepost_result_t copy(void* to, const void* from, int64_t bytes, cudaStream_t stream) {
  if (to == from) return TILEPOST_OK;
  TILEPOST_CUDA(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream));
  return TILEPOST_OK;
}

// What comes on `stream` from here on follows what is on `leader` so far.
tilepost_result_t follow(cudaStream_t stream, const Event& event, cudaStream_t leader) {
  TILEPOST_CUDA(cudaEventRecord(event.get(), leader));
  TILEPOST_CUDA(cudaStreamWaitEvent(stream, event.get(), 0));
  return TILEPOST_OK;
}

tilepost_result_t follow(cudaStream_t stream, const Event& event, const Stream& leader) {
  return follow(stream, event, leader.get());
}

}  // namespace

// ---- Warming up

tilepost_result_t SharedTransport::warm_up(cudaStream_t stream) {
  if (shares_) TILEPOST_TRY(arena_->order().follow(stream));
  TILEPOST_TRY(begin(nullptr, 0, stream));
  for (int lane = 0; lane < static_cast<int>(lanes_.size()); ++lane)
    TILEPOST_TRY(warm_up_lane(lane, stream));
  ended_on_ = stream;
  return end(stream);
}

// Moves zeros to where other zeros are, beside all that runs use: nobody writes what another reads.
tilepost_result_t SharedTransport::warm_up_lane(int index, cudaStream_t stream) {
  Lane& lane = lanes_[index];
  const GroupRun run{{}, 0, index};
  const int64_t from = memory_.layout().warm_up;
  void* to = memory_.own(from + kWarmUpBytes);
  TILEPOST_TRY(wait_for_tiles(run, stream));
  TILEPOST_TRY(copy(to, memory_.own(from), kWarmUpBytes, stream));
  if (!copies()) return TILEPOST_OK;
  if (!gathers()) TILEPOST_TRY(announce(Flag::block, run, others(), stream));
  TILEPOST_TRY(fork(lane, copying(), stream));
  for (int peer = 0; peer < flags_.ranks; ++peer) {
    if (peer == flags_.rank) continue;
    void* target = gathers() ? memory_.of(peer, from + kWarmUpBytes) : to;
    const void* source = gathers() ? memory_.own(from) : memory_.of(peer, from);
    TILEPOST_TRY(copy_beside(lane, peer, target, source, kWarmUpBytes));
  }
  if (!gathers()) return join(lane, stream);
  TILEPOST_TRY(announce_copies(run, others(), stream));
  return follow(stream, lane.done, lane.stream);
}

// ---- Runs

tilepost_result_t SharedTransport::begin(const uint32_t* targets, int counters,
                                         cudaStream_t stream) {
  for (Lane& lane : lanes_) {
    lane.used = false;
    lane.busy = 0;
  }
  touched_ = true;
  TILEPOST_CUDA(launch_shared_begin(flags_, targets, counters, stream));
  return TILEPOST_OK;
}

tilepost_result_t SharedTransport::rejoin(cudaStream_t stream) {
  for (Lane& lane : lanes_) {
    if (!lane.used) continue;
    TILEPOST_TRY(follow(stream, lane.done, lane.stream));
    if (adds() && !gathers()) TILEPOST_TRY(follow(stream, lane.summed, lane.adding));
    TILEPOST_TRY(join(lane, stream));
  }
  return TILEPOST_OK;
}

tilepost_result_t SharedTransport::end(cudaStream_t stream) {
  TILEPOST_CUDA(launch_shared_end(flags_, stream));
  return TILEPOST_OK;
}

// Tiles are waited for also where nothing is done with them: a run has not ended before they are
// all stored.
tilepost_result_t SharedTransport::communicate(const Buffers& buffers, const GroupRun& run,
                                               cudaStream_t stream) {
  if (aborted_) return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one");
  if (gathers()) return gather(buffers, run, stream);
  Lane& lane = lanes_[run.lane];
  TILEPOST_TRY(wait_for_tiles(run, stream));
  TILEPOST_TRY(enter(lane, stream));
  return take_all(buffers, run, lane.stream.get());
}

// Rows that are gathered are the caller's to post, who therefore waits for them; copies to the
// others wait for nothing but the run's beginning. Who posts others' rows has the own ones too, for
// tiles of which either are part; nobody else waits for these.
tilepost_result_t SharedTransport::gather(const Buffers& buffers, const GroupRun& run,
                                          cudaStream_t stream) {
  Lane& lane = lanes_[run.lane];
  if (run.group == 0) {
    TILEPOST_TRY(fork(lane, copying(), stream));
    lane.own_rows = run;
    return take_all(buffers, run, stream);
  }
  TILEPOST_TRY(take_all(buffers, run, stream));
  return run.group == 1 ? wait_for_tiles(lane.own_rows, stream) : TILEPOST_OK;
}

tilepost_result_t SharedTransport::take_all(const Buffers& buffers, const GroupRun& run,
                                            cudaStream_t stream) {
  for (size_t i = 0; i < run.steps.size(); ++i) TILEPOST_TRY(take(buffers, run, i, stream));
  return TILEPOST_OK;
}

// Whatever is on the lane's streams in this run follows the caller's.
tilepost_result_t SharedTransport::enter(Lane& lane, cudaStream_t stream) {
  TILEPOST_TRY(follow(lane.stream.get(), lane.begun, stream));
  if (lane.used) return TILEPOST_OK;
  lane.used = true;
  if (!adds()) return TILEPOST_OK;
  return follow(lane.adding.get(), lane.ready, lane.stream.get());
}

tilepost_result_t SharedTransport::take(const Buffers& buffers, const GroupRun& run, size_t index,
                                        cudaStream_t stream) {
  const Step& step = run.steps[index];
  Lane& lane = lanes_[run.lane];
  if (!adds() && is_task(step.kind)) return TILEPOST_OK;
  switch (step.kind) {
    case StepKind::own_rows:
      return copy(at(buffers.gathered, step.to * element_bytes(plan_.input)),
                  at(buffers.a, step.from * element_bytes(plan_.input)), bytes_of(step), stream);
    case StepKind::announce:
      if (gathers()) return announce_copies(run, needed_by(run.steps.subspan(index + 1)), stream);
      return announce(Flag::block, run, needed_by(run.steps.subspan(index + 1)), stream);
    case StepKind::announce_sums:
      if (adds()) TILEPOST_TRY(follow(stream, lane.summed, lane.adding));
      return announce(Flag::sums, run, needed_by(run.steps.subspan(index + 1)), stream);
    case StepKind::push_rows:
      return copy_beside(
          lane, step.peer,
          memory_.of(step.peer, memory_.layout().gathered + step.to * element_bytes(plan_.input)),
          at(buffers.a, step.from * element_bytes(plan_.input)), bytes_of(step));
    case StepKind::landed_rows:
      return TILEPOST_OK;
    case StepKind::pull_part:
    case StepKind::pull:
    case StepKind::pull_sums:
      return copy_beside(lane, step.peer, pulled_to(buffers, step), pulled_at(step),
                         bytes_of(step));
    case StepKind::sum:
      return add_up(buffers, step, lane);
    case StepKind::own_part:
      return move(pulled_to(buffers, step), own_part(buffers, step), step.count, lane);
    case StepKind::landed_part:
      return move(pulled_to(buffers, step),
                  memory_.own(memory_.layout().landed + step.from * element_bytes(plan_.output)),
                  step.count, lane);
    case StepKind::all_reduce:
    case StepKind::reduce_scatter:
    case StepKind::send:
    case StepKind::receive:
    case StepKind::all_gather:
    case StepKind::send_rows:
    case StepKind::receive_rows:
    case StepKind::push_sums:
    case StepKind::landed_sums:
      break;
  }
  return fail(TILEPOST_INTERNAL_ERROR, "step %d is a message, or only a kernel's tasks take it",
              static_cast<int>(step.kind));
}

// The announcement covers what precedes it on the stream; streams that pull start behind the wait.
tilepost_result_t SharedTransport::announce(Flag flag, const GroupRun& run, uint64_t sources,
                                            cudaStream_t stream) {
  if (sources == 0) {
    TILEPOST_CUDA(launch_announce(flags_, flag, run.lane, run.group, stream));
    return TILEPOST_OK;
  }
  TILEPOST_CUDA(launch_announce_and_wait(flags_, flag, run.lane, run.group, sources, stream));
  return fork(lanes_[run.lane], sources, stream);
}

// What this rank has copied is said behind the copies, whatever it waits for itself.
tilepost_result_t SharedTransport::announce_copies(const GroupRun& run, uint64_t sources,
                                                   cudaStream_t stream) {
  Lane& lane = lanes_[run.lane];
  lane.used = true;
  TILEPOST_TRY(join(lane, lane.stream.get()));
  TILEPOST_CUDA(launch_announce(flags_, Flag::block, run.lane, run.group, lane.stream.get()));
  if (sources == 0) return TILEPOST_OK;
  TILEPOST_CUDA(launch_wait_announced(flags_, Flag::block, run.lane, run.group, sources, stream));
  return TILEPOST_OK;
}

// The streams of these ranks go on behind `stream`. An AllGather has only one (copying()).
tilepost_result_t SharedTransport::fork(Lane& lane, uint64_t ranks, cudaStream_t stream) {
  TILEPOST_CUDA(cudaEventRecord(lane.fork.get(), stream));
  for (int peer = 0; peer < flags_.ranks; ++peer)
    if ((ranks & bit(peer)) != 0)
      TILEPOST_CUDA(cudaStreamWaitEvent(lane.peers[peer].stream.get(), lane.fork.get(), 0));
  lane.busy |= ranks;
  return TILEPOST_OK;
}

// On the peer's stream, or the only one.
tilepost_result_t SharedTransport::copy_beside(Lane& lane, int peer, void* to, const void* from,
                                               int64_t bytes) {
  const int beside = gathers() ? std::countr_zero(copying()) : peer;
  lane.busy |= bit(beside);
  return copy(to, from, bytes, lane.peers[beside].stream.get());
}

tilepost_result_t SharedTransport::join(Lane& lane, cudaStream_t stream) {
  for (int peer = 0; peer < flags_.ranks; ++peer) {
    if ((lane.busy & bit(peer)) == 0) continue;
    const Peer& from = lane.peers[peer];
    TILEPOST_CUDA(cudaEventRecord(from.copied.get(), from.stream.get()));
    TILEPOST_CUDA(cudaStreamWaitEvent(stream, from.copied.get(), 0));
  }
  lane.busy = 0;
  return TILEPOST_OK;
}

// Behind the pulls, and behind the wait for the tiles that were not pulled.
tilepost_result_t SharedTransport::add_up(const Buffers& buffers, const Step& step, Lane& lane) {
  TILEPOST_TRY(follow(lane.adding.get(), lane.ready, lane.stream.get()));
  TILEPOST_TRY(join(lane, lane.adding.get()));
  const int64_t element = element_bytes(plan_.output);
  SumArguments arguments{};
  find_parts(buffers, step, arguments);
  arguments.out = at(buffers.out, step.to * element);
  if (plan_.pattern == TILEPOST_GEMM_ALL_REDUCE)
    arguments.sums = memory_.own(memory_.layout().sums + step.from_slot * element);
  arguments.count = step.count;
  TILEPOST_CUDA(launch_sum(arguments, plan_.output, lane.adding.get()));
  return TILEPOST_OK;
}

// From memory of this rank to memory of this rank. Not by CUDA, whose copies within a device are
// kernels that take the free SMs until they are through.
tilepost_result_t SharedTransport::move(void* to, const void* from, int64_t count, Lane& lane) {
  TILEPOST_TRY(follow(lane.adding.get(), lane.ready, lane.stream.get()));
  SumArguments arguments{};
  arguments.parts[0] = from;
  arguments.num_parts = 1;
  arguments.out = to;
  arguments.count = count;
  TILEPOST_CUDA(launch_sum(arguments, plan_.output, lane.adding.get()));
  return TILEPOST_OK;
}

// ---- Places

void* SharedTransport::slot(int source, int64_t element) const {
  const SharedLayout& layout = memory_.layout();
  return memory_.own(layout.slots + source * layout.slot_bytes +
                     element * element_bytes(plan_.output));
}

// The ranks on whose streams copies are: all others', but of an AllGather, whose copies follow each
// other, any one's. Four GPUs push 311 GB/s in turn where each has 8 MiB for every other, about 210
// beside a GEMM and side by side (docs/benchmarks.md).
uint64_t SharedTransport::copying() const {
  return gathers() ? bit((flags_.rank + 1) % flags_.ranks) : others();
}

uint64_t SharedTransport::others() const {
  return (~uint64_t{0} >> (64 - flags_.ranks)) & ~bit(flags_.rank);
}

int64_t SharedTransport::bytes_of(const Step& step) const {
  const bool rows = step.kind == StepKind::own_rows || step.kind == StepKind::push_rows;
  return step.count * element_bytes(rows ? plan_.input : plan_.output);
}

const void* SharedTransport::pulled_at(const Step& step) const {
  const SharedLayout& layout = memory_.layout();
  const int64_t region = step.kind == StepKind::pull_sums ? layout.sums : layout.send;
  return memory_.of(step.peer, region + step.from * element_bytes(plan_.output));
}

void* SharedTransport::pulled_to(const Buffers& buffers, const Step& step) const {
  if (step.kind == StepKind::pull_part) return slot(step.peer, step.to);
  return at(buffers.out, step.to * element_bytes(plan_.output));
}

// ---- The rest

tilepost_result_t SharedTransport::exchange(const int64_t* from, int64_t* to, size_t count,
                                            cudaStream_t stream) {
  return messages_->exchange(from, to, count, stream);
}

// Whether this rank has said of its last run that it has ended.
bool SharedTransport::has_ended() const {
  return ended_on_ == nullptr ||
         wait_for_stream(ended_on_, deadline_seconds_, [] { return TILEPOST_OK; }) == TILEPOST_OK;
}

// Who has not ended may still read what is here, or store into it. While other operations use the
// memory, that is for the last of them to wait for: it will not be freed before.
void SharedTransport::close(bool failed) {
  if (!arena_ || (failed && !touched_)) return;
  const double seconds =
      deadline_seconds_ > 0 ? deadline_seconds_ : std::numeric_limits<double>::infinity();
  const bool waits = arena_.use_count() == 1 && !arena_->is_abandoned();
  if (!failed && has_ended() && (!waits || wait_until_all_ended(flags_, seconds))) return;
  arena_->abandon();
}

}  // namespace tilepost::cuda
