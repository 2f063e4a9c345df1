#include "runtime/cuda/op/routes.h"

#include <algorithm>
#include <cstring>

namespace tilepost::cuda {

namespace {

// The bytes of the numbers that ranks exchange.
size_t bytes_of_numbers(const tilepost_plan_t& plan) {
  if (!is_routed(plan)) return 0;
  return (1 + size_t(plan.ranks)) * std::max(1, plan.map.num_groups) * plan.ranks * sizeof(int64_t);
}

}  // namespace

void Routes::add_needs(const tilepost_plan_t& plan, tilepost_memory_t& memory) {
  const auto bytes = static_cast<int64_t>(bytes_of_numbers(plan));
  memory.device_bytes += bytes;
  memory.pinned_bytes += bytes;
}

void Routes::add_memory(tilepost_memory_t& memory) const {
  memory.device_bytes += numbers_.bytes();
  memory.pinned_bytes += staging_.bytes();
}

tilepost_result_t Routes::create() {
  const size_t bytes = bytes_of_numbers(plan_);
  if (bytes == 0) return TILEPOST_OK;
  TILEPOST_TRY(make_device_memory(numbers_, bytes));
  TILEPOST_CUDA(cudaMemsetAsync(numbers_.get(), 0, bytes, lanes_.stream()));
  return make_pinned_memory(staging_, bytes);
}

tilepost_result_t Routes::warm_up() const {
  if (transports_.channels.front()->meets_on_host()) return TILEPOST_OK;
  auto* numbers = static_cast<int64_t*>(numbers_.get());
  return transports_.exchange(numbers, numbers + 1, 1, lanes_.stream());
}

// From here on there is no route, because the old route's tables are being replaced.
tilepost_result_t Routes::set(const RouteInputs& inputs) {
  rows_ = -1;
  TILEPOST_TRY(agree(inputs));
  rows_ = inputs.rows;
  return TILEPOST_OK;
}

tilepost_result_t Routes::agree(const RouteInputs& given) {
  RouteInputs inputs = given;
  std::vector<int64_t> all;
  if (plan_.any_m != 0 && !row_of(plan_).input_is_routed()) {
    TILEPOST_TRY(exchange(std::span(&given.rows, 1), all));
    inputs.most = *std::max_element(all.begin(), all.end());
  }
  auto run = begin_route(plan_, state_.traits.rank, inputs);
  TILEPOST_TRY(exchange(run->own_counts, all));
  TILEPOST_TRY(check_received(plan_, all));
  finish_route(plan_, state_.traits.rank, all, *run);
  bool grown = false;
  TILEPOST_TRY(buffers_.grow_received(run->sizes.receive, lanes_.stream(), grown));
  if (grown)
    TILEPOST_TRY(state_.finish_in_time(lanes_.stream(), "tilepost_op_route: memory was not there"));
  arrivals_ = Arrivals(*run, state_.traits.rank, inputs);
  return maps_.set_route(std::move(run));
}

// Uses the communication stream, which is idle. The host waits for it, because routes are set far
// less often than runs are made.
tilepost_result_t Routes::exchange(std::span<const int64_t> own, std::vector<int64_t>& all) {
  const std::string what = std::string("tilepost_op_route of '") + program_ +
                           "': the ranks' numbers of rows were not all there";
  ControlChannel& channel = *transports_.channels.front();
  if (channel.meets_on_host())
    return state_.judge_wait(channel.exchange_on_host(own, all, state_.traits.deadline_seconds),
                             what);
  const size_t count = own.size(), all_count = count * plan_.ranks;
  auto* staging = static_cast<int64_t*>(staging_.get());
  auto* device = static_cast<int64_t*>(numbers_.get());
  cudaStream_t stream = lanes_.stream();
  std::memcpy(staging, own.data(), own.size_bytes());
  TILEPOST_CUDA(cudaMemcpyAsync(device, staging, own.size_bytes(), cudaMemcpyHostToDevice, stream));
  TILEPOST_TRY(transports_.exchange(device, device + count, count, stream));
  TILEPOST_CUDA(cudaMemcpyAsync(staging + count, device + count, all_count * sizeof(int64_t),
                                cudaMemcpyDeviceToHost, stream));
  TILEPOST_TRY(state_.finish_in_time(stream, what));
  all.assign(staging + count, staging + count + all_count);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
