// The driver's entry points that have no counterpart in the CUDA runtime, looked up by name and
// version, so that nothing links against libcuda and a machine without a driver can load us.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include "runtime/core/error.h"

namespace tilepost::cuda {

struct Driver {
  PFN_cuTensorMapEncodeTiled_v12000 encode_tiled = nullptr;
  // Versions 11.7 of the calls: the earlier ones need a driver option.
  PFN_cuStreamWaitValue32_v11070 wait_value32 = nullptr;
  PFN_cuStreamWriteValue32_v11070 write_value32 = nullptr;
};

// Looks all up. TILEPOST_UNSUPPORTED names the entry point that the driver lacks.
tilepost_result_t load_driver(Driver& driver);

}  // namespace tilepost::cuda
