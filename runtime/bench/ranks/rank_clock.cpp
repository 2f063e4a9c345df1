#include "runtime/bench/ranks/rank_clock.h"

#include <algorithm>

#include "runtime/bench/gpu/kernels.h"

namespace tilepost::bench {
namespace {

constexpr int64_t kFlushBytes = int64_t{256} << 20;  // more than any L2 has

}  // namespace

RankClocks::RankClocks(int ranks) : us(static_cast<size_t>(ranks)) {
  check_tilepost(cuda::make_pinned_memory(gate_memory, sizeof(uint32_t)), "cudaHostAlloc");
  gate = static_cast<uint32_t*>(gate_memory.get());
}

double RankClocks::slowest() const {
  return *std::max_element(us.begin(), us.end());
}

RankClock::RankClock(RankClocks& clocks, int rank, cudaStream_t stream)
    : clocks_(clocks), rank_(rank), stream_(stream), flush_(allocate(kFlushBytes)) {
  TILEPOST_BENCH_CUDA(cudaEventCreate(begin_.out()));
  TILEPOST_BENCH_CUDA(cudaEventCreate(end_.out()));
}

void RankClock::begin() {
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(flush_.get(), 0, kFlushBytes, stream_));
  TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream_));
  gate(clocks_.gate, ++gates_, stream_);
  TILEPOST_BENCH_CUDA(cudaEventRecord(begin_.get(), stream_));
}

void RankClock::end() {
  TILEPOST_BENCH_CUDA(cudaEventRecord(end_.get(), stream_));
}

void RankClock::open() {
  if (rank_ == 0) __atomic_store_n(clocks_.gate, gates_, __ATOMIC_RELEASE);
}

void RankClock::take(int runs) {
  TILEPOST_BENCH_CUDA(cudaEventSynchronize(end_.get()));
  float milliseconds = 0;
  TILEPOST_BENCH_CUDA(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
  clocks_.us[rank_] = static_cast<double>(milliseconds) * 1000 / runs;
}

}  // namespace tilepost::bench
