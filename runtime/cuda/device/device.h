// The properties of a GPU that the runtime needs, read once, and the driver's entry points that
// have no counterpart in the CUDA runtime. Entry points are looked up by name and version. So
// nothing links against libcuda, and the runtime can be loaded on a machine without a driver.
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
  int max_shared_bytes = 0;  // shared memory of one CTA, after opting in
};

tilepost_result_t read_device(int ordinal, DeviceInfo& info);

struct Driver {
  PFN_cuTensorMapEncodeTiled_v12000 encode_tiled = nullptr;
  // Version 11.7 of these calls, because earlier versions need a driver option.
  PFN_cuStreamWaitValue32_v11070 wait_value32 = nullptr;
  PFN_cuStreamWriteValue32_v11070 write_value32 = nullptr;
  PFN_cuStreamGetGreenCtx_v12040 stream_green_context = nullptr;
  PFN_cuGreenCtxGetDevResource_v12040 green_context_resource = nullptr;
  PFN_cuPointerGetAttribute_v4000 pointer_attribute = nullptr;
  PFN_cuMemRetainAllocationHandle_v11000 retain_handle = nullptr;
  PFN_cuMemRelease_v10020 release_handle = nullptr;
};

// Looks up all entry points. TILEPOST_UNSUPPORTED: the driver lacks the one that the error names.
tilepost_result_t load_driver(Driver& driver);

}  // namespace tilepost::cuda
