// Kernels that cannot be proven. Their output is in a structure, and some have other reasons, too.
#include <cuda_bf16.h>

struct Params {
  const __nv_bfloat16 *a, *b;
  __nv_bfloat16* c;
  int n, k;
};

__device__ void store_element(const Params& params) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  params.c[row * params.n + column] = params.a[row * params.k];
}

__global__ void plain(Params params) {
  store_element(params);
}

__global__ void counts(Params params, int* count) {
  store_element(params);
  if (threadIdx.x == 0) atomicAdd(count, 1);
}

__global__ void stores_in_bulk(Params params) {
  store_element(params);
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;" ::"l"(params.c), "r"(0)
               : "memory");
}

__global__ void makes_maps(Params params) {
  asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(params.a),
               "l"(params.c)
               : "memory");
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(params.a),
      "r"(0), "r"(0), "r"(0)
      : "memory");
}

namespace cutlass {

template <int kTile>
__global__ void device_kernel(Params params) {
  store_element(params);
}

}  // namespace cutlass
