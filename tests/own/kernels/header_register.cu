// A function of a header reads the register that has the block's place.
#include <cuda_bf16.h>
#include <cuda/ptx>

__global__ void header_register(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const int from = cuda::ptx::get_sreg_ctaid_y() * 16 + threadIdx.y;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[from * k + i]) * __bfloat162float(b[column * k + i]);
  c[row * n + column] = __float2bfloat16(sum);
}
