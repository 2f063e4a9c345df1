#include "runtime/cuda/transport/pull_lane.h"

#include "runtime/cuda/transport/shared_transport.h"
#include "runtime/cuda/watch/stamp.h"

namespace tilepost::cuda {

tilepost_result_t PullLane::create(int ranks, uint64_t peers) {
  TILEPOST_TRY(make_stream(stream_, true));
  TILEPOST_TRY(make_stream(adding_, false));
  for (Event* event : {&begun_, &fork_, &ready_, &summed_, &done_})
    TILEPOST_TRY(make_event(*event));
  if (peers == 0) return TILEPOST_OK;
  peers_.resize(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if ((peers & bit_of(rank)) == 0) continue;
    TILEPOST_TRY(make_stream(peers_[rank].stream, true));
    TILEPOST_TRY(make_event(peers_[rank].copied));
  }
  return TILEPOST_OK;
}

void PullLane::name_streams(const NvtxNames& nvtx, int lane) const {
  nvtx.name_stream(stream_.get(), "announcements", lane);
  nvtx.name_stream(adding_.get(), "sums", lane);
  for (size_t rank = 0; rank < peers_.size(); ++rank)
    if (peers_[rank].stream.get() != nullptr)
      nvtx.name_stream(peers_[rank].stream.get(), "copies from", lane, static_cast<int>(rank));
}

void PullLane::reset() {
  used_ = false;
  busy_ = 0;
}

// Adding follows the caller's stream from the run's first group on, even if that group has no sum.
tilepost_result_t PullLane::enter(cudaStream_t stream) {
  TILEPOST_TRY(follow(stream_.get(), begun_, stream));
  if (used_) return TILEPOST_OK;
  used_ = true;
  return begin_adding();
}

tilepost_result_t PullLane::rejoin(cudaStream_t stream) {
  if (!used_) return TILEPOST_OK;
  TILEPOST_TRY(follow(stream, done_, stream_.get()));
  TILEPOST_TRY(follow_adding(stream));
  return join(stream);
}

tilepost_result_t PullLane::fork(uint64_t peers, cudaStream_t stream) {
  TILEPOST_CUDA(cudaEventRecord(fork_.get(), stream));
  for (size_t rank = 0; rank < peers_.size(); ++rank)
    if ((peers & bit_of(static_cast<int>(rank))) != 0)
      TILEPOST_CUDA(cudaStreamWaitEvent(peers_[rank].stream.get(), fork_.get(), 0));
  busy_ |= peers;
  return TILEPOST_OK;
}

tilepost_result_t PullLane::copy_from(int peer, void* to, const void* from, int64_t bytes) {
  busy_ |= bit_of(peer);
  return copy(to, from, bytes, peers_[peer].stream.get());
}

tilepost_result_t PullLane::join(cudaStream_t stream) {
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    if ((busy_ & bit_of(static_cast<int>(rank))) == 0) continue;
    TILEPOST_TRY(follow(stream, peers_[rank].copied, peers_[rank].stream.get()));
  }
  busy_ = 0;
  return TILEPOST_OK;
}

// Each stream raises the word, and the last one has the last say.
tilepost_result_t PullLane::stamp(uint64_t* word) {
  TILEPOST_CUDA(launch_stamp(word, stream_.get()));
  TILEPOST_CUDA(launch_stamp(word, adding_.get()));
  for (size_t rank = 0; rank < peers_.size(); ++rank)
    if ((busy_ & bit_of(static_cast<int>(rank))) != 0)
      TILEPOST_CUDA(launch_stamp(word, peers_[rank].stream.get()));
  return TILEPOST_OK;
}

tilepost_result_t PullLane::begin_adding() {
  return follow(adding_.get(), ready_, stream_.get());
}

tilepost_result_t PullLane::follow_adding(cudaStream_t stream) {
  return follow(stream, summed_, adding_.get());
}

}  // namespace tilepost::cuda
