#include "runtime/cuda/shared/number_exchange.h"

#include <cstring>

#include "runtime/cuda/watch/counter_access.h"

namespace tilepost::cuda {

tilepost_result_t ControlChannel::exchange_on_host(std::span<const int64_t> /*own*/,
                                                   std::vector<int64_t>& /*all*/,
                                                   double /*seconds*/) {
  return fail(TILEPOST_INTERNAL_ERROR, "this channel exchanges numbers on the device");
}

tilepost_result_t ControlChannel::exchange(const int64_t* /*from*/, int64_t* /*to*/,
                                           size_t /*count*/, cudaStream_t /*stream*/) {
  return fail(TILEPOST_INTERNAL_ERROR, "this channel exchanges numbers on the host");
}

NumberExchange::~NumberExchange() {
  if (idle_) return;
  numbers_.leak();
  staging_.leak();
}

tilepost_result_t NumberExchange::create(size_t most) {
  const size_t bytes = bytes_of(most, ranks_);
  TILEPOST_TRY(make_stream(stream_, true));
  TILEPOST_TRY(make_device_memory(numbers_, bytes));
  return make_pinned_memory(staging_, bytes);
}

void NumberExchange::add_needs(size_t most, int ranks, tilepost_memory_t& memory) {
  const auto bytes = static_cast<int64_t>(bytes_of(most, ranks));
  memory.device_bytes += bytes;
  memory.pinned_bytes += bytes;
}

void NumberExchange::add_memory(tilepost_memory_t& memory) const {
  memory.device_bytes += numbers_.bytes();
  memory.pinned_bytes += staging_.bytes();
}

// Work on the stream so far, such as zeroing memory that the numbers are about, ends before another
// rank learns of them.
tilepost_result_t NumberExchange::run_on_host(std::span<const int64_t> own,
                                              std::vector<int64_t>& all) {
  idle_ = false;
  tilepost_result_t result =
      wait_for_stream(stream_.get(), seconds_, [this] { return channel_.check_async(); });
  idle_ = result == TILEPOST_OK;
  if (idle_) result = channel_.exchange_on_host(own, all, seconds_);
  if (result != TILEPOST_OK) channel_.abort();
  if (!idle_) idle_ = CounterAccess::drain(stream_.get());
  return result;
}

tilepost_result_t NumberExchange::run(std::span<const int64_t> own, std::vector<int64_t>& all) {
  if (channel_.meets_on_host()) return run_on_host(own, all);
  const size_t count = own.size(), all_count = count * static_cast<size_t>(ranks_);
  auto* staging = static_cast<int64_t*>(staging_.get());
  auto* device = static_cast<int64_t*>(numbers_.get());
  std::memcpy(staging, own.data(), own.size_bytes());
  TILEPOST_CUDA(
      cudaMemcpyAsync(device, staging, own.size_bytes(), cudaMemcpyHostToDevice, stream_.get()));
  TILEPOST_TRY(channel_.exchange(device, device + count, count, stream_.get()));
  idle_ = false;
  const tilepost_result_t result = fetch(count, all_count);
  if (result != TILEPOST_OK) {
    channel_.abort();
    idle_ = CounterAccess::drain(stream_.get());
    return result;
  }
  idle_ = true;
  all.assign(staging + count, staging + count + all_count);
  return TILEPOST_OK;
}

tilepost_result_t NumberExchange::fetch(size_t first, size_t count) {
  TILEPOST_CUDA(cudaMemcpyAsync(static_cast<int64_t*>(staging_.get()) + first,
                                static_cast<int64_t*>(numbers_.get()) + first,
                                count * sizeof(int64_t), cudaMemcpyDeviceToHost, stream_.get()));
  return wait_for_stream(stream_.get(), seconds_, [this] { return channel_.check_async(); });
}

tilepost_result_t explain_absence(tilepost_result_t result, int rank, const char* what,
                                  double seconds) {
  if (result != TILEPOST_TIMEOUT) return result;
  return fail(result,
              "rank %d: tilepost_op_create: the other ranks' %s did not come within %g s: a rank "
              "did not arrive, or failed in this call",
              rank, what, seconds);
}

}  // namespace tilepost::cuda
