#include "runtime/cuda/device/device.h"

#include <array>

#include "runtime/cuda/device/check.h"

namespace tilepost::cuda {
namespace {

// The name has the bus id that nvidia-smi lists, whatever number CUDA_VISIBLE_DEVICES gives the
// device.
tilepost_result_t read_name(int ordinal, std::string& name) {
  std::array<char, 32> bus{};
  TILEPOST_CUDA(cudaDeviceGetPCIBusId(bus.data(), bus.size(), ordinal));
  name = "device " + std::to_string(ordinal) + " (" + bus.data() + ")";
  return TILEPOST_OK;
}

template <class Function>
tilepost_result_t look_up(const char* name, unsigned version, Function& function) {
  // Without a driver the call fails and leaves both outputs as they were.
  void* found = nullptr;
  cudaDriverEntryPointQueryResult query = cudaDriverEntryPointSymbolNotFound;
  TILEPOST_CUDA(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &query));
  if (query != cudaDriverEntryPointSuccess || found == nullptr)
    return fail(TILEPOST_UNSUPPORTED, "the CUDA driver has no %s of version %u.%u; update it", name,
                version / 1000, version % 1000 / 10);
  function = reinterpret_cast<Function>(found);
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

tilepost_result_t load_driver(Driver& driver) {
  TILEPOST_TRY(look_up("cuTensorMapEncodeTiled", 12000, driver.encode_tiled));
  TILEPOST_TRY(look_up("cuStreamWaitValue32", 11070, driver.wait_value32));
  TILEPOST_TRY(look_up("cuStreamWriteValue32", 11070, driver.write_value32));
  TILEPOST_TRY(look_up("cuStreamGetGreenCtx", 12040, driver.stream_green_context));
  TILEPOST_TRY(look_up("cuGreenCtxGetDevResource", 12040, driver.green_context_resource));
  TILEPOST_TRY(look_up("cuPointerGetAttribute", 4000, driver.pointer_attribute));
  TILEPOST_TRY(look_up("cuMemRetainAllocationHandle", 11000, driver.retain_handle));
  return look_up("cuMemRelease", 10020, driver.release_handle);
}

}  // namespace tilepost::cuda
