// One rank's GPU, as the checks use it.
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/verify/run/world.h"

namespace tilepost::verify {

// Throws TargetError with CUDA's text unless `error` is cudaSuccess.
void check_cuda(cudaError_t error, const char* call);

class CudaDevice final : public RankDevice {
 public:
  explicit CudaDevice(int device) : device_(device) {}
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  void enter() override;
  CUstream_st* stream() override { return stream_; }
  void* allocate(size_t bytes) override;
  void release(void* memory) override;
  void fill_bytes(void* memory, int byte, size_t bytes) override;
  void copy_to_host(void* target, const void* source, size_t bytes) override;
  void copy_to_device(void* target, const void* source, size_t bytes) override;
  void fill_operand(void* data, int64_t count, const Distribution& distribution, uint64_t stream,
                    tilepost_dtype_t type) override;
  void fill_scales(float* data, int64_t count, const Distribution& distribution,
                   uint64_t stream) override;
  void reference(const ReferenceJob& job) override;

 private:
  const int device_;
  cudaStream_t stream_ = nullptr;  // the first enter() makes it
};

}  // namespace tilepost::verify
