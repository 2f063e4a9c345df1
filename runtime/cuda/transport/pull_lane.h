// The streams of one lane of a transport that shares memory, beside the stream of its caller.
//
// The caller's stream only waits for tiles, group by group. So one small kernel at a time stands
// beside the GEMM, whose clusters need their SMs side by side. Everything else is on the lane's
// streams:
//   caller's stream:  tiles 0   tiles 1  …                                                  rejoin
//   lane's stream:         └ announce, wait for the others   (announce sums, wait)
//   peer p's:                                         └ copies from p
//   adding:                                                        └ sum
// Where ranks read, one stream per peer keeps all links busy. Sums have the lowest priority: their
// many blocks fill whatever SMs are free, and must not keep the small kernels out. Streams fork and
// join by events only, so that a run may be captured. Nothing is made after create().
#pragma once

#include <vector>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

class PullLane {
 public:
  // `peers`: by bit, the ranks that are copied from; 0: none is.
  tilepost_result_t create(int ranks, uint64_t peers);

  // Called when a run begins. Nothing is on these streams then.
  void reset();

  // What is put on the lane's streams from here on follows `stream`, the caller's.
  tilepost_result_t enter(cudaStream_t stream);
  // What comes on `stream`, the caller's, follows all that the run has put on the lane's.
  tilepost_result_t rejoin(cudaStream_t stream);

  cudaStream_t stream() const { return stream_.get(); }
  cudaStream_t adding() const { return adding_.get(); }

  // The streams of these peers go on behind `stream`.
  tilepost_result_t fork(uint64_t peers, cudaStream_t stream);
  // Copies on the peer's stream.
  tilepost_result_t copy_from(int peer, void* to, const void* from, int64_t bytes);
  // What comes on `stream` follows all copies so far.
  tilepost_result_t join(cudaStream_t stream);

  // Adding goes on behind the lane's stream; the lane's stream, or another, behind adding.
  tilepost_result_t begin_adding();
  tilepost_result_t follow_adding(cudaStream_t stream);

 private:
  struct Peer {
    Stream stream;
    Event copied;
  };

  Stream stream_, adding_;
  std::vector<Peer> peers_;  // by rank; empty where nothing is copied
  Event begun_;              // caller's stream → lane's
  Event fork_;               // → the peers'
  Event ready_, summed_;     // → adding, and back
  Event done_;               // → caller's
  bool used_ = false;        // something is on these streams in this run
  uint64_t busy_ = 0;        // ranks whose streams have work that no stream has joined
};

}  // namespace tilepost::cuda
