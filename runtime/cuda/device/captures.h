// Finds out whether a capture is still under way in which something was put on a caller's stream.
//
// The caller's stream may be gone, so it cannot be queried. Instead a stream of this object joins
// the capture and returns to the caller's stream at once, with no work on it, which adds nothing to
// the graph. The object's stream is being captured until the capture ends (CUDA C++ Programming
// Guide, Cross-stream Dependencies and Events).
#pragma once

#include <vector>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

class Captures {
 public:
  // Makes the stream and the event for one capture at a time. Called once, on the device of the
  // streams.
  tilepost_result_t create() { return add_witness(); }

  // Joins the capture that `stream` is in. Several captures may be under way.
  tilepost_result_t join(cudaStream_t stream);

  // Sets `open` to whether a capture that was joined is still under way.
  tilepost_result_t find_open(bool& open) const;

 private:
  struct Witness {
    Stream stream;
    Event event;
  };

  tilepost_result_t add_witness();

  std::vector<Witness> witnesses_;
};

}  // namespace tilepost::cuda
