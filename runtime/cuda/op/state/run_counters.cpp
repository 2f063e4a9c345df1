#include "runtime/cuda/op/state/run_counters.h"

namespace tilepost::cuda {

void RunCounters::add_needs(int most_groups, tilepost_memory_t& memory) {
  memory.device_bytes += static_cast<int64_t>(bytes_of(most_groups));
  memory.pinned_bytes +=
      static_cast<int64_t>(watch_page_bytes(most_groups)) + CounterAccess::bytes_of(most_groups);
}

void RunCounters::add_memory(tilepost_memory_t& memory) const {
  memory.device_bytes += counters_.bytes();
  memory.pinned_bytes += watch_memory_.bytes() + access_.pinned_bytes();
}

tilepost_result_t RunCounters::create(int most_groups, cudaStream_t stream) {
  most_groups_ = most_groups;
  const size_t bytes = bytes_of(most_groups);
  TILEPOST_TRY(make_device_memory(counters_, bytes));
  TILEPOST_CUDA(cudaMemsetAsync(counters_.get(), 0, bytes, stream));
  TILEPOST_TRY(make_pinned_memory(watch_memory_, watch_page_bytes(most_groups)));
  return access_.create(most_groups);
}

void RunCounters::leak() {
  counters_.leak();
  watch_memory_.leak();
  access_.leak();
}

}  // namespace tilepost::cuda
