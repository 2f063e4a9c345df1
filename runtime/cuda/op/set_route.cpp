// Setting the route of the runs that follow.
#include <algorithm>
#include <cstring>

#include "runtime/cuda/op/op.h"

namespace tilepost::cuda {

tilepost_result_t CudaOp::route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) {
  TILEPOST_TRY(check_usable());
  RouteInputs inputs{};
  TILEPOST_TRY(check_route(*plan_, route, inputs));
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  const CaptureModeGuard relaxed;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  TILEPOST_CUDA(cudaStreamIsCapturing(comm_stream_.get(), &capture));
  if (capture != cudaStreamCaptureStatusNone)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "a run of this operation is being captured; end the capture before a new route");
  TILEPOST_TRY(synchronize());
  // From here on the old route's tables are being replaced.
  rows_routed_ = -1;
  TILEPOST_TRY(set_route(inputs));
  rows_routed_ = inputs.rows;
  if (arrivals != nullptr) *arrivals = arrivals_.view();
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::set_route(const RouteInputs& given) {
  RouteInputs inputs = given;
  std::vector<int64_t> all;
  if (plan_->any_m != 0) {
    TILEPOST_TRY(exchange(std::span(&given.rows, 1), all));
    inputs.most = *std::max_element(all.begin(), all.end());
  }
  auto run = begin_route(*plan_, state_.rank, inputs);
  TILEPOST_TRY(exchange(run->own_counts, all));
  finish_route(*plan_, state_.rank, all, *run);
  if (run->sizes.receive > sizes_.receive) {
    received_ = {};
    device_bytes_ -= sizes_.receive * int64_t{sizeof(uint16_t)};
    sizes_.receive = 0;
    TILEPOST_TRY(add_buffer(received_, run->sizes.receive * int64_t{sizeof(uint16_t)}));
    sizes_.receive = run->sizes.receive;
    TILEPOST_TRY(finish_in_time("tilepost_op_route: memory was not there"));
  }
  arrivals_ = Arrivals(*run, state_.rank, inputs);
  return maps_.set_route(std::move(run));
}

// On the communication stream, which is idle, with the host waiting: routes are rare beside runs.
tilepost_result_t CudaOp::exchange(std::span<const int64_t> own, std::vector<int64_t>& all) {
  const size_t count = own.size(), all_count = count * plan_->ranks;
  auto* staging = static_cast<int64_t*>(exchange_staging_.get());
  auto* device = static_cast<int64_t*>(exchanged_.get());
  cudaStream_t stream = comm_stream_.get();
  std::memcpy(staging, own.data(), own.size_bytes());
  TILEPOST_CUDA(cudaMemcpyAsync(device, staging, own.size_bytes(), cudaMemcpyHostToDevice, stream));
  TILEPOST_TRY(state_.transports.exchange(device, device + count, count, stream));
  TILEPOST_CUDA(cudaMemcpyAsync(staging + count, device + count, all_count * sizeof(int64_t),
                                cudaMemcpyDeviceToHost, stream));
  TILEPOST_TRY(finish_in_time(std::string("tilepost_op_route of '") + program_.name +
                              "': the ranks' numbers of rows were not all there"));
  all.assign(staging + count, staging + count + all_count);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
