// The streams of one lane of a transport that shares memory, beside the stream of its caller.
//
// The caller's stream only waits for tiles, group by group. So one small kernel at a time stands
// beside the GEMM, whose clusters need their SMs side by side. All other work is on the lane's
// streams:
//   caller's stream:  tiles 0   tiles 1  …                                                  rejoin
//   lane's stream:         └ announce, wait for the others   (announce sums, wait)
//   peer p's:                                         └ copies from p
//   adding:                                                        └ sum
// Where ranks read, one stream for each peer keeps all links busy. Sums have the lowest priority,
// because their many blocks fill all free SMs and must not keep the small kernels out. Streams fork
// and join by events only, so that a run may be captured. After create() no stream or event is
// made.
#pragma once

#include <vector>

#include "runtime/cuda/device/resources.h"
#include "runtime/cuda/watch/nvtx.h"

namespace tilepost::cuda {

class PullLane {
 public:
  // `peers`: a bit for each rank that is copied from; 0 if there is none.
  tilepost_result_t create(int ranks, uint64_t peers);

  // Names the streams, those of lane number `lane`.
  void name_streams(const NvtxNames& nvtx, int lane) const;

  // Called when a run begins. Nothing is on these streams then.
  void reset();

  // Lets later work on the lane's streams follow `stream`, the caller's.
  tilepost_result_t enter(cudaStream_t stream);
  // Lets later work on `stream`, the caller's, follow all work of the run on the lane's streams.
  tilepost_result_t rejoin(cudaStream_t stream);

  cudaStream_t stream() const { return stream_.get(); }
  cudaStream_t adding() const { return adding_.get(); }

  // Lets the streams of `peers` continue behind `stream`.
  tilepost_result_t fork(uint64_t peers, cudaStream_t stream);
  // Copies on the peer's stream.
  tilepost_result_t copy_from(int peer, void* to, const void* from, int64_t bytes);
  // Lets later work on `stream` follow all copies so far.
  tilepost_result_t join(cudaStream_t stream);

  // Notes in `word` when all that is on the lane's streams so far has ended.
  tilepost_result_t stamp(uint64_t* word);

  // Adding goes on behind the lane's stream; the lane's stream, or another, behind adding.
  tilepost_result_t begin_adding();
  tilepost_result_t follow_adding(cudaStream_t stream);

 private:
  struct Peer {
    Stream stream;
    Event copied;
  };

  Stream stream_, adding_;
  std::vector<Peer> peers_;  // by rank; empty if there are no copies
  Event begun_;              // caller's stream → lane's
  Event fork_;               // → the peers'
  Event ready_, summed_;     // → adding, and back
  Event done_;               // → caller's
  bool used_ = false;        // whether these streams have work of this run
  uint64_t busy_ = 0;        // a bit for each rank whose stream has work that no stream has joined
};

}  // namespace tilepost::cuda
