#include "runtime/cuda/op/run_check.h"

namespace tilepost::cuda {
namespace {

// A number below 1024 for a pointer, from all of its bits: operands lie at multiples of large
// powers of two.
size_t place_of(const void* pointer) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  uint64_t bits = reinterpret_cast<uintptr_t>(pointer) * kGolden;
  bits = (bits ^ bits >> 32) * kGolden;
  return static_cast<size_t>(bits >> (64 - 10));
}

}  // namespace

tilepost_result_t RunCheck::check(const RunOperands& operands, cudaStream_t stream,
                                  cudaStreamCaptureStatus capture) {
  TILEPOST_TRY(operands.check());
  for (const RunOperand& operand : operands.list())
    TILEPOST_TRY(check_pointer(operand.name, operand.pointer));
  return check_stream(stream, capture);
}

// A stream that is being captured must not be queried for its device. A wrong device is reported at
// the launch.
//
// A stream of a green context has only some of the SMs. A GEMM that waits for other ranks would
// hang there, because the work that it waits for would be queued behind it.
tilepost_result_t RunCheck::check_stream(cudaStream_t stream, cudaStreamCaptureStatus capture) {
  if (capture == cudaStreamCaptureStatusInvalidated)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "the stream's capture has been invalidated by an earlier error; end it first");
  if (capture != cudaStreamCaptureStatusNone) return TILEPOST_OK;
  unsigned long long id = 0;
  TILEPOST_CUDA(cudaStreamGetId(stream, &id));
  if (id == checked_stream_) return TILEPOST_OK;
  TILEPOST_TRY(check_new_stream(stream));
  checked_stream_ = id;
  return TILEPOST_OK;
}

tilepost_result_t RunCheck::check_new_stream(cudaStream_t stream) const {
  const CaptureModeGuard relaxed;
  int device = -1;
  TILEPOST_CUDA(cudaStreamGetDevice(stream, &device));
  if (device != device_.ordinal)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "the stream belongs to device %d, the communicator to device %d", device,
                device_.ordinal);
  CUgreenCtx context = nullptr;
  CUdevResource resource{};
  const bool named =
      stream != nullptr && stream != cudaStreamLegacy && stream != cudaStreamPerThread;
  if (!named || driver_.stream_green_context(stream, &context) != CUDA_SUCCESS ||
      context == nullptr ||
      driver_.green_context_resource(context, &resource, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS ||
      static_cast<int>(resource.sm.smCount) >= device_.sms)
    return TILEPOST_OK;
  return fail(
      TILEPOST_INVALID_ARGUMENT,
      "the stream is a green context's and has %u of the %d SMs of device %d; the plan counts "
      "on all of them: pass a stream of the whole device",
      resource.sm.smCount, device_.sms, device_.ordinal);
}

tilepost_result_t RunCheck::check_pointer(const char* name, const void* pointer) {
  const void*& checked = checked_[place_of(pointer)];
  if (checked == pointer) return TILEPOST_OK;
  const CaptureModeGuard relaxed;
  cudaPointerAttributes attributes{};
  TILEPOST_CUDA(cudaPointerGetAttributes(&attributes, pointer));
  const bool managed = attributes.type == cudaMemoryTypeManaged;
  if (attributes.type != cudaMemoryTypeDevice && !managed)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s must be device memory, got host memory at %p", name,
                pointer);
  if (!managed && attributes.device != device_.ordinal)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s must be memory of the communicator's device %d, got memory of device %d", name,
                device_.ordinal, attributes.device);
  checked = pointer;
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
