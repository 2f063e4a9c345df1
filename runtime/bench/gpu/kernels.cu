#include <cuda_runtime.h>

#include <type_traits>

#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/gpu/kernels.h"
#include "tilepost/device/element.cuh"
#include "tilepost/internal/block_scales.h"
#include "tilepost/internal/kernel_dtype.h"

namespace tilepost::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 2048;
constexpr int kTile = 32;
template <class Bits>
constexpr Bits kPoison = static_cast<Bits>(-1);
constexpr long long kGateClocks = 30'000'000'000;

__device__ int64_t first_index() {
  return int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ int64_t index_step() {
  return int64_t{gridDim.x} * blockDim.x;
}

// The finaliser of MurmurHash3. Every bit of the input affects every bit of the output.
__device__ uint32_t scramble(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return static_cast<uint32_t>(x >> 32);
}

template <class T>
__global__ void integers_kernel(T* data, int64_t count, uint64_t key, int max, float share) {
  for (int64_t i = first_index(); i < count; i += index_step()) {
    const uint32_t choice = scramble(key + 2 * static_cast<uint64_t>(i));
    const uint32_t chance = scramble(key + 2 * static_cast<uint64_t>(i) + 1);
    const int magnitude = 1 + static_cast<int>((choice >> 1) % max);
    const bool zero = static_cast<float>(chance) * 0x1p-32f >= share;
    data[i] = T(zero ? 0.f : static_cast<float>(choice & 1 ? magnitude : -magnitude));
  }
}

// Makes a normal number of two uniform ones (Box and Muller).
template <class T>
__global__ void normal_kernel(T* data, int64_t count, uint64_t key) {
  for (int64_t i = first_index(); i < count; i += index_step()) {
    const uint64_t place = 2 * static_cast<uint64_t>(i);
    const float u = (static_cast<float>(scramble(key + place)) + 1) * 0x1p-32f;
    const float angle = static_cast<float>(scramble(key + place + 1)) * 0x1p-32f;
    data[i] = T(sqrtf(-2 * logf(fminf(u, 1.f))) * cospif(2 * angle));
  }
}

__device__ int64_t place_of(const Place& place, int row, int column, int n) {
  if (place.rows == nullptr) return int64_t{row} * n + column;
  const int columns = (n + place.tile_n - 1) / place.tile_n;
  const int line = place.rows[int64_t{row} * columns + column / place.tile_n];
  return int64_t{line} * place.length + (place.length == n ? column : column % place.tile_n);
}

// Applies the epilogue's operations as plan.h defines them.
template <class Output>
__device__ float finish(const Product& p, float sum, int row, int column) {
  const tilepost_epilogue_t& e = p.epilogue;
  float x = sum;
  if (p.operations & TILEPOST_SCALE) x *= e.scale_a[0] * e.scale_b[0];
  if (p.operations & TILEPOST_SCALE_ROWS) x *= e.scale_a[row];
  if (p.operations & TILEPOST_SCALE_COLUMNS) x *= e.scale_b[column];
  if (p.operations & TILEPOST_BIAS)
    x += static_cast<float>(static_cast<const Output*>(e.bias)[column]);
  if (p.operations & TILEPOST_GELU) x = 0.5f * x * (1 + erff(x * 0.70710678f));
  if (p.operations & TILEPOST_SILU) x = x / (1 + expf(-x));
  if (p.operations & TILEPOST_RESIDUAL)
    x += static_cast<float>(static_cast<const Output*>(e.residual)[int64_t{row} * p.n + column]);
  return x;
}

// Without an activation all numbers are whole, or whole numbers scaled by powers of two, and small
// enough to be exact in fp32. So the result differs from the exact one only by the final rounding.
template <class Output>
__device__ bool is_right(Output got, float want, int operations) {
  if ((operations & kActivations) == 0)
    return static_cast<float>(got) == static_cast<float>(Output(want));
  constexpr float kUnit = std::is_same_v<Output, __nv_bfloat16> ? 0x1p-8f
                          : std::is_same_v<Output, float>       ? 0x1p-24f
                                                                : 0x1p-11f;
  return fabsf(static_cast<float>(got) - want) <= 2 * kUnit * fabsf(want) + 1e-3f;
}

// What an element is multiplied by, given the scales of blocks along k of its rows, or of the
// blocks of its columns. Without scales it is 1.
__device__ float block_scale(const float* scales, int64_t row, int k, int all_k) {
  return scales == nullptr ? 1.f : scales[row * scale_blocks(all_k) + k / TILEPOST_SCALE_BLOCK];
}

// A block computes 32 x 32 elements, and each thread computes one of them. Row y of the block is
// row rows[32 * blockIdx.y + y] of the output.
template <class Input, class Output>
__global__ void wrong_kernel(Product p, const Output* out, Place place, const int32_t* rows,
                             int num_rows, unsigned long long* wrong) {
  __shared__ float a[kTile][kTile + 1], b[kTile][kTile + 1];
  const auto* const a_data = static_cast<const Input*>(p.a);
  const auto* const b_data = static_cast<const Input*>(p.b);
  const int x = threadIdx.x, y = threadIdx.y;
  const int index = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  const int row = index < num_rows ? rows[index] : -1;
  // Neighbouring threads read neighbouring elements of B: along N with NN, otherwise along K.
  const int b_column = blockIdx.x * kTile + (p.nn ? x : y), b_k = p.nn ? y : x;
  float sum = 0;
  for (int k = 0; k < p.k; k += kTile) {
    a[y][x] = row >= 0 && k + x < p.k ? static_cast<float>(a_data[int64_t{row} * p.k + k + x]) *
                                            block_scale(p.blocks.a, row, k + x, p.k)
                                      : 0.f;
    float value = 0;
    if (b_column < p.n && k + b_k < p.k)
      value = static_cast<float>(p.nn ? b_data[int64_t{k + b_k} * p.n + b_column]
                                      : b_data[int64_t{b_column} * p.k + k + b_k]) *
              block_scale(p.blocks.b, b_column / TILEPOST_SCALE_BLOCK, k + b_k, p.k);
    b[p.nn ? x : y][b_k] = value;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a[y][i] * b[x][i];
    __syncthreads();
  }
  if (row < 0 || column >= p.n) return;
  const Output got = out[place_of(place, row, column, p.n)];
  if (!is_right(got, finish<Output>(p, sum, row, column), p.operations)) atomicAdd(wrong, 1ull);
}

template <class Bits>
__global__ void different_kernel(const Bits* out, Place place, const Bits* expected, int64_t count,
                                 int n, unsigned long long* wrong) {
  unsigned long long found = 0;
  for (int64_t i = first_index(); i < count; i += index_step()) {
    const Bits want = expected[i];
    const Bits got = out[place_of(place, static_cast<int>(i / n), static_cast<int>(i % n), n)];
    found += got != want || want == kPoison<Bits>;
  }
  if (found != 0) atomicAdd(wrong, found);
}

template <class Bits>
__global__ void row_major_kernel(const Bits* out, Place place, Bits* rows, int64_t count, int n) {
  for (int64_t i = first_index(); i < count; i += index_step())
    rows[i] = out[place_of(place, static_cast<int>(i / n), static_cast<int>(i % n), n)];
}

// Each block copies one row.
template <class Part>
__global__ void gather_kernel(const Part* from, const int32_t* rows, int parts, Part* to) {
  const Part* const source = from + int64_t{rows[blockIdx.x]} * parts;
  Part* const target = to + int64_t{blockIdx.x} * parts;
  for (int i = threadIdx.x; i < parts; i += blockDim.x) target[i] = source[i];
}

template <class Part>
void launch_gather(const void* from, const int32_t* rows, int count, int64_t row_bytes, void* to,
                   cudaStream_t stream) {
  const auto parts = static_cast<int>(row_bytes / sizeof(Part));
  gather_kernel<<<count, kThreads, 0, stream>>>(static_cast<const Part*>(from), rows, parts,
                                                static_cast<Part*>(to));
}

__global__ void gate_kernel(const uint32_t* word, uint32_t wanted) {
  const long long begin = clock64();
  while (static_cast<int32_t>(*static_cast<const volatile uint32_t*>(word) - wanted) < 0 &&
         clock64() - begin < kGateClocks)
    __nanosleep(200);
}

// Calls `body` with a value of the type that an output's elements have in kernels.
template <class Body>
void with_output(tilepost_dtype_t type, Body body) {
  with_dtype<&DtypeRow::may_be_output>(
      type, [&](auto dtype) { body(DeviceElement<in_kernels(dtype.value)>{}); });
}

template <class Body>
void with_type(tilepost_dtype_t type, Body body) {
  with_dtype<&DtypeRow::is_any>(
      type, [&](auto dtype) { body(DeviceElement<in_kernels(dtype.value)>{}); });
}

uint64_t key_of(uint64_t seed) {
  return seed * 0x9e3779b97f4a7c15ull;
}

}  // namespace

void fill_integers(void* data, int64_t count, tilepost_dtype_t type, uint64_t seed, int max,
                   double share, cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    integers_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<T*>(data), count, key_of(seed),
                                                      max, static_cast<float>(share));
  });
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void fill_normal(void* data, int64_t count, tilepost_dtype_t type, uint64_t seed,
                 cudaStream_t stream) {
  with_type(type, [&]<class T>(T) {
    normal_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<T*>(data), count, key_of(seed));
  });
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void count_wrong(const Product& product, const void* out, const Place& place, const int32_t* rows,
                 int num_rows, unsigned long long* wrong, cudaStream_t stream) {
  const dim3 block(kTile, kTile);
  const dim3 grid((product.n + kTile - 1) / kTile, (num_rows + kTile - 1) / kTile);
  with_type(product.input, [&]<class Input>(Input) {
    with_output(product.output, [&]<class Output>(Output) {
      wrong_kernel<Input, Output><<<grid, block, 0, stream>>>(
          product, static_cast<const Output*>(out), place, rows, num_rows, wrong);
    });
  });
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void count_different(const void* out, tilepost_dtype_t type, const Place& place,
                     const void* expected, int m, int n, unsigned long long* wrong,
                     cudaStream_t stream) {
  const auto count = [&]<class Bits>(Bits) {
    different_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const Bits*>(out), place,
                                                       static_cast<const Bits*>(expected),
                                                       int64_t{m} * n, n, wrong);
  };
  if (row_of(type).is_wide())
    count(uint32_t{});
  else
    count(uint16_t{});
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void make_row_major(const void* out, tilepost_dtype_t type, const Place& place, int m, int n,
                    void* rows, cudaStream_t stream) {
  const auto copy = [&]<class Bits>(Bits) {
    row_major_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const Bits*>(out), place,
                                                       static_cast<Bits*>(rows), int64_t{m} * n, n);
  };
  if (row_of(type).is_wide())
    copy(uint32_t{});
  else
    copy(uint16_t{});
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void gather_rows(const void* from, const int32_t* rows, int count, int64_t row_bytes, void* to,
                 cudaStream_t stream) {
  if (row_bytes % sizeof(uint4) == 0)
    launch_gather<uint4>(from, rows, count, row_bytes, to, stream);
  else if (row_bytes % sizeof(uint16_t) == 0)
    launch_gather<uint16_t>(from, rows, count, row_bytes, to, stream);
  else
    launch_gather<uint8_t>(from, rows, count, row_bytes, to, stream);
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void gate(const uint32_t* word, uint32_t value, cudaStream_t stream) {
  gate_kernel<<<1, 1, 0, stream>>>(word, value);
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void preload_gate() {
  cudaFuncAttributes attributes;
  TILEPOST_BENCH_CUDA(
      cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(gate_kernel)));
}

}  // namespace tilepost::bench
