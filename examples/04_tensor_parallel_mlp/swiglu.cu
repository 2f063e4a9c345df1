#include "swiglu.h"

#include <cuda_bf16.h>

#include <algorithm>

namespace {

constexpr int kThreads = 256;
constexpr int kWide = 8;  // elements of 16 bytes

struct alignas(16) Chunk {
  __nv_bfloat16 elements[kWide];
};

__global__ void swiglu_kernel(const Chunk* gate_and_up, Chunk* inner, int64_t chunks,
                              int64_t part) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < chunks; i += step) {
    const int64_t row = i / part, column = i % part;
    const Chunk gate = gate_and_up[row * 2 * part + column];
    const Chunk up = gate_and_up[row * 2 * part + part + column];
    Chunk result;
    for (int j = 0; j < kWide; ++j) {
      const float x = __bfloat162float(gate.elements[j]);
      result.elements[j] =
          __float2bfloat16(x / (1 + __expf(-x)) * __bfloat162float(up.elements[j]));
    }
    inner[i] = result;
  }
}

}  // namespace

cudaError_t swiglu(const void* gate_and_up, void* inner, int64_t rows, int64_t part,
                   cudaStream_t stream) {
  if (part % kWide != 0) return cudaErrorInvalidValue;
  const int64_t chunks = rows * part / kWide;
  const auto blocks =
      static_cast<unsigned>(std::min<int64_t>((chunks + kThreads - 1) / kThreads, 4096));
  swiglu_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<const Chunk*>(gate_and_up),
                                                 static_cast<Chunk*>(inner), chunks, part / kWide);
  return cudaGetLastError();
}
