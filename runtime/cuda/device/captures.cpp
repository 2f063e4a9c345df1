#include "runtime/cuda/device/captures.h"

namespace tilepost::cuda {
namespace {

// Sets `status`, and `capture` to CUDA's number of the capture that `stream` is in. If `status`
// says that there is no capture, `capture` has no meaning.
tilepost_result_t ask(cudaStream_t stream, cudaStreamCaptureStatus& status,
                      unsigned long long& capture) {
  TILEPOST_CUDA(cudaStreamGetCaptureInfo(stream, &status, &capture));
  return TILEPOST_OK;
}

}  // namespace

tilepost_result_t Captures::add_witness() {
  Witness fresh;
  const CaptureModeGuard relaxed;
  TILEPOST_TRY(make_stream(fresh.stream, false));
  TILEPOST_TRY(make_event(fresh.event));
  witnesses_.push_back(std::move(fresh));
  return TILEPOST_OK;
}

// A stream can be in only one capture.
tilepost_result_t Captures::join(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long capture = 0;
  TILEPOST_TRY(ask(stream, status, capture));
  size_t unused = witnesses_.size();
  for (size_t i = 0; i < witnesses_.size(); ++i) {
    unsigned long long joined = 0;
    TILEPOST_TRY(ask(witnesses_[i].stream.get(), status, joined));
    if (status == cudaStreamCaptureStatusNone)
      unused = i;
    else if (status == cudaStreamCaptureStatusActive && joined == capture)
      return TILEPOST_OK;
  }
  if (unused == witnesses_.size()) TILEPOST_TRY(add_witness());
  const Witness& witness = witnesses_[unused];
  TILEPOST_CUDA(cudaEventRecord(witness.event.get(), stream));
  TILEPOST_CUDA(cudaStreamWaitEvent(witness.stream.get(), witness.event.get(), 0));
  TILEPOST_CUDA(cudaEventRecord(witness.event.get(), witness.stream.get()));
  TILEPOST_CUDA(cudaStreamWaitEvent(stream, witness.event.get(), 0));
  return TILEPOST_OK;
}

tilepost_result_t Captures::find_open(bool& open) const {
  open = false;
  for (const Witness& witness : witnesses_) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    TILEPOST_CUDA(cudaStreamIsCapturing(witness.stream.get(), &status));
    open |= status != cudaStreamCaptureStatusNone;
  }
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
