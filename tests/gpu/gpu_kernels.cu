#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "tests/gpu/gpu_kernels.h"

namespace gpu_test {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1024;
constexpr int kTile = 16;
constexpr float kExact = 256;         // bf16 has 8 significant bits
constexpr double kMaxVariance = 400;  // of an output element, so that 256 is far out in the tail
constexpr uint16_t kPoison = 0xffff;
constexpr int kBlockOfScale = 128;
constexpr float kLargestOfE4m3 = 448;
constexpr long long kGateClocks = 30'000'000'000;

__device__ uint32_t scramble(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return static_cast<uint32_t>(x >> 32);
}

__device__ float value(const float& x) {
  return x;
}
__device__ float value(const __nv_bfloat16& x) {
  return __bfloat162float(x);
}
__device__ float value(const __half& x) {
  return __half2float(x);
}
__device__ float value(const __nv_fp8_e4m3& x) {
  return static_cast<float>(x);
}

template <class T>
__global__ void fill_kernel(T* data, int64_t count, uint32_t threshold, uint64_t key) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint32_t random = scramble(key + static_cast<uint64_t>(i));
    const float sign = random & 1 ? 1.f : -1.f;
    data[i] = static_cast<T>(random >> 1 < threshold ? sign : 0.f);
  }
}

// The method of Box and Muller makes a normal number of two uniform ones.
template <class T>
__global__ void normal_kernel(T* data, int64_t count, uint64_t key) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint64_t place = 2 * static_cast<uint64_t>(i);
    const float u = (static_cast<float>(scramble(key + place)) + 1) * 0x1p-32f;
    const float angle = static_cast<float>(scramble(key + place + 1)) * 0x1p-32f;
    data[i] = static_cast<T>(sqrtf(-2 * logf(u)) * cospif(2 * angle));
  }
}

__global__ void scales_kernel(float* scales, int64_t count, uint64_t key) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    scales[i] = scramble(key + static_cast<uint64_t>(i)) & 1 ? 2.f : 1.f;
}

// The scale of element k of a line of blocks; `blocks` is how many the line has.
__device__ float scale_at(const float* scales, int line, int blocks, int k) {
  return scales == nullptr ? 1.f : scales[int64_t{line} * blocks + k / kBlockOfScale];
}

template <class T>
__global__ void product_kernel(const T* a, const T* b, BlockScales scales, float* sum,
                               Shape shape) {
  __shared__ float a_tile[kTile][kTile + 1], b_tile[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  const int b_row = blockIdx.x * kTile + threadIdx.y;
  const int blocks = (shape.k + kBlockOfScale - 1) / kBlockOfScale;
  float total = 0;
  for (int k0 = 0; k0 < shape.k; k0 += kTile) {
    const int k = k0 + threadIdx.x;
    const bool inside = k < shape.k;
    a_tile[threadIdx.y][threadIdx.x] =
        inside && row < shape.m
            ? value(a[int64_t{row} * shape.k + k]) * scale_at(scales.a, row, blocks, k)
            : 0.f;
    b_tile[threadIdx.y][threadIdx.x] =
        inside && b_row < shape.n ? value(b[int64_t{b_row} * shape.k + k]) *
                                        scale_at(scales.b, b_row / kBlockOfScale, blocks, k)
                                  : 0.f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) total += a_tile[threadIdx.y][i] * b_tile[threadIdx.x][i];
    __syncthreads();
  }
  if (row < shape.m && column < shape.n) sum[int64_t{row} * shape.n + column] += total;
}

__device__ int64_t place_of(const Place& place, int row, int column, int n) {
  if (place.slab_rows > 0)
    return (column / place.tile_n * place.slab_rows + row) * place.tile_n + column % place.tile_n;
  if (place.rows == nullptr) return int64_t{row} * n + column;
  const int columns = (n + place.tile_n - 1) / place.tile_n;
  const int first = place.rows[row / place.tile_m * columns + column / place.tile_n];
  return int64_t{first + row % place.tile_m} * place.tile_n + column % place.tile_n;
}

template <class T, class Expected>
__global__ void compare_kernel(const T* out, Place place, const Expected* expected,
                               const int32_t* listed, Shape shape, unsigned long long* mismatches) {
  const int64_t count = int64_t{shape.m} * shape.n, step = int64_t{gridDim.x} * blockDim.x;
  unsigned long long wrong = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const int row = static_cast<int>(i / shape.n), column = static_cast<int>(i % shape.n);
    const int64_t from = listed == nullptr ? i : int64_t{listed[row]} * shape.n + column;
    const float want = value(expected[from]);
    const float got = value(out[place_of(place, row, column, shape.n)]);
    // Written so that a NaN on either side counts as wrong.
    if (!(got == want) || !(fabsf(want) <= kExact)) ++wrong;
  }
  if (wrong != 0) atomicAdd(mismatches, wrong);
}

// The relative error of rounding to a type: half a unit in the last place.
__device__ float rounding(__nv_bfloat16) {
  return 0x1p-8f;
}
__device__ float rounding(float) {
  return 0x1p-24f;
}
__device__ float rounding(__half) {
  return 0x1p-11f;
}
__device__ float rounding(__nv_fp8_e4m3) {
  return 0x1p-4f;
}

// One block for each row. A thread adds up every kThreads-th square, and one thread adds up these
// sums.
template <class T>
__global__ void normed_kernel(NormedRows rows, const float* expected, const int32_t* listed,
                              Shape shape, unsigned long long* mismatches) {
  __shared__ double squares[kThreads];
  __shared__ float scale;
  const int64_t own = int64_t{blockIdx.x} * shape.n, from = int64_t{listed[blockIdx.x]} * shape.n;
  const T* residual = static_cast<const T*>(rows.residual);
  const auto sum_at = [&](int i) {
    return expected[from + i] + (residual == nullptr ? 0.f : value(residual[own + i]));
  };
  double own_squares = 0;
  for (int i = threadIdx.x; i < shape.n; i += kThreads)
    own_squares += static_cast<double>(sum_at(i)) * sum_at(i);
  squares[threadIdx.x] = own_squares;
  __syncthreads();
  if (threadIdx.x == 0) {
    double total = 0;
    for (const double part : squares) total += part;
    scale = static_cast<float>(1 / sqrt(total / shape.n + rows.epsilon));
  }
  __syncthreads();
  unsigned long long wrong = 0;
  for (int i = threadIdx.x; i < shape.n; i += kThreads) {
    const float x = sum_at(i), want = x * scale * value(static_cast<const T*>(rows.weight)[i]);
    const float got = value(static_cast<const T*>(rows.out)[own + i]);
    constexpr float kSlack = 1.01f;  // the kernel adds squares in float, in its own order
    // Written so that a NaN counts as wrong.
    if (!(fabsf(got - want) <= kSlack * rounding(T{}) * fabsf(want)) || !(fabsf(x) <= kExact))
      ++wrong;
    if (residual != nullptr && !(value(static_cast<const T*>(rows.kept)[own + i]) == x)) ++wrong;
  }
  if (wrong != 0) atomicAdd(mismatches, wrong);
}

// One block of kBlockOfScale threads for each row and block of columns.
__global__ void quantised_kernel(QuantisedRows rows, const float* expected, const int32_t* listed,
                                 Shape shape, unsigned long long* mismatches) {
  __shared__ float magnitudes[kBlockOfScale];
  constexpr float kHalfOfLeast = 0x1p-10f, kSlack = 1.001f;
  const int column = blockIdx.y * kBlockOfScale + threadIdx.x;
  const bool inside = column < shape.n;
  const float x = inside ? expected[int64_t{listed[blockIdx.x]} * shape.n + column] : 0.f;
  magnitudes[threadIdx.x] = fabsf(x);
  __syncthreads();
  float most = 0;
  for (const float magnitude : magnitudes) most = fmaxf(most, magnitude);
  const float wanted = most == 0 ? 1.f : most / kLargestOfE4m3;
  const float scale = rows.scales[int64_t{blockIdx.x} * gridDim.y + blockIdx.y];
  bool wrong = !(scale == wanted) || !(fabsf(x) <= kExact);
  if (inside) {
    const auto* const out = static_cast<const __nv_fp8_e4m3*>(rows.out);
    const float got = value(out[int64_t{blockIdx.x} * shape.n + column]) * scale;
    const float allowed = rounding(__nv_fp8_e4m3{}) * fabsf(x) + kHalfOfLeast * scale;
    wrong |= !(fabsf(got - x) <= kSlack * allowed);
  }
  if (wrong) atomicAdd(mismatches, 1ull);
}

__global__ void bits_kernel(const uint16_t* out, Place place, const uint16_t* expected, Shape shape,
                            Difference* difference) {
  const int64_t count = int64_t{shape.m} * shape.n, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const int row = static_cast<int>(i / shape.n), column = static_cast<int>(i % shape.n);
    const uint16_t want = expected[i], got = out[place_of(place, row, column, shape.n)];
    if (got == want && want != kPoison) continue;
    atomicAdd(&difference->count, 1ull);
    atomicMin(&difference->first, static_cast<unsigned long long>(i));
  }
}

__global__ void gate_kernel(const uint32_t* word, uint32_t wanted) {
  const long long begin = clock64();
  while (static_cast<int32_t>(*static_cast<const volatile uint32_t*>(word) - wanted) < 0 &&
         clock64() - begin < kGateClocks)
    __nanosleep(200);
}

template <class Body>
void with_type(tilepost_dtype_t type, Body body) {
  if (type == TILEPOST_BF16)
    body(__nv_bfloat16{});
  else if (type == TILEPOST_F32)
    body(float{});
  else if (type == TILEPOST_E4M3)
    body(__nv_fp8_e4m3{});
  else
    body(__half{});
}

uint32_t threshold_for(const Shape& shape) {
  const double terms = static_cast<double>(shape.k) * shape.ranks;
  double share = sqrt(kMaxVariance / terms);
  if (share > 0.5) share = 0.5;
  return static_cast<uint32_t>(share * 2147483648.0);
}

uint64_t key_of(uint32_t seed, int rank, int matrix) {
  return (uint64_t{seed} << 32 | static_cast<uint32_t>(rank * 2 + matrix)) * 0x9e3779b97f4a7c15ull;
}

}  // namespace

void fill(void* data, int64_t count, tilepost_dtype_t type, const Shape& shape, uint32_t seed,
          int rank, int matrix, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    fill_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<T*>(data), count,
                                                  threshold_for(shape), key_of(seed, rank, matrix));
  });
}

void fill_normal(void* data, int64_t count, tilepost_dtype_t type, uint32_t seed, int rank,
                 int matrix, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    normal_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<T*>(data), count,
                                                    key_of(seed, rank, matrix));
  });
}

void fill_scales(float* scales, int64_t count, uint32_t seed, int rank, int matrix,
                 cudaStream_t stream) {
  constexpr int kBehindMatrices = 1000;  // ranks whose keys no matrix of elements has
  scales_kernel<<<kBlocks, kThreads, 0, stream>>>(scales, count,
                                                  key_of(seed, kBehindMatrices + rank, matrix));
}

void add_product(const void* a, const void* b, const BlockScales& scales, float* sum,
                 tilepost_dtype_t type, const Shape& shape, cudaStream_t stream) {
  const dim3 block(kTile, kTile);
  const dim3 grid((shape.n + kTile - 1) / kTile, (shape.m + kTile - 1) / kTile);
  with_type(type, [&]<class T>(T) {
    product_kernel<<<grid, block, 0, stream>>>(static_cast<const T*>(a), static_cast<const T*>(b),
                                               scales, sum, shape);
  });
}

void compare(const void* out, const Place& place, const float* expected, tilepost_dtype_t type,
             const Shape& shape, unsigned long long* mismatches, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    compare_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const T*>(out), place, expected,
                                                     nullptr, shape, mismatches);
  });
}

void compare(const void* out, const Place& place, const void* expected, tilepost_dtype_t type,
             const Shape& shape, unsigned long long* mismatches, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    compare_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const T*>(out), place,
                                                     static_cast<const T*>(expected), nullptr,
                                                     shape, mismatches);
  });
}

void compare_listed(const void* out, const Place& place, const float* expected,
                    const int32_t* listed, tilepost_dtype_t type, const Shape& shape,
                    unsigned long long* mismatches, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    compare_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const T*>(out), place, expected,
                                                     listed, shape, mismatches);
  });
}

void compare_normed(const NormedRows& rows, const float* expected, const int32_t* listed,
                    tilepost_dtype_t type, const Shape& shape, unsigned long long* mismatches,
                    cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    normed_kernel<T><<<shape.m, kThreads, 0, stream>>>(rows, expected, listed, shape, mismatches);
  });
}

void compare_quantised(const QuantisedRows& rows, const float* expected, const int32_t* listed,
                       const Shape& shape, unsigned long long* mismatches, cudaStream_t stream) {
  const dim3 grid(shape.m, (shape.n + kBlockOfScale - 1) / kBlockOfScale);
  quantised_kernel<<<grid, kBlockOfScale, 0, stream>>>(rows, expected, listed, shape, mismatches);
}

void compare_bits(const void* out, const Place& place, const void* expected, const Shape& shape,
                  Difference* difference, cudaStream_t stream) {
  bits_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const uint16_t*>(out), place,
                                                static_cast<const uint16_t*>(expected), shape,
                                                difference);
}

void gate(const uint32_t* word, uint32_t value, cudaStream_t stream) {
  gate_kernel<<<1, 1, 0, stream>>>(word, value);
}

void preload() {
  cudaFuncAttributes attributes;
  const auto load = [&](auto* kernel) {
    cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
  };
  load(gate_kernel), load(bits_kernel), load(scales_kernel), load(quantised_kernel);
  for (const tilepost_dtype_t type : {TILEPOST_BF16, TILEPOST_F16, TILEPOST_F32, TILEPOST_E4M3})
    with_type(type, [&]<class T>(T) {
      load(fill_kernel<T>), load(normal_kernel<T>), load(product_kernel<T>);
      load(compare_kernel<T, float>), load(compare_kernel<T, T>), load(normed_kernel<T>);
    });
}

}  // namespace gpu_test
