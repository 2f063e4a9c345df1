// A kernel whose launcher puts the inputs into a structure. Its output is column-major, so the
// launcher exchanges a and b, and m and n.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <tilepost/plan.h>

namespace lib {

struct Inputs {
  const __nv_bfloat16 *a, *b;
  float scale;
};

__device__ __forceinline__ float product(const Inputs* inputs, int row, int column, int k) {
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += __bfloat162float(inputs->a[row * k + i]) * __bfloat162float(inputs->b[column * k + i]);
  return sum * inputs->scale;
}

template <int kRows, int kColumns>
__global__ void launched(const __grid_constant__ Inputs inputs, __nv_bfloat16* c, int m, int n,
                         int k) {
  const int rows = (m + kRows - 1) / kRows;
  const int row = blockIdx.x % rows * kRows + threadIdx.x;
  const int column = blockIdx.x / rows * kColumns + threadIdx.y;
  if (row < m && column < n)
    c[column * m + row] = __float2bfloat16(product(&inputs, row, column, k));
}

inline cudaError_t launch(const tilepost_launch_call_t* call, void* user) {
  Inputs inputs = {static_cast<const __nv_bfloat16*>(call->b),
                   static_cast<const __nv_bfloat16*>(call->a), 1};
  if (user != nullptr) inputs.scale = *static_cast<const float*>(user);
  void* out = call->out;
  int m = call->shape.n, n = call->shape.m, k = call->shape.k;
  void* arguments[] = {&inputs, &out, &m, &n, &k, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

}  // namespace lib
