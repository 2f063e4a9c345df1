#include "runtime/cuda/device/driver.h"

#include "runtime/cuda/device/check.h"

namespace tilepost::cuda {
namespace {

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

tilepost_result_t load_driver(Driver& driver) {
  TILEPOST_TRY(look_up("cuTensorMapEncodeTiled", 12000, driver.encode_tiled));
  TILEPOST_TRY(look_up("cuStreamWaitValue32", 11070, driver.wait_value32));
  return look_up("cuStreamWriteValue32", 11070, driver.write_value32);
}

}  // namespace tilepost::cuda
