// What kernels often have: std::min and its like on sizes, `register`, a copy of threadIdx under
// its own name, and pairs that are assigned from braces.
#include <cuda_fp16.h>

#include <algorithm>

struct Sums {
  float left, right;
};

template <int kRows, int kColumns>
__global__ void everyday(const half* a, const half* b, half* c, int m, int n, int k) {
  const uint3 threadIdx = ::threadIdx;
  const int first_row = blockIdx.y * kRows, first_column = blockIdx.x * kColumns;
  const int rows = std::min(kRows, m - first_row);
  const int columns = std::clamp(n - first_column, 0, kColumns);
  const int& last = std::max(rows, columns);
  register const int y = threadIdx.y, x = 2 * threadIdx.x;
  if (std::max(y, x) >= last || y >= rows || x >= columns) return;
  Sums sums;
  sums = {0, 0};
  for (register int i = 0; i < k; ++i) {
    const float of_a = __half2float(a[(first_row + y) * k + i]);
    sums.left += of_a * __half2float(b[(first_column + x) * k + i]);
    sums.right += of_a * __half2float(b[(first_column + x + 1) * k + i]);
  }
  half2 pair;
  pair = {__float2half(sums.left), __float2half(sums.right)};
  *reinterpret_cast<half2*>(&c[(first_row + y) * n + first_column + x]) = pair;
}
