// A kernel with numbers made of whole ones, in a file whose host code is cuBLAS's.
#include <cublas_v2.h>
#include <cuda_fp16.h>

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw status;
}

template <typename T>
__global__ void beside_host_code(const T* a, const T* b, T* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  T sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[column * k + i];
  c[row * n + column] = sum;
}
