#include "runtime/cuda/op/state/run_counters.h"

namespace tilepost::cuda {

tilepost_result_t RunCounters::create(int most_groups, cudaStream_t stream) {
  most_groups_ = most_groups;
  TILEPOST_TRY(make_device_memory(counters_, bytes()));
  TILEPOST_CUDA(cudaMemsetAsync(counters_.get(), 0, bytes(), stream));
  TILEPOST_TRY(make_pinned_memory(watch_memory_, watch_page_bytes(most_groups)));
  return access_.create(most_groups);
}

void RunCounters::leak() {
  counters_.leak();
  watch_memory_.leak();
  access_.leak();
}

}  // namespace tilepost::cuda
