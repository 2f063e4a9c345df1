// Transport 'host_copies': copy engines carry what ranks exchange through pinned host memory. It
// serves GPUs that do not reach each other's memory. Sums and waits for tiles are all that takes
// SMs.
#include "runtime/cuda/transport/host/host_copies.h"

#include <algorithm>

#include "runtime/cuda/shared/sum.h"
#include "runtime/cuda/transport/shared_transport.h"
#include "runtime/cuda/watch/stamp.h"
#include "runtime/schedule/run_map.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/timeline_words.h"

namespace tilepost::cuda {
namespace {

// Finds the rings of the caller's operation, or makes them. Runs of all its plans follow each
// other, so they share the rings.
tilepost_result_t find_rings(const TransportSetup& setup, ControlChannel& channel) {
  if (setup.host_rings) return TILEPOST_OK;
  const Communicator& comm = setup.comm;
  auto rings = std::make_shared<HostRings>();
  TILEPOST_TRY(
      rings->create({comm.rank(), comm.world(), comm.device(), channel, setup.deadline_seconds},
                    ring_shape_of(setup.plan)));
  setup.host_rings = std::move(rings);
  return TILEPOST_OK;
}

// The elements of a block of parts.
int64_t part_stride_of(const tilepost_plan_t& plan) {
  return host_part_stride(plan, most_sizes(plan).send);
}

int64_t parts_bytes_of(const tilepost_plan_t& plan) {
  return (plan.ranks - 1) * part_stride_of(plan) * element_bytes(plan.output);
}

}  // namespace

RingShape ring_shape_of(const tilepost_plan_t& plan) {
  RingShape shape = HostRings::usual_shape();
  shape.channels = host_channels(row_of(plan));
  return shape;
}

// A rank alone has nothing to carry.
tilepost_result_t make_host_copies(const TransportSetup& setup, Transports& transports) {
  if (setup.plan.ranks == 1) return make_nccl(setup, transports);
  TILEPOST_TRY(find_rings(setup, *transports.channels.front()));
  transports.rings = setup.host_rings;
  auto made = std::make_unique<HostCopies>(transports.rings, setup.plan);
  TILEPOST_TRY(made->create());
  transports.overlapping = std::move(made);
  return rows_vary(setup.plan) ? make_none(setup, transports) : TILEPOST_OK;
}

tilepost_result_t HostCopies::create() {
  TILEPOST_TRY(load_driver(driver_));
  channels_.resize(static_cast<size_t>(rings_->shape().channels));
  for (Channel& channel : channels_) {
    TILEPOST_TRY(make_stream(channel.sending, true));
    TILEPOST_TRY(make_stream(channel.receiving, true));
    TILEPOST_TRY(make_event(channel.sent));
    TILEPOST_TRY(make_event(channel.received));
    channel.to.resize(static_cast<size_t>(rings_->ranks()));
    channel.from.resize(static_cast<size_t>(rings_->ranks()));
  }
  TILEPOST_TRY(make_stream(adding_, false));
  for (Event* event : {&begun_, &fork_, &summed_}) TILEPOST_TRY(make_event(*event));
  TILEPOST_CUDA(preload_sum(plan_.output));
  part_stride_ = part_stride_of(plan_);
  const int64_t bytes = parts_bytes_of(plan_);
  return bytes > 0 ? make_device_memory(parts_, static_cast<size_t>(bytes)) : TILEPOST_OK;
}

void HostCopies::add_needs(const tilepost_plan_t& plan, tilepost_memory_t& memory) {
  memory.device_bytes += parts_bytes_of(plan);
}

void HostCopies::name_streams(const NvtxNames& nvtx) const {
  for (size_t number = 0; number < channels_.size(); ++number) {
    const auto lane = static_cast<int>(number);
    nvtx.name_stream(channels_[number].sending.get(), "copies to the host", lane);
    nvtx.name_stream(channels_[number].receiving.get(), "copies from the host", lane);
  }
  nvtx.name_stream(adding_.get(), "sums");
}

void HostCopies::close(bool /*failed*/, bool stuck) {
  if (!stuck) return;
  parts_.leak();
  rings_->leak();
}

tilepost_result_t HostCopies::communicate(const Buffers& buffers, const GroupRun& run,
                                          cudaStream_t stream) {
  if (rings_->is_aborted())
    return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one");
  TILEPOST_TRY(collect(buffers, run, stream));
  if (run.group == 0) {
    entered_ = adds_ = false;
    TILEPOST_CUDA(cudaEventRecord(begun_.get(), stream));
    if (moves_rows() && !has_work()) return TILEPOST_OK;
  }
  TILEPOST_TRY(enter(run.group));
  TILEPOST_TRY(follow_tiles(stream));
  if (run.stamps != nullptr)
    TILEPOST_CUDA(launch_stamp(run.stamps + kStepsBegin, channels_.front().sending.get()));
  TILEPOST_TRY(move_own());
  TILEPOST_TRY(pass(0, run.group));
  TILEPOST_TRY(add_up());
  if (channels_.size() > 1) TILEPOST_TRY(pass(1, run.group));
  if (run.stamps != nullptr) TILEPOST_TRY(stamp_end(run.stamps + kStepsEnd));
  return joins_groups() ? join(stream) : TILEPOST_OK;
}

tilepost_result_t HostCopies::rejoin(cudaStream_t stream) {
  return joins_groups() || !entered_ ? TILEPOST_OK : join(stream);
}

// ---- What the steps of a group are as messages

tilepost_result_t HostCopies::collect(const Buffers& buffers, const GroupRun& run,
                                      cudaStream_t stream) {
  for (Channel& channel : channels_)
    for (std::vector<Traffic>* traffic : {&channel.to, &channel.from})
      for (Traffic& peer : *traffic) {
        peer.messages.clear();
        peer.next = 0;
        peer.done = 0;
        peer.is_noted = false;
        if (run.group == 0) peer.chunk = 0;
      }
  sums_.clear();
  own_moves_.clear();
  const int64_t out = element_bytes(plan_.output), in = element_bytes(plan_.input);
  Channel& parts = channels_.front();
  const auto place = [](const void* base, int64_t element, int64_t width) {
    return static_cast<char*>(at(base, element * width));
  };
  // The rows of a rank for itself are sent and received by one move.
  const char* own_from = nullptr;
  const auto send = [&](int peer, char* memory, int64_t bytes) {
    if (peer == rings_->rank())
      own_from = memory;
    else
      add_message(parts.to, peer, memory, bytes);
  };
  const auto receive = [&](int peer, char* memory, int64_t bytes) {
    if (peer == rings_->rank())
      own_moves_.push_back({const_cast<char*>(own_from), memory, bytes});
    else
      add_message(parts.from, peer, memory, bytes);
  };
  for (const Step& step : run.steps) switch (step.kind) {
      case StepKind::own_rows:
        TILEPOST_TRY(copy(place(buffers.gathered, step.to, in), place(buffers.a, step.from, in),
                          step.count * in, stream));
        break;
      case StepKind::all_reduce:
        reduce(buffers, step, run.group);
        break;
      case StepKind::reduce_scatter:
        scatter(buffers, step);
        break;
      case StepKind::all_gather:
        gather(buffers, step);
        break;
      case StepKind::send:
        send(step.peer, place(buffers.send, step.from, out), step.count * out);
        break;
      case StepKind::receive:
        receive(step.peer, place(buffers.out, step.to, out), step.count * out);
        break;
      case StepKind::send_own_rows:
        send(step.peer, place(buffers.a, step.from, in), step.count * in);
        break;
      case StepKind::send_rows:
        send(step.peer, place(buffers.gathered, step.from, in), step.count * in);
        break;
      case StepKind::receive_rows:
        receive(step.peer, place(buffers.gathered, step.to, in), step.count * in);
        break;
      default:
        return fail(TILEPOST_INTERNAL_ERROR, "step %d is not a message",
                    static_cast<int>(step.kind));
    }
  return TILEPOST_OK;
}

void HostCopies::add_message(std::vector<Traffic>& traffic, int peer, char* memory, int64_t bytes) {
  if (bytes > 0) traffic[static_cast<size_t>(peer)].messages.push_back({memory, bytes});
}

void HostCopies::gather(const Buffers& buffers, const Step& step) {
  const int64_t width = element_bytes(plan_.input), bytes = step.count * width;
  auto* const rows = static_cast<char*>(buffers.gathered);
  for (int peer = 0; peer < rings_->ranks(); ++peer) {
    if (peer == rings_->rank()) continue;
    add_message(channels_[0].to, peer, rows + step.from * width, bytes);
    add_message(channels_[0].from, peer, rows + step.to * width + peer * bytes, bytes);
  }
}

// Every rank gets a part of the same size, of which it keeps `keep` elements.
void HostCopies::scatter(const Buffers& buffers, const Step& step) {
  const int64_t width = element_bytes(plan_.output), bytes = step.count * width;
  char* const parts = static_cast<char*>(buffers.send) + step.from * width;
  for (int peer = 0; peer < rings_->ranks(); ++peer) {
    if (peer == rings_->rank()) continue;
    add_message(channels_[0].to, peer, parts + peer * bytes, bytes);
    add_message(channels_[0].from, peer, part(peer, step.to), bytes);
  }
  if (step.keep > 0)
    sums_.push_back({parts + rings_->rank() * bytes, step.to,
                     static_cast<char*>(buffers.out) + step.to * width, step.keep});
}

// The block of a group is divided into a part for each rank, which sums it for all ranks. The parts
// of a group lie behind those of the groups before (host_part_stride).
void HostCopies::reduce(const Buffers& buffers, const Step& step, int group) {
  const int ranks = rings_->ranks();
  const int64_t width = element_bytes(plan_.output);
  const HostParts parts = host_parts(ranks, group, step.from, step.count);
  const int64_t slot = parts.slot;
  const auto first = [&](int rank) { return std::min(step.count, rank * parts.each); };
  const auto count = [&](int rank) { return first(rank + 1) - first(rank); };
  char* const from = static_cast<char*>(buffers.send) + step.from * width;
  char* const to = static_cast<char*>(buffers.reduced) + step.to * width;
  const int own = rings_->rank();
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == own) continue;
    add_message(channels_[0].to, peer, from + first(peer) * width, count(peer) * width);
    add_message(channels_[0].from, peer, part(peer, slot), count(own) * width);
    add_message(channels_[1].to, peer, to + first(own) * width, count(own) * width);
    add_message(channels_[1].from, peer, to + first(peer) * width, count(peer) * width);
  }
  if (count(own) > 0)
    sums_.push_back({from + first(own) * width, slot, to + first(own) * width, count(own)});
}

char* HostCopies::part(int source, int64_t element) const {
  const int64_t block = source < rings_->rank() ? source : source - 1;
  return static_cast<char*>(parts_.get()) +
         (block * part_stride_ + element) * element_bytes(plan_.output);
}

bool HostCopies::has_work() const {
  const auto has_messages = [](const Traffic& peer) { return !peer.messages.empty(); };
  const Channel& first = channels_.front();
  return !own_moves_.empty() || std::ranges::any_of(first.to, has_messages) ||
         std::ranges::any_of(first.from, has_messages);
}

// ---- Streams

// Lets the streams follow the run's beginning, and notes that no group has passed yet. A receiving
// stream needs no tiles of this rank: what it writes, no kernel of this run has written.
tilepost_result_t HostCopies::enter(int group) {
  if (entered_) return TILEPOST_OK;
  entered_ = true;
  for (size_t number = 0; number < channels_.size(); ++number) {
    const Channel& channel = channels_[number];
    for (const Stream* stream : {&channel.sending, &channel.receiving})
      TILEPOST_CUDA(cudaStreamWaitEvent(stream->get(), begun_.get(), 0));
    for (int peer = 0; peer < rings_->ranks(); ++peer) {
      if (peer == rings_->rank()) continue;
      const auto first = static_cast<uint32_t>(group);
      const auto lane = static_cast<int>(number);
      TILEPOST_TRY(write(channel.sending.get(), rings_->sent(lane, peer), first));
      TILEPOST_TRY(write(channel.receiving.get(), rings_->received(lane, peer), first));
    }
  }
  return TILEPOST_OK;
}

// Rows of A are there when the run begins. Tiles have to be computed first.
tilepost_result_t HostCopies::follow_tiles(cudaStream_t stream) {
  if (!moves_rows()) TILEPOST_CUDA(cudaEventRecord(fork_.get(), stream));
  const Event& ready = moves_rows() ? begun_ : fork_;
  if (!moves_rows())
    TILEPOST_CUDA(cudaStreamWaitEvent(channels_.front().sending.get(), ready.get(), 0));
  if (own_moves_.empty() && sums_.empty()) return TILEPOST_OK;
  adds_ = true;
  TILEPOST_CUDA(cudaStreamWaitEvent(adding_.get(), ready.get(), 0));
  return TILEPOST_OK;
}

// Rows for this rank itself. CUDA's copies within a device are not used for rows of the product,
// because they are kernels that take the free SMs until they end.
tilepost_result_t HostCopies::move_own() {
  for (const OwnMove& move : own_moves_) {
    if (moves_rows()) {
      TILEPOST_TRY(copy(move.to, move.from, move.bytes, adding_.get()));
      continue;
    }
    SumArguments arguments{};
    arguments.parts[0] = move.from;
    arguments.num_parts = 1;
    arguments.out = move.to;
    arguments.count = move.bytes / element_bytes(plan_.output);
    TILEPOST_CUDA(launch_sum(arguments, plan_.output, adding_.get()));
  }
  return TILEPOST_OK;
}

tilepost_result_t HostCopies::pass(int number, int group) {
  const int rank = rings_->rank(), ranks = rings_->ranks();
  for (bool more = true; more;) {
    more = false;
    for (int distance = 1; distance < ranks; ++distance) {
      TILEPOST_TRY(send_chunk(number, (rank + distance) % ranks, group, more));
      TILEPOST_TRY(take_chunk(number, (rank + ranks - distance) % ranks, group, more));
    }
  }
  return TILEPOST_OK;
}

int64_t HostCopies::bytes_of_next(const Message& message, int64_t done) const {
  return std::min(host_chunk_bytes(message.bytes, rings_->shape().chunk_bytes),
                  message.bytes - done);
}

// Sends the next chunk to a rank, if any is left; `more` is set if another one follows.
tilepost_result_t HostCopies::send_chunk(int number, int peer, int group, bool& more) {
  const cudaStream_t stream = channels_[number].sending.get();
  Traffic& left = channels_[number].to[peer];
  if (left.next < left.messages.size()) {
    const Message& message = left.messages[left.next];
    const int64_t bytes = bytes_of_next(message, left.done);
    const HostRings::Chunk chunk = rings_->chunk(rings_->rank(), peer, number, left.chunk++);
    TILEPOST_TRY(wait(stream, chunk.word, HostRings::kEmpty, CU_STREAM_WAIT_VALUE_AND));
    TILEPOST_CUDA(cudaMemcpyAsync(chunk.data, message.memory + left.done,
                                  static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream));
    TILEPOST_TRY(write(stream, chunk.word, HostRings::kFull));
    left.done += bytes;
    if (left.done == message.bytes) ++left.next, left.done = 0;
  }
  if (left.next < left.messages.size())
    more = true;
  else if (!std::exchange(left.is_noted, true))
    return write(stream, rings_->sent(number, peer), static_cast<uint32_t>(group) + 1);
  return TILEPOST_OK;
}

// Takes the next chunk of a rank, as send_chunk() sends one.
tilepost_result_t HostCopies::take_chunk(int number, int peer, int group, bool& more) {
  const cudaStream_t stream = channels_[number].receiving.get();
  Traffic& left = channels_[number].from[peer];
  if (left.next < left.messages.size()) {
    const Message& message = left.messages[left.next];
    const int64_t bytes = bytes_of_next(message, left.done);
    const HostRings::Chunk chunk = rings_->chunk(peer, rings_->rank(), number, left.chunk++);
    TILEPOST_TRY(wait(stream, chunk.word, HostRings::kFull, CU_STREAM_WAIT_VALUE_AND));
    TILEPOST_CUDA(cudaMemcpyAsync(message.memory + left.done, chunk.data,
                                  static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream));
    TILEPOST_TRY(write(stream, chunk.word, HostRings::kEmpty));
    left.done += bytes;
    if (left.done == message.bytes) ++left.next, left.done = 0;
  }
  if (left.next < left.messages.size())
    more = true;
  else if (!std::exchange(left.is_noted, true))
    return write(stream, rings_->received(number, peer), static_cast<uint32_t>(group) + 1);
  return TILEPOST_OK;
}

// Adds up the parts that have arrived, in the order of ranks. Where the sums go on to other ranks,
// they may arrive in memory from which this rank has sent parts.
tilepost_result_t HostCopies::add_up() {
  if (row_of(plan_).sums) {
    Channel& parts = channels_.front();
    TILEPOST_TRY(follow(adding_.get(), parts.received, parts.receiving.get()));
    for (const Sum& sum : sums_) {
      SumArguments arguments{};
      arguments.num_parts = rings_->ranks();
      for (int rank = 0; rank < rings_->ranks(); ++rank)
        arguments.parts[rank] = rank == rings_->rank() ? sum.own : part(rank, sum.slot);
      arguments.out = sum.out;
      arguments.count = sum.count;
      TILEPOST_CUDA(launch_sum(arguments, plan_.output, adding_.get()));
    }
  }
  if (channels_.size() == 1) return TILEPOST_OK;
  TILEPOST_TRY(follow(channels_[1].sending.get(), summed_, adding_.get()));
  return follow(channels_[1].receiving.get(), channels_[0].sent, channels_[0].sending.get());
}

// The latest of these times is the group's.
tilepost_result_t HostCopies::stamp_end(uint64_t* word) {
  for (const Channel& channel : channels_) {
    TILEPOST_CUDA(launch_stamp(word, channel.sending.get()));
    TILEPOST_CUDA(launch_stamp(word, channel.receiving.get()));
  }
  if (!sums_.empty() || !own_moves_.empty()) TILEPOST_CUDA(launch_stamp(word, adding_.get()));
  return TILEPOST_OK;
}

// The last thing is the wait that a rank which has failed does not let pass.
tilepost_result_t HostCopies::join(cudaStream_t stream) {
  for (const Channel& channel : channels_) {
    TILEPOST_TRY(follow(stream, channel.sent, channel.sending.get()));
    TILEPOST_TRY(follow(stream, channel.received, channel.receiving.get()));
  }
  if (adds_) TILEPOST_TRY(follow(stream, summed_, adding_.get()));
  return wait(stream, rings_->end_word(), 0, CU_STREAM_WAIT_VALUE_EQ);
}

tilepost_result_t HostCopies::wait(cudaStream_t stream, const uint32_t* word, uint32_t value,
                                   unsigned how) const {
  TILEPOST_DRIVER(driver_.wait_value32(stream, reinterpret_cast<CUdeviceptr>(word), value, how));
  return TILEPOST_OK;
}

tilepost_result_t HostCopies::write(cudaStream_t stream, uint32_t* word, uint32_t value) const {
  TILEPOST_DRIVER(driver_.write_value32(stream, reinterpret_cast<CUdeviceptr>(word), value,
                                        CU_STREAM_WRITE_VALUE_DEFAULT));
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
