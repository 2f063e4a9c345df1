#include "runtime/cuda/device/device.h"

#include <array>

#include "runtime/cuda/device/check.h"

namespace tilepost::cuda {
namespace {

// What nvidia-smi lists the device under, whatever CUDA_VISIBLE_DEVICES makes of its number.
tilepost_result_t read_name(int ordinal, std::string& name) {
  std::array<char, 32> bus{};
  TILEPOST_CUDA(cudaDeviceGetPCIBusId(bus.data(), bus.size(), ordinal));
  name = "device " + std::to_string(ordinal) + " (" + bus.data() + ")";
  return TILEPOST_OK;
}

}  // namespace

tilepost_result_t read_device(int ordinal, DeviceInfo& info) {
  int major = 0, minor = 0;
  info.ordinal = ordinal;
  TILEPOST_TRY(read_name(ordinal, info.name));
  TILEPOST_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal));
  TILEPOST_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal));
  TILEPOST_CUDA(cudaDeviceGetAttribute(&info.sms, cudaDevAttrMultiProcessorCount, ordinal));
  TILEPOST_CUDA(cudaDeviceGetAttribute(&info.max_shared_bytes,
                                       cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal));
  info.sm = major * 10 + minor;
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
