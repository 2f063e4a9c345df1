#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include "tests/gpu/chain/data.h"

namespace chain {
namespace {

constexpr int kThreads = 256, kBlocks = 1024;
constexpr int kBlock = 128;  // columns that have one scale

__device__ uint32_t random_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>((x ^ (x >> 31)) >> 16);
}

// Uniform in (0, 1).
__device__ float uniform(uint64_t seed, int64_t index) {
  const uint64_t state = (seed << 48) + static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15ull;
  return (static_cast<float>(random_bits(state) >> 8) + 0.5f) * 0x1p-24f;
}
__device__ float normal(uint64_t seed, int64_t index) {
  return normcdfinvf(uniform(seed, index));
}

__global__ void fill_elements(uint8_t* elements, int64_t count, uint64_t seed) {
  constexpr float kSize = 80;  // so that the largest of a block are near the end of e4m3
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < count;
       i += int64_t{kBlocks} * kThreads)
    elements[i] = __nv_fp8_e4m3(kSize * normal(seed, i)).__x;
}

__global__ void fill_scales(float* scales, int64_t count, float size, uint64_t seed) {
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < count;
       i += int64_t{kBlocks} * kThreads)
    scales[i] = size * (0.5f + uniform(seed, i));
}

__global__ void fill_half(__nv_bfloat16* elements, int64_t count, float mean, uint64_t seed) {
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < count;
       i += int64_t{kBlocks} * kThreads)
    elements[i] = __nv_bfloat16(mean + normal(seed, i));
}

__device__ double element(const uint8_t* elements, int64_t index) {
  __nv_fp8_e4m3 x;
  x.__x = elements[index];
  return static_cast<float>(x);
}

// The sum of `x` over the block's threads, in thread 0.
__device__ double block_sum(double x) {
  __shared__ double sums[kThreads];
  sums[threadIdx.x] = x;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  return sums[0];
}

// A as e4m3 with scales, or in fp64.
struct Narrow {
  Scaled matrix;
  const int* rows;
  __device__ double at(int64_t i, int64_t k, int64_t columns) const {
    return element(matrix.elements, rows[i] * columns + k) *
           matrix.scales[rows[i] * ((columns + kBlock - 1) / kBlock) + k / kBlock];
  }
};
struct Wide {
  const double* matrix;
  __device__ double at(int64_t i, int64_t k, int64_t columns) const {
    return matrix[i * columns + k];
  }
};

// A block of threads has one element of the product.
template <class A>
__global__ void multiply_rows(A a, Scaled b, int64_t n, int64_t k, bool adds, double* product) {
  const int64_t j = blockIdx.x, i = blockIdx.y;
  double sum = 0;
  for (int64_t at = threadIdx.x; at < k; at += kThreads)
    sum += a.at(i, at, k) * element(b.elements, j * k + at) *
           b.scales[j / kBlock * ((k + kBlock - 1) / kBlock) + at / kBlock];
  sum = block_sum(sum);
  if (threadIdx.x == 0) product[i * n + j] = (adds ? product[i * n + j] : 0) + sum;
}

// A block of threads has one row.
__global__ void norm_rows(double* x, const int* rows, int64_t n, const __nv_bfloat16* residual,
                          const __nv_bfloat16* weight, float epsilon) {
  x += blockIdx.x * n;
  residual += rows[blockIdx.x] * n;
  double squares = 0;
  for (int64_t j = threadIdx.x; j < n; j += kThreads) {
    x[j] += static_cast<float>(residual[j]);
    squares += x[j] * x[j];
  }
  __shared__ double factor;
  squares = block_sum(squares);
  if (threadIdx.x == 0) factor = 1 / sqrt(squares / static_cast<double>(n) + epsilon);
  __syncthreads();
  for (int64_t j = threadIdx.x; j < n; j += kThreads)
    x[j] *= factor * static_cast<float>(weight[j]);
}

__global__ void compare_rows(const __nv_bfloat16* got, const int* rows, int64_t n,
                             const double* wanted, double* squares) {
  double error = 0, size = 0;
  for (int64_t j = threadIdx.x; j < n; j += kThreads) {
    const double want = wanted[blockIdx.x * n + j];
    const double difference = static_cast<float>(got[rows[blockIdx.x] * n + j]) - want;
    error += difference * difference, size += want * want;
  }
  error = block_sum(error);
  __syncthreads();  // before the shared sums are used again
  size = block_sum(size);
  if (threadIdx.x != 0) return;
  atomicAdd(&squares[0], error);
  atomicAdd(&squares[1], size);
}

int64_t blocks_of(int64_t extent) {
  return (extent + kBlock - 1) / kBlock;
}

}  // namespace

void fill(const Scaled& matrix, int64_t rows, int64_t columns, int block_rows, float size,
          uint64_t seed, cudaStream_t stream) {
  const int64_t scales = (rows + block_rows - 1) / block_rows * blocks_of(columns);
  fill_elements<<<kBlocks, kThreads, 0, stream>>>(matrix.elements, rows * columns, seed);
  fill_scales<<<kBlocks, kThreads, 0, stream>>>(matrix.scales, scales, size, seed + 1);
}

void fill_bf16(void* elements, int64_t count, float mean, uint64_t seed, cudaStream_t stream) {
  fill_half<<<kBlocks, kThreads, 0, stream>>>(static_cast<__nv_bfloat16*>(elements), count, mean,
                                              seed);
}

void multiply(const Scaled& a, const int* rows, int num_rows, const Scaled& b, int64_t n, int64_t k,
              bool adds, double* product, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(n), static_cast<unsigned>(num_rows));
  multiply_rows<<<blocks, kThreads, 0, stream>>>(Narrow{a, rows}, b, n, k, adds, product);
}

void multiply(const double* a, int num_rows, const Scaled& b, int64_t n, int64_t k, double* product,
              cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(n), static_cast<unsigned>(num_rows));
  multiply_rows<<<blocks, kThreads, 0, stream>>>(Wide{a}, b, n, k, false, product);
}

void norm(double* x, const int* rows, int num_rows, int64_t n, const void* residual,
          const void* weight, float epsilon, cudaStream_t stream) {
  norm_rows<<<num_rows, kThreads, 0, stream>>>(x, rows, n,
                                               static_cast<const __nv_bfloat16*>(residual),
                                               static_cast<const __nv_bfloat16*>(weight), epsilon);
}

void compare(const void* got, const int* rows, int num_rows, int64_t n, const double* wanted,
             double* squares, cudaStream_t stream) {
  compare_rows<<<num_rows, kThreads, 0, stream>>>(static_cast<const __nv_bfloat16*>(got), rows, n,
                                                  wanted, squares);
}

}  // namespace chain
