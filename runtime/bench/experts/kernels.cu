#include "runtime/bench/experts/kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "runtime/bench/gpu/checked.h"

namespace tilepost::bench {
namespace {

constexpr int kThreads = 256, kBlocks = 4096;
constexpr int kPacket = 8;  // elements that a thread takes at a time: 16 bytes

template <class T>
struct alignas(16) Packet {
  T values[kPacket];
};

// The operations as plan_enums.h defines them.
__device__ float combined(float gate, float up, int operation) {
  switch (operation) {
    case TILEPOST_SWIGLU:
      return gate / (1 + expf(-gate)) * up;
    case TILEPOST_GEGLU:
      return 0.5f * gate * (1 + erff(gate * 0.70710678f)) * up;
    case TILEPOST_SWIGLU_CLAMPED: {
      const float g = fminf(gate, 7.f), u = fminf(fmaxf(up, -7.f), 7.f);
      return g / (1 + expf(-1.702f * g)) * (u + 1);
    }
    default:
      return gate * up;
  }
}

// Packet `i` of the result, of `in_row` in a row.
template <class T>
__global__ void combine_kernel(const Packet<T>* both, unsigned count, unsigned in_row,
                               int operation, bool alternating, Packet<T>* out) {
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    const unsigned row = i / in_row, column = i - row * in_row;
    const Packet<T>* const of_row = both + size_t{2} * row * in_row;
    const Packet<T> one = of_row[alternating ? 2 * column : column];
    const Packet<T> other = of_row[alternating ? 2 * column + 1 : column + in_row];
    Packet<T> result;
#pragma unroll
    for (int e = 0; e < kPacket; ++e) {
      T gate = one.values[e], up = other.values[e];
      if (alternating) {
        const Packet<T>& pairs = e < kPacket / 2 ? one : other;
        gate = pairs.values[2 * e % kPacket], up = pairs.values[2 * e % kPacket + 1];
      }
      result.values[e] = T(combined(static_cast<float>(gate), static_cast<float>(up), operation));
    }
    out[i] = result;
  }
}

template <class T>
__global__ void apart_kernel(const T* out, const T* expected, int64_t count, float unit,
                             unsigned long long* wrong) {
  const auto bits = [](const T* value) { return *reinterpret_cast<const uint16_t*>(value); };
  unsigned long long found = 0;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    const float got = static_cast<float>(out[i]), want = static_cast<float>(expected[i]);
    const bool near = unit > 0 ? fabsf(got - want) <= 2 * unit * fabsf(want)
                               : bits(out + i) == bits(expected + i);
    found += !near || bits(expected + i) == 0xffff;
  }
  if (found != 0) atomicAdd(wrong, found);
}

constexpr int kAhead = 4;  // rows of a token whose loads are on their way together

// Packet `i` of the sums, of `in_row` in a row.
template <class T>
__global__ void sum_kernel(const Packet<T>* products, TokenRowTable table, unsigned count,
                           unsigned in_row, Packet<T>* out) {
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    const unsigned token = i / in_row, column = i - token * in_row;
    const int64_t first = int64_t{token} * table.top;
    float sum[kPacket] = {};
    for (int entry = 0; entry < table.top; entry += kAhead) {
      Packet<T> packets[kAhead];
      float weights[kAhead];
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        const int row = entry + a < table.top ? table.rows[first + entry + a] : -1;
        weights[a] = row < 0 ? 0 : table.weights[first + entry + a];
        packets[a] = row < 0 ? Packet<T>{} : products[size_t(row) * in_row + column];
      }
#pragma unroll
      for (int a = 0; a < kAhead; ++a)
#pragma unroll
        for (int e = 0; e < kPacket; ++e)
          sum[e] = fmaf(weights[a], static_cast<float>(packets[a].values[e]), sum[e]);
    }
    Packet<T> result;
#pragma unroll
    for (int e = 0; e < kPacket; ++e) result.values[e] = T(sum[e]);
    out[i] = result;
  }
}

// A thread has one element of one row.
template <class T>
__global__ void sampled_kernel(SampledProduct product, const SampledRow* rows, float* sums) {
  const int column = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (column >= product.n) return;
  const SampledRow row = rows[blockIdx.y];
  const T* const a = static_cast<const T*>(product.a) + int64_t{row.row} * product.k;
  const T* const b = static_cast<const T*>(product.b) + int64_t{row.expert} * product.n * product.k;
  float sum = 0;
  for (int64_t k = 0; k < product.k; ++k) {
    const int64_t at = product.nn ? k * product.n + column : int64_t{column} * product.k + k;
    sum += static_cast<float>(a[k]) * static_cast<float>(b[at]);
  }
  atomicAdd(&sums[int64_t{row.sample} * product.n + column], row.weight * sum);
}

template <class T>
__global__ void unlike_kernel(const T* out, const float* sums, const int32_t* tokens, int n,
                              unsigned long long* wrong) {
  const int column = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (column >= n) return;
  const auto sample = static_cast<int64_t>(blockIdx.y);
  const float expected = sums[sample * n + column];
  const auto got = static_cast<float>(out[int64_t{tokens[sample]} * n + column]);
  if (!(got == expected)) atomicAdd(wrong, 1ull);
}

// Calls `body` with a value of the type that these elements have in kernels.
template <class Body>
void with_half(tilepost_dtype_t type, Body body) {
  if (type == TILEPOST_F16)
    body(__half{});
  else
    body(__nv_bfloat16{});
}

}  // namespace

void combine_gate(const GateProducts& products, void* out, cudaStream_t stream) {
  const auto in_row = static_cast<unsigned>(products.n / kPacket);
  const auto count = static_cast<unsigned>(products.rows * in_row);
  if (count == 0) return;
  with_half(products.type, [&]<class T>(T) {
    combine_kernel<<<kBlocks, kThreads, 0, stream>>>(
        static_cast<const Packet<T>*>(products.both), count, in_row, products.operation,
        products.alternating, static_cast<Packet<T>*>(out));
  });
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void sum_rows(const void* products, const TokenRowTable& table, int n, tilepost_dtype_t type,
              void* out, cudaStream_t stream) {
  const auto in_row = static_cast<unsigned>(n / kPacket);
  const auto count = static_cast<unsigned>(table.tokens * in_row);
  with_half(type, [&]<class T>(T) {
    sum_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const Packet<T>*>(products), table,
                                                 count, in_row, static_cast<Packet<T>*>(out));
  });
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void add_sampled(const SampledProduct& product, const SampledRow* rows, int count, float* sums,
                 cudaStream_t stream) {
  if (count == 0) return;
  const dim3 grid((product.n + kThreads - 1) / kThreads, count);
  with_half(product.type, [&]<class T>(T) {
    sampled_kernel<T><<<grid, kThreads, 0, stream>>>(product, rows, sums);
  });
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void count_unlike(const void* out, const float* sums, const int32_t* tokens, int samples, int n,
                  tilepost_dtype_t type, unsigned long long* wrong, cudaStream_t stream) {
  if (samples == 0) return;
  const dim3 grid((n + kThreads - 1) / kThreads, samples);
  with_half(type, [&]<class T>(T) {
    unlike_kernel<<<grid, kThreads, 0, stream>>>(static_cast<const T*>(out), sums, tokens, n,
                                                 wrong);
  });
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void count_apart(const void* out, const void* expected, int64_t count, tilepost_dtype_t type,
                 int operation, unsigned long long* wrong, cudaStream_t stream) {
  const bool exact = operation == 0 || operation == TILEPOST_BILINEAR;
  const float unit = exact ? 0 : type == TILEPOST_F16 ? 0x1p-11f : 0x1p-8f;
  with_half(type, [&]<class T>(T) {
    apart_kernel<<<kBlocks, kThreads, 0, stream>>>(
        static_cast<const T*>(out), static_cast<const T*>(expected), count, unit, wrong);
  });
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

}  // namespace tilepost::bench
