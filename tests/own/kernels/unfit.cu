// Kernels that are right by themselves and do not fit what messages.sh says in their specs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class A, class B, class Out, class Stored>
__global__ void unfit(const A* a, const B* b, Out* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += (float)a[row * k + i] * (float)b[column * k + i];
  static_cast<Stored*>(static_cast<void*>(c))[row * n + column] = static_cast<Stored>(sum);
}

__device__ void wait_for_tensor_memory() {
  // tcgen05.ld, says a comment.
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}
__global__ void of_sm_100(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                          int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += (float)a[row * k + i] * (float)b[column * k + i];
  wait_for_tensor_memory();
  if (row < m && column < n) c[row * n + column] = __float2bfloat16(sum);
}
__global__ void of_sm_90a(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                          int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  asm volatile("{ setmaxnreg.inc.sync.aligned.u32 128; }");
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += (float)a[row * k + i] * (float)b[column * k + i];
  if (row < m && column < n) c[row * n + column] = __float2bfloat16(sum);
}

// Its parameter hides CUDA's variable.
__device__ int column_of(const dim3& gridDim, int width) {
  return gridDim.x == 0 ? 0 : blockIdx.x * width + threadIdx.x;
}
__device__ int twice(int gridDim) {
  return 2 * gridDim;
}
struct Place {
  int blockIdx;
};

template <int kWhich>
__global__ void hidden(const half* a, const half* b, half* c, int m, int n, int k) {
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if constexpr (kWhich == 0) {
    const dim3 blockIdx = ::blockIdx;
    row = blockIdx.y * 16 + threadIdx.y;
  } else if constexpr (kWhich == 1) {
    column = column_of(gridDim, 16);
  } else if constexpr (kWhich == 2) {
    row = ::blockIdx.y * 16 + threadIdx.y;
  } else if constexpr (kWhich == 3) {
    const Place place = {static_cast<int>(blockIdx.y)};
    row = place.blockIdx * 16 + threadIdx.y + 0 * twice(k);
  } else {
    const uint3 threadIdx = ::threadIdx;
    const int blockDim = 16, warpSize = 32;
    row = blockIdx.y * blockDim + threadIdx.y + 0 * warpSize;
  }
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += (float)a[row * k + i] * (float)b[column * k + i];
  c[row * n + column] = __float2half(sum);
}
