#include "runtime/verify/cuda/kernels.h"

namespace tilepost::verify {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 32;  // threads along each side of a block of the product

int blocks_for(int64_t count) {
  const int64_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < 1 << 20 ? blocks : 1 << 20);
}

__device__ int64_t first_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ int64_t index_step() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

__global__ void fill_operand_kernel(uint16_t* data, int64_t count, Distribution distribution,
                                    uint64_t stream_id, tilepost_dtype_t type) {
  for (int64_t i = first_index(); i < count; i += index_step())
    data[i] = encode(value_at(distribution, stream_id, i), type);
}

__global__ void fill_rows_kernel(float* values, const int64_t* rows, int64_t num_rows, int64_t k,
                                 Distribution distribution, uint64_t stream_id) {
  for (int64_t i = first_index(); i < num_rows * k; i += index_step()) {
    const int64_t row = rows != nullptr ? rows[i / k] : i / k;
    values[i] = value_at(distribution, stream_id, row * k + i % k);
  }
}

__global__ void row_norms_kernel(const float* values, int64_t num_rows, int64_t k, float* norms) {
  for (int64_t i = first_index(); i < num_rows; i += index_step()) {
    double squares = 0;
    for (int64_t j = 0; j < k; ++j) squares += double{values[i * k + j]} * values[i * k + j];
    norms[i] = static_cast<float>(sqrt(squares));
  }
}

// One element per thread; a block shares the rows and columns it needs through shared memory.
template <class Sum>
__global__ void add_products_kernel(RankProducts p) {
  __shared__ float a[kTile][kTile + 1], b[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  const int64_t first_row = static_cast<int64_t>(blockIdx.y) * kTile;
  const int64_t first_col = static_cast<int64_t>(blockIdx.x) * kTile;
  Sum sum = 0;
  for (int64_t k = 0; k < p.k; k += kTile) {
    const bool inside = k + x < p.k;
    a[y][x] = inside && first_row + y < p.rows ? p.a[(first_row + y) * p.k + k + x] : 0.0f;
    b[y][x] = inside && first_col + y < p.cols ? p.b[(first_col + y) * p.k + k + x] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += static_cast<Sum>(a[y][i]) * static_cast<Sum>(b[x][i]);
    __syncthreads();
  }
  const int64_t row = first_row + y, col = first_col + x;
  if (row >= p.rows || col >= p.cols) return;
  p.sum[row * p.cols + col] += static_cast<double>(sum);
  p.bound[row * p.cols + col] += p.weights.partial * fabsf(static_cast<float>(sum)) +
                                 p.weights.product * p.a_norms[row] * p.b_norms[col];
}

__global__ void narrow_kernel(const double* source, float* target, int64_t count) {
  for (int64_t i = first_index(); i < count; i += index_step())
    target[i] = static_cast<float>(source[i]);
}

}  // namespace

cudaError_t fill_operand(uint16_t* data, int64_t count, const Distribution& distribution,
                         uint64_t stream_id, tilepost_dtype_t type, cudaStream_t stream) {
  fill_operand_kernel<<<blocks_for(count), kThreads, 0, stream>>>(data, count, distribution,
                                                                  stream_id, type);
  return cudaGetLastError();
}

cudaError_t fill_rows(float* values, const int64_t* rows, int64_t num_rows, int64_t k,
                      const Distribution& distribution, uint64_t stream_id, cudaStream_t stream) {
  fill_rows_kernel<<<blocks_for(num_rows * k), kThreads, 0, stream>>>(values, rows, num_rows, k,
                                                                      distribution, stream_id);
  return cudaGetLastError();
}

cudaError_t row_norms(const float* values, int64_t num_rows, int64_t k, float* norms,
                      cudaStream_t stream) {
  row_norms_kernel<<<blocks_for(num_rows), kThreads, 0, stream>>>(values, num_rows, k, norms);
  return cudaGetLastError();
}

cudaError_t add_products(const RankProducts& products, bool exact, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((products.cols + kTile - 1) / kTile),
                  static_cast<unsigned>((products.rows + kTile - 1) / kTile));
  const dim3 block(kTile, kTile);
  if (exact)
    add_products_kernel<float><<<grid, block, 0, stream>>>(products);
  else
    add_products_kernel<double><<<grid, block, 0, stream>>>(products);
  return cudaGetLastError();
}

cudaError_t narrow(const double* source, float* target, int64_t count, cudaStream_t stream) {
  narrow_kernel<<<blocks_for(count), kThreads, 0, stream>>>(source, target, count);
  return cudaGetLastError();
}

}  // namespace tilepost::verify
