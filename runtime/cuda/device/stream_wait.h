// Waiting on the host for a stream, with a bound.
#pragma once

#include <chrono>
#include <thread>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

// Returns when `stream` has run dry, or TILEPOST_TIMEOUT, without a text, after `seconds` (0:
// never), or the error that `check()` returns, which is asked every so often.
template <class Check>
tilepost_result_t wait_for_stream(cudaStream_t stream, double seconds, Check check) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kPoll{100};
  const CaptureModeGuard relaxed;
  const auto begin = Clock::now();
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaSuccess) return TILEPOST_OK;
    if (state != cudaErrorNotReady) TILEPOST_CUDA(state);
    cudaGetLastError();
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (seconds > 0 && elapsed.count() > seconds) return TILEPOST_TIMEOUT;
    TILEPOST_TRY(check());
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace tilepost::cuda
