// What the runtime asks of a GPU, read once; and the driver's entry points that have no counterpart
// in the CUDA runtime. These are looked up by name and version, so that nothing links against
// libcuda and the runtime can be loaded on a machine without a driver.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include <string>

#include "runtime/core/error.h"

namespace tilepost::cuda {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int sm = 0;                // compute capability * 10: 90 for 9.0
  int sms = 0;               // multiprocessors
  int max_shared_bytes = 0;  // of one CTA, after opting in
};

tilepost_result_t read_device(int ordinal, DeviceInfo& info);

struct Driver {
  PFN_cuTensorMapEncodeTiled_v12000 encode_tiled = nullptr;
  // Versions 11.7 of the calls: the earlier ones need a driver option.
  PFN_cuStreamWaitValue32_v11070 wait_value32 = nullptr;
  PFN_cuStreamWriteValue32_v11070 write_value32 = nullptr;
  PFN_cuStreamGetGreenCtx_v12040 stream_green_context = nullptr;
  PFN_cuGreenCtxGetDevResource_v12040 green_context_resource = nullptr;
  PFN_cuPointerGetAttribute_v4000 pointer_attribute = nullptr;
  PFN_cuMemRetainAllocationHandle_v11000 retain_handle = nullptr;
  PFN_cuMemRelease_v10020 release_handle = nullptr;
};

// Looks up all entry points. TILEPOST_UNSUPPORTED names the one that the driver lacks.
tilepost_result_t load_driver(Driver& driver);

}  // namespace tilepost::cuda
