#include "runtime/cuda/op/run.h"

namespace tilepost::cuda {

// With the highest priority a collective's CTAs get a free SM before the CTAs of other work. The
// collective takes no SM from the GEMM, which keeps its SMs until it ends.
int Lanes::num_of(const tilepost_plan_t& plan) {
  const RunPath path = paths_of(plan).planned;
  const bool messages = path.overlaps && !path.shares_memory();
  return messages && !row_of(plan).moves_input() ? std::max(1, plan.comm_lanes) : 1;
}

tilepost_result_t Lanes::create(int num) {
  TILEPOST_TRY(make_stream(comm_, true));
  more_.resize(static_cast<size_t>(num) - 1);
  for (Stream& lane : more_) TILEPOST_TRY(make_stream(lane, true));
  ends_.resize(static_cast<size_t>(kBanks) * num);
  for (Event& end : ends_) TILEPOST_TRY(make_event(end));
  for (Event* event : {&fork_, &captured_fork_, &captured_end_}) TILEPOST_TRY(make_event(*event));
  return TILEPOST_OK;
}

tilepost_result_t Lanes::check_free(cudaStream_t user) const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone, own = cudaStreamCaptureStatusNone;
  unsigned long long capture = 0, own_capture = 0;
  TILEPOST_CUDA(cudaStreamGetCaptureInfo(stream(), &own, &own_capture));
  if (own == cudaStreamCaptureStatusNone) return TILEPOST_OK;
  TILEPOST_CUDA(cudaStreamGetCaptureInfo(user, &status, &capture));
  if (status == cudaStreamCaptureStatusActive && capture == own_capture) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "a run of this operation is being captured on another stream; end that capture "
              "before this run");
}

tilepost_result_t Lanes::fork(const Run& run) const {
  TILEPOST_CUDA(cudaStreamWaitEvent(run.comm, run.fork, 0));
  for (const Stream& lane : more_) TILEPOST_CUDA(cudaStreamWaitEvent(lane.get(), run.fork, 0));
  return TILEPOST_OK;
}

tilepost_result_t Lanes::join(const Run& run) const {
  for (size_t i = 0; i < more_.size(); ++i) {
    const Event& end = ends_[run.bank * num() + i + 1];
    TILEPOST_CUDA(cudaEventRecord(end.get(), more_[i].get()));
    TILEPOST_CUDA(cudaStreamWaitEvent(run.comm, end.get(), 0));
  }
  return TILEPOST_OK;
}

tilepost_result_t Lanes::rejoin(const Run& run) const {
  const Event& end = ends_[run.bank * num()];
  TILEPOST_CUDA(cudaEventRecord(end.get(), run.comm));
  TILEPOST_CUDA(cudaStreamWaitEvent(run.user, end.get(), 0));
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
