#include "runtime/cuda/watch/counter_access.h"

#include <chrono>
#include <thread>

#include "tilepost/plan.h"

namespace tilepost::cuda {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 1s;
constexpr auto kPoll = 100us;

}  // namespace

int64_t CounterAccess::bytes_of(int num_groups) {
  constexpr auto kLine = static_cast<int64_t>(TILEPOST_COUNTER_STRIDE * sizeof(uint32_t));
  return kLine * num_groups;
}

tilepost_result_t CounterAccess::create(int num_groups) {
  num_groups_ = num_groups;
  TILEPOST_TRY(make_stream(stream_, true));
  return make_pinned_memory(mirror_, static_cast<size_t>(bytes_of(num_groups_)));
}

bool CounterAccess::drain(cudaStream_t stream) {
  const auto end = Clock::now() + kPatience;
  while (cudaStreamQuery(stream) != cudaSuccess) {
    cudaGetLastError();
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

bool CounterAccess::copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (stuck_) return false;
  stuck_ =
      cudaMemcpyAsync(to, from, bytes, kind, stream_.get()) != cudaSuccess || !drain(stream_.get());
  return !stuck_;
}

std::vector<uint32_t> CounterAccess::read(const uint32_t* bank) {
  const std::lock_guard lock(mutex_);
  if (!copy(mirror_.get(), bank, static_cast<size_t>(bytes_of(num_groups_)),
            cudaMemcpyDeviceToHost))
    return {};
  std::vector<uint32_t> values(num_groups_);
  for (int g = 0; g < num_groups_; ++g)
    values[g] = static_cast<const uint32_t*>(mirror_.get())[g * TILEPOST_COUNTER_STRIDE];
  return values;
}

std::vector<uint32_t> CounterAccess::read_lines(const uint32_t* lines) {
  const std::lock_guard lock(mutex_);
  if (!copy(mirror_.get(), lines, static_cast<size_t>(bytes_of(num_groups_)),
            cudaMemcpyDeviceToHost))
    return {};
  const auto* first = static_cast<const uint32_t*>(mirror_.get());
  return {first, first + static_cast<ptrdiff_t>(num_groups_) * TILEPOST_COUNTER_STRIDE};
}

std::vector<uint32_t> CounterAccess::read_words(const uint32_t* words) {
  const std::lock_guard lock(mutex_);
  const size_t bytes = static_cast<size_t>(num_groups_) * sizeof(uint32_t);
  if (!copy(mirror_.get(), words, bytes, cudaMemcpyDeviceToHost)) return {};
  const auto* first = static_cast<const uint32_t*>(mirror_.get());
  return {first, first + num_groups_};
}

void CounterAccess::write(uint32_t* bank, const std::vector<uint32_t>& values) {
  const std::lock_guard lock(mutex_);
  if (stuck_ && !drain(stream_.get())) return;
  stuck_ = false;
  for (int g = 0; g < num_groups_; ++g)
    static_cast<uint32_t*>(mirror_.get())[g * TILEPOST_COUNTER_STRIDE] = values[g];
  copy(bank, mirror_.get(), static_cast<size_t>(bytes_of(num_groups_)), cudaMemcpyHostToDevice);
}

}  // namespace tilepost::cuda
