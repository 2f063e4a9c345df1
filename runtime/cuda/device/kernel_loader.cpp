// Loads kernels that were compiled apart from this program (tilepost/program.h).
//
// CUDA Runtime API, "Library Management": such a kernel belongs to no device. Every call that takes
// a kernel's address takes its cudaKernel_t too, since CUDA 12.8 those that ask for attributes and
// occupancy as well. CUDA copies the image.
#include "runtime/cuda/device/check.h"
#include "runtime/cuda/device/resources.h"
#include "tilepost/program.h"

namespace {

using tilepost::fail;

// Libraries are loaded and unloaded whenever the caller likes, in Python also when garbage is
// collected. A capture that is under way meanwhile has to remain valid.
using tilepost::cuda::CaptureModeGuard;

// The only kernel of the library.
tilepost_result_t find_kernel(cudaLibrary_t library, const char* name, cudaKernel_t& kernel) {
  unsigned count = 0;
  TILEPOST_CUDA(cudaLibraryGetKernelCount(&count, library));
  if (count != 1)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "'%s' has %u kernels, expected one; write the catalogue again", name, count);
  TILEPOST_CUDA(cudaLibraryEnumerateKernels(&kernel, 1, library));
  return TILEPOST_OK;
}

tilepost_result_t load_kernel(const void* image, size_t /*bytes*/, const char* name,
                              const void** function, void** module) {
  const CaptureModeGuard relaxed;
  cudaLibrary_t library = nullptr;
  TILEPOST_CUDA(cudaLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
  cudaKernel_t kernel = nullptr;
  const tilepost_result_t result = find_kernel(library, name, kernel);
  if (result != TILEPOST_OK) {
    cudaLibraryUnload(library);
    return result;
  }
  *function = reinterpret_cast<const void*>(kernel);
  *module = library;
  return TILEPOST_OK;
}

// An error cannot be reported here, and must not surface in the caller's next call.
void unload_kernel(void* module) {
  const CaptureModeGuard relaxed;
  if (cudaLibraryUnload(static_cast<cudaLibrary_t>(module)) != cudaSuccess) cudaGetLastError();
}

constexpr tilepost_kernel_loader_t kLoader = {sizeof(tilepost_kernel_loader_t), load_kernel,
                                              unload_kernel};

}  // namespace

extern "C" const tilepost_kernel_loader_t* tilepost_cuda_kernel_loader(void) {
  return &kLoader;
}
