// Making a transport that shares memory: the words that ranks and kernels count in, and the lanes.
#include <algorithm>

#include "runtime/cuda/jobs.h"
#include "runtime/cuda/shared_transport.h"

namespace tilepost::cuda {

tilepost_result_t SharedTransport::create(CudaComm& comm, const Acquaintance& others) {
  messages_ = &others.messages;
  TILEPOST_TRY(memory_.create(others.messages, comm.rank(), comm.world(), comm.device(),
                              shared_layout(plan_, most_sizes(plan_)), others.deadline_seconds));
  TILEPOST_TRY(make_words());
  TILEPOST_TRY(make_lanes());
  TILEPOST_CUDA(preload_shared_kernels());
  if (adds()) TILEPOST_CUDA(preload_sum(plan_.output));
  return TILEPOST_OK;
}

tilepost_result_t SharedTransport::make_words() {
  words_.rank = memory_.rank();
  words_.ranks = memory_.ranks();
  for (int rank = 0; rank < words_.ranks; ++rank)
    words_.words[rank] = static_cast<uint32_t*>(memory_.of(rank, memory_.layout().words));
  return make_numbers();
}

// This rank's own: the number of the run, what jobs have done and what tiles they wait for.
tilepost_result_t SharedTransport::make_numbers() {
  const auto groups = static_cast<size_t>(plan_.map.num_groups);
  const int counters = shared_counters(plan_);
  const size_t words = TILEPOST_COUNTER_STRIDE * (1 + groups) + static_cast<size_t>(counters);
  const size_t bytes = words * sizeof(uint32_t);
  if (!adds() && waits_for_tiles()) TILEPOST_TRY(access_.create(counters));
  TILEPOST_TRY(make_device_memory(numbers_, bytes));
  Stream stream;
  TILEPOST_TRY(make_stream(stream, true));
  TILEPOST_CUDA(cudaMemsetAsync(numbers_.get(), 0, bytes, stream.get()));
  TILEPOST_CUDA(cudaStreamSynchronize(stream.get()));
  words_.run = static_cast<uint32_t*>(numbers_.get());
  words_.given_up = words_.run + 1;
  uint32_t* const done = words_.run + TILEPOST_COUNTER_STRIDE;
  words_.expected = done + TILEPOST_COUNTER_STRIDE * groups;
  if (!adds() && !completes_out(plan_, true)) words_.done = done;
  return TILEPOST_OK;
}

tilepost_result_t SharedTransport::make_lanes() {
  if (completes_out(plan_, true)) return TILEPOST_OK;
  lanes_.resize(gathers() ? 1 : std::max(1, plan_.comm_lanes));
  for (Lane& lane : lanes_) {
    TILEPOST_TRY(make_stream(lane.stream, true));
    if (adds()) TILEPOST_TRY(make_stream(lane.adding, false));
    for (Event* event : {&lane.begun, &lane.fork, &lane.ready, &lane.summed, &lane.done})
      TILEPOST_TRY(make_event(*event));
    if (!copies()) continue;
    lane.peers.resize(words_.ranks);
    for (int rank = 0; rank < words_.ranks; ++rank) {
      if ((copying() >> rank & 1) == 0) continue;
      TILEPOST_TRY(make_stream(lane.peers[rank].stream, true));
      TILEPOST_TRY(make_event(lane.peers[rank].copied));
    }
  }
  return TILEPOST_OK;
}

// What kernels have stored at its owner's is copied by nobody, but an AllReduce's sums are, unless
// jobs push them.
bool SharedTransport::copies() const {
  return plan_.access == TILEPOST_ACCESS_READ ||
         (plan_.pattern == TILEPOST_GEMM_ALL_REDUCE && plan_.pushes == 0);
}

// Elsewhere the kernel's jobs do, or nothing is added.
bool SharedTransport::adds() const {
  return !has_jobs(plan_, true);
}

void SharedTransport::report_to(Record* record, double deadline_seconds) {
  deadline_seconds_ = deadline_seconds;
  words_.record = record;
  words_.deadline_ns = static_cast<uint64_t>(deadline_seconds * 1e9);
}

}  // namespace tilepost::cuda
