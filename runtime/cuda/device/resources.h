// Owners of resources of CUDA: memory, streams and events. This file also has the device guard and
// a wait of the host for a stream, which is bounded in time.
//
// All owners are move-only and empty by default. Functions that make a resource return a result. If
// releasing a resource fails, nothing can be done about it, so the error is cleared and dropped.
#pragma once

#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

#include "runtime/core/bytes_left.h"
#include "runtime/cuda/device/check.h"

namespace tilepost::cuda {

// Owns one CUDA handle. Traits has Handle and release(Handle).
template <class Traits>
class Owned {
 public:
  using Handle = typename Traits::Handle;

  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != Handle{} && Traits::release(handle_) != cudaSuccess) cudaGetLastError();
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }
  // Where the call that makes the handle stores it.
  Handle* out() { return &handle_; }
  // Gives up the handle without releasing it, for when releasing could hang.
  void leak() { handle_ = Handle{}; }

 private:
  Handle handle_{};
};

struct DeviceMemoryTraits {
  using Handle = void*;
  static cudaError_t release(Handle handle) { return cudaFree(handle); }
};
struct PinnedMemoryTraits {
  using Handle = void*;
  static cudaError_t release(Handle handle) { return cudaFreeHost(handle); }
};
struct StreamTraits {
  using Handle = cudaStream_t;
  static cudaError_t release(Handle handle) { return cudaStreamDestroy(handle); }
};
struct EventTraits {
  using Handle = cudaEvent_t;
  static cudaError_t release(Handle handle) { return cudaEventDestroy(handle); }
};

// Owns memory. It also knows the memory's size in bytes, and counts memory that is left to the
// process.
template <class Traits>
class OwnedMemory : public Owned<Traits> {
 public:
  // Where the call that makes `bytes` bytes of memory stores the pointer.
  void** out(size_t bytes) {
    bytes_ = static_cast<int64_t>(bytes);
    return Owned<Traits>::out();
  }
  // The size of the memory; 0 if there is none.
  int64_t bytes() const { return *this ? bytes_ : 0; }
  void leak() {
    add_bytes_left(bytes());
    Owned<Traits>::leak();
  }

 private:
  int64_t bytes_ = 0;
};

using DeviceMemory = OwnedMemory<DeviceMemoryTraits>;
using PinnedMemory = OwnedMemory<PinnedMemoryTraits>;
using Stream = Owned<StreamTraits>;
using Event = Owned<EventTraits>;

inline tilepost_result_t make_device_memory(DeviceMemory& memory, size_t bytes) {
  TILEPOST_CUDA(cudaMalloc(memory.out(bytes), bytes));
  return TILEPOST_OK;
}

// Makes host memory that is zeroed. The device reads and writes this memory at the same address.
tilepost_result_t make_pinned_memory(PinnedMemory& memory, size_t bytes);

// Makes a stream that does not synchronise with the legacy default stream. It has the highest or
// the lowest priority.
tilepost_result_t make_stream(Stream& stream, bool highest_priority);

inline tilepost_result_t make_event(Event& event) {
  TILEPOST_CUDA(cudaEventCreateWithFlags(event.out(), cudaEventDisableTiming));
  return TILEPOST_OK;
}

// Whether CUDA has been unloaded because the process ends.
inline bool is_unloaded() {
  int device = -1;
  return cudaGetDevice(&device) == cudaErrorCudartUnloading;
}

// Makes `device` current until the end of the scope.
class DeviceGuard {
 public:
  DeviceGuard() = default;
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard() {
    if (previous_ >= 0 && cudaSetDevice(previous_) != cudaSuccess) cudaGetLastError();
  }

  tilepost_result_t enter(int device) {
    int current = -1;
    TILEPOST_CUDA(cudaGetDevice(&current));
    if (current == device) return TILEPOST_OK;
    TILEPOST_CUDA(cudaSetDevice(device));
    previous_ = current;
    return TILEPOST_OK;
  }

 private:
  int previous_ = -1;
};

// Lets this thread make calls (event queries, allocations) that would otherwise invalidate a stream
// capture that this or another thread has under way in global mode.
class CaptureModeGuard {
 public:
  CaptureModeGuard() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  CaptureModeGuard(const CaptureModeGuard&) = delete;
  CaptureModeGuard& operator=(const CaptureModeGuard&) = delete;
  ~CaptureModeGuard() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Waits for `stream`, and calls `check()` every kPoll meanwhile. Returns one of these:
// - TILEPOST_OK when `stream` has no work left
// - TILEPOST_TIMEOUT, without a text, after `seconds` (0: never)
// - the error that `check()` returns
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
