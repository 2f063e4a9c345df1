#include "tests/runtime/fake_libraries.h"

#include <cuda_runtime_api.h>

#include <atomic>

#include "tests/runtime/fakes.h"

namespace {

std::atomic<int> live{0}, unsafe{0};

void note_mode() {
  if (fakes::capture_mode() != cudaStreamCaptureModeRelaxed) ++unsafe;
}

const fakes::Image& image_of(cudaLibrary_t library) {
  return *reinterpret_cast<const fakes::Image*>(library);
}

}  // namespace

int fakes::live_libraries() {
  return live;
}
int fakes::unsafe_calls() {
  return unsafe;
}

extern "C" {

// CUDA copies the image, unless an option says that it is kept.
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                unsigned num_jit, cudaLibraryOption*, void**,
                                unsigned num_options) {
  note_mode();
  const auto* const image = static_cast<const fakes::Image*>(code);
  if (fakes::call("cudaLibraryLoadData")) return cudaErrorUnknown;
  if (num_jit != 0 || num_options != 0) return cudaErrorInvalidValue;
  if (image->magic != fakes::Image::kMagic) return cudaErrorInvalidKernelImage;
  *library = reinterpret_cast<cudaLibrary_t>(new fakes::Image(*image));
  ++live;
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  *count = image_of(library).kernels;
  return fakes::call("cudaLibraryGetKernelCount") ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count,
                                        cudaLibrary_t library) {
  if (fakes::call("cudaLibraryEnumerateKernels")) return cudaErrorUnknown;
  if (count > image_of(library).kernels) return cudaErrorInvalidValue;
  for (unsigned i = 0; i < count; ++i)
    kernels[i] = reinterpret_cast<cudaKernel_t>(reinterpret_cast<char*>(library) + i);
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  note_mode();
  delete reinterpret_cast<fakes::Image*>(library);
  --live;
  return cudaSuccess;
}

}  // extern "C"
