// Some threads leave before a wait in which all threads of the block take part.
#include <cooperative_groups/memcpy_async.h>
#include <cuda_bf16.h>

__global__ void waits_for_copy(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                               int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  __shared__ __nv_bfloat16 held[16];
  if (row >= m || column >= n) return;
  cooperative_groups::memcpy_async(cooperative_groups::this_thread_block(), held, a, sizeof held);
  cooperative_groups::wait(cooperative_groups::this_thread_block());
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  c[row * n + column] = __float2bfloat16(sum + __bfloat162float(held[0]) - __bfloat162float(a[0]));
}
