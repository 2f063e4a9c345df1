// Whether a capture is still under way in which something was put on a caller's stream.
//
// The caller's stream cannot be asked: it may be gone. So a stream of this joins the capture and
// goes back to the caller's at once, with nothing on it, which adds nothing to the graph. It is
// being captured until the capture ends (CUDA C++ Programming Guide, Cross-stream Dependencies and
// Events).
#pragma once

#include <vector>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

class Captures {
 public:
  // Makes what one capture at a time takes. Once, on the device of the streams.
  tilepost_result_t create() { return add_witness(); }

  // `stream` is being captured. Several captures may be under way.
  tilepost_result_t join(cudaStream_t stream);

  // Whether one is that was joined.
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
