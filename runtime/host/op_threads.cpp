// What the threads of an operation do.
#include "runtime/host/collective.h"
#include "runtime/host/op.h"

namespace tilepost {

// Waits until it is run `run`'s turn. False: the operation ends.
bool HostOp::next_request(uint64_t run, Request& request) {
  std::unique_lock lock(stream_.mutex);
  const auto its_turn = [&] {
    return posted_ >= run && queue_[run % queue_.size()].ticket == stream_.completed;
  };
  stream_.changed.wait(lock, [&] { return stop_ || group_->aborted() || its_turn(); });
  if (stop_ || group_->aborted()) return false;
  request = queue_[run % queue_.size()];
  return true;
}

void HostOp::work(int worker) {
  const auto& map = plan_.map;
  const auto n = static_cast<int32_t>(map.n), k = static_cast<int32_t>(plan_.k);
  const int32_t ldc = map.layout == TILEPOST_PANEL ? n : map.tile_n;
  const int32_t ldb = plan_.operands == TILEPOST_NN ? n : k;
  const tilepost_shape_t shape{static_cast<int32_t>(map.m), n, k, k, ldb, ldc};
  const tilepost_view_t view{map_.tiles.data(), map_.positions.data(), counters_.data(),
                             static_cast<int32_t>(map_.tiles.size()), tiles_n(map)};
  Request request;
  for (uint64_t run = 1; next_request(run, request); ++run) {
    plan_.kernel.host_function(request.a, request.b, send_buffer(request.out), shape,
                               request.epilogue, worker, num_workers_, view);
    const std::lock_guard lock(stream_.mutex);
    if (++returned_ % num_workers_ == 0) stream_.changed.notify_all();
  }
}

void HostOp::communicate() {
  Request request;
  for (uint64_t run = 1; next_request(run, request); ++run) {
    for (const Step& step : steps_)
      if (!communicate_step(step, run, request.out)) return;
    if (!wait_workers(run)) return;
    const std::lock_guard lock(stream_.mutex);
    finished_ = run;
    ++stream_.completed;
    stream_.changed.notify_all();
  }
}

// Waits for the step's groups, reduces their block and, where asked, makes it row-major. False: the
// communicator was aborted.
bool HostOp::communicate_step(const Step& step, uint64_t run, void* out) {
  const HostStep place{name_, operation_, plan_.map_hash, run, step.first_group, step.end_group};
  for (int g = step.first_group; g < step.end_group; ++g)
    if (!wait_group(place, g, run)) return false;
  void* const send = send_buffer(out);
  if (plan_.pattern != TILEPOST_GEMM && plan_.ranks > 1) {
    if (!group_->begin_collective(rank_, place, send, deadline_seconds_)) return false;
    reduce_share(plan_.output, group_->buffers(), plan_.ranks, rank_, step.offset, step.count);
    if (!group_->end_collective(rank_, place, deadline_seconds_)) return false;
  }
  if (!staging_.empty())
    for (int g = step.first_group; g < step.end_group; ++g)
      unpermute_group(plan_.map, map_, map_.groups[g], send, out);
  return true;
}

// Counters are never reset: run r of an operation starts at (r - 1) * target, modulo 2^32.
bool HostOp::wait_group(const HostStep& place, int group, uint64_t run) {
  const uint32_t target = map_.groups[group].target;
  const HostSignal signal{counters_.data() + size_t{TILEPOST_COUNTER_STRIDE} * group,
                          static_cast<uint32_t>(run - 1) * target, target, group};
  return group_->wait_signal(rank_, place, signal, deadline_seconds_);
}

// A run is complete when its workers have returned too: only then may the caller free A and B.
bool HostOp::wait_workers(uint64_t run) {
  const Deadline deadline(deadline_seconds_);
  {
    std::unique_lock lock(stream_.mutex);
    const auto returned = [&] { return returned_ == run * num_workers_; };
    const bool in_time =
        deadline.wait(stream_.changed, lock, [&] { return returned() || group_->aborted(); });
    if (in_time) return returned();
  }
  group_->abort(TILEPOST_TIMEOUT,
                "rank " + std::to_string(rank_) + ", run " + std::to_string(run) + " of '" + name_ +
                    "': a worker did not return from the kernel within " + deadline.text());
  return false;
}

}  // namespace tilepost
