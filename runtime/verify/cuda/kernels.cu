#include "runtime/verify/cuda/kernels.h"

#include "runtime/verify/reference/block_scales.h"

namespace tilepost::verify {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 32;  // the threads along each side of a block of the product

int blocks_for(int64_t count) {
  const int64_t blocks = (count + kThreads - 1) / kThreads;
  if (blocks < 1) return 1;
  return static_cast<int>(blocks < 1 << 20 ? blocks : 1 << 20);
}

__device__ int64_t first_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ int64_t index_step() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

__global__ void fill_operand_kernel(void* data, int64_t count, Distribution distribution,
                                    uint64_t stream_id, NumberFormat format) {
  for (int64_t i = first_index(); i < count; i += index_step()) {
    const uint32_t bits = encode(value_at(distribution, stream_id, i), format);
    store_bits(data, i, bits, format);
  }
}

__global__ void fill_scales_kernel(float* data, int64_t count, Distribution distribution,
                                   uint64_t stream_id) {
  for (int64_t i = first_index(); i < count; i += index_step())
    data[i] = scale_at(distribution, stream_id, i);
}

__global__ void fill_rows_kernel(float* values, const int64_t* rows, int64_t num_rows, int64_t k,
                                 int64_t blocks, Distribution distribution, RowSource source) {
  for (int64_t i = first_index(); i < num_rows * k; i += index_step()) {
    const int64_t row = rows[i / k], there = source.row_there(row);
    values[i] =
        value_at(distribution, source.stream(row), there * k + i % k) *
        block_scale_of_a(distribution, source.stream(row, Matrix::scale_a), there, i % k, blocks);
  }
}

__global__ void fill_columns_kernel(float* values, int64_t n, int64_t k, bool nn, int64_t blocks,
                                    Distribution distribution, uint64_t stream_id,
                                    uint64_t scales) {
  for (int64_t i = first_index(); i < n * k; i += index_step())
    values[i] = value_at(distribution, stream_id, nn ? i % k * n + i / k : i) *
                block_scale_of_b(distribution, scales, i / k, i % k, blocks);
}

__global__ void row_norms_kernel(const float* values, int64_t num_rows, int64_t k, float* norms) {
  for (int64_t i = first_index(); i < num_rows; i += index_step()) {
    double squares = 0;
    for (int64_t j = 0; j < k; ++j) squares += double{values[i * k + j]} * values[i * k + j];
    norms[i] = static_cast<float>(sqrt(squares));
  }
}

// Adds one rank's products. Each thread computes one element. A block reads the rows and columns
// that it needs through shared memory.
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
  add_partial(p.epilogue, p.weights, p.output_rows[row], col, static_cast<double>(sum),
              p.a_norms[row] * p.b_norms[col], p.sum[row * p.cols + col],
              p.bound[row * p.cols + col]);
}

__global__ void finish_sums_kernel(FinishSums s) {
  for (int64_t i = first_index(); i < s.rows * s.cols; i += index_step()) {
    double sum = s.sum[i];
    finish(s.epilogue, s.weights, s.output_rows[i / s.cols], i % s.cols, sum, s.bound[i]);
    s.narrowed[i] = static_cast<float>(sum);
  }
}

__global__ void fill_words_kernel(uint32_t* memory, int64_t words, int which) {
  for (int64_t i = first_index(); i < words; i += index_step()) memory[i] = fill_word(i, which);
}

__global__ void look_kernel(const __grid_constant__ Look look, uint32_t* found) {
  uint32_t all = 0;
  for (int64_t i = first_index(); i < look.words; i += index_step()) all |= look_at_word(look, i);
  for (int64_t i = first_index(); i < look.num_counters; i += index_step())
    all |= look_at_counter(look, i);
  if (all != 0) atomicOr(found, all);
}

}  // namespace

cudaError_t fill_operand(void* data, int64_t count, const Distribution& distribution,
                         uint64_t stream_id, tilepost_dtype_t type, cudaStream_t stream) {
  fill_operand_kernel<<<blocks_for(count), kThreads, 0, stream>>>(data, count, distribution,
                                                                  stream_id, format_of(type));
  return cudaGetLastError();
}

cudaError_t fill_scales(float* data, int64_t count, const Distribution& distribution,
                        uint64_t stream_id, cudaStream_t stream) {
  fill_scales_kernel<<<blocks_for(count), kThreads, 0, stream>>>(data, count, distribution,
                                                                 stream_id);
  return cudaGetLastError();
}

cudaError_t fill_columns(float* values, const Problem& problem, const Distribution& distribution,
                         uint64_t stream_id, uint64_t scales, cudaStream_t stream) {
  fill_columns_kernel<<<blocks_for(problem.n * problem.k), kThreads, 0, stream>>>(
      values, problem.n, problem.k, problem.operands == TILEPOST_NN, problem.blocks(), distribution,
      stream_id, scales);
  return cudaGetLastError();
}

cudaError_t fill_rows(float* values, const int64_t* rows, int64_t num_rows, const Problem& problem,
                      const Distribution& distribution, const RowSource& source,
                      cudaStream_t stream) {
  fill_rows_kernel<<<blocks_for(num_rows * problem.k), kThreads, 0, stream>>>(
      values, rows, num_rows, problem.k, problem.blocks(), distribution, source);
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

cudaError_t finish_sums(const FinishSums& sums, cudaStream_t stream) {
  finish_sums_kernel<<<blocks_for(sums.rows * sums.cols), kThreads, 0, stream>>>(sums);
  return cudaGetLastError();
}

cudaError_t fill_words(uint32_t* memory, int64_t words, int which, cudaStream_t stream) {
  fill_words_kernel<<<blocks_for(words), kThreads, 0, stream>>>(memory, words, which);
  return cudaGetLastError();
}

cudaError_t look_at_all(const Look& look, uint32_t* found, cudaStream_t stream) {
  const int blocks = blocks_for(look.words);
  look_kernel<<<blocks, kThreads, 0, stream>>>(look, found);
  return cudaGetLastError();
}

}  // namespace tilepost::verify
