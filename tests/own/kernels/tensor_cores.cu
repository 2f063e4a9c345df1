// Tensor cores by WMMA. Each of four warps has a quarter of the tile's rows.
#include <cuda_fp16.h>
#include <mma.h>

__global__ void __launch_bounds__(128)
    tensor_cores(const half* a, const half* b, half* c, int n, int k) {
  using namespace nvcuda;
  const int row = blockIdx.y * 64 + threadIdx.y * 16, column = blockIdx.x * 64;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> rows;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> columns;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> sums[4];
  for (auto& sum : sums) wmma::fill_fragment(sum, __float2half(0));
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(rows, a + row * k + i, k);
    for (int j = 0; j < 4; ++j) {
      wmma::load_matrix_sync(columns, b + (column + j * 16) * k + i, k);
      wmma::mma_sync(sums[j], rows, columns, sums[j]);
    }
  }
  for (int j = 0; j < 4; ++j)
    wmma::store_matrix_sync(c + row * n + column + j * 16, sums[j], n, wmma::mem_row_major);
}
