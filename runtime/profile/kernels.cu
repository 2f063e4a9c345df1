#include <cuda_runtime.h>

#include <algorithm>

#include "runtime/bench/gpu/checked.h"
#include "runtime/profile/kernels.h"
#include "tilepost/device/ptx.cuh"

namespace tilepost::profile {
namespace {

constexpr int kThreads = 512;
constexpr uint64_t kPatienceNs = 2'000'000'000;

__global__ void clock_kernel(uint64_t* times, uint64_t ns) {
  const uint64_t begin = ptx::global_time_ns();
  const long long cycles = clock64();
  uint64_t now = begin;
  while (now - begin < ns) now = ptx::global_time_ns();
  times[0] = static_cast<uint64_t>(clock64() - cycles);
  times[1] = now - begin;
}

// Each thread has four loads in flight, because memory delivers all it can only if many bytes are
// asked for.
__global__ void __launch_bounds__(kThreads)
    read_kernel(const uint4* from, int64_t count, uint32_t* sink) {
  uint32_t all = 0;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += 4 * step) {
    uint4 parts[4] = {};
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (i + j * step < count) parts[j] = __ldcg(from + i + j * step);
#pragma unroll
    for (const uint4& part : parts) all ^= part.x ^ part.y ^ part.z ^ part.w;
  }
  if (all == 0x7e57da7a) *sink = all;  // keeps the loads; operands never give this number
}

__global__ void __launch_bounds__(kThreads)
    copy_kernel(const uint4* from, uint4* to, int64_t count) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += 4 * step) {
    uint4 parts[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (i + j * step < count) parts[j] = __ldcg(from + i + j * step);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (i + j * step < count) to[i + j * step] = parts[j];
  }
}

// The other GPU's number is stored with st.release.sys and read with ld.acquire.sys, as the
// runtime's flags are (docs/internals/memory-model.md).
__global__ void pass_kernel(uint32_t* own, uint32_t* theirs, uint32_t before, int rounds,
                            bool first) {
  const uint64_t begin = ptx::global_time_ns();
  for (int round = 1; round <= rounds; ++round) {
    const uint32_t number = before + static_cast<uint32_t>(round);
    if (first) ptx::store_release_sys(theirs, number);
    while (ptx::load_acquire_sys(own) != number)
      if (ptx::global_time_ns() - begin > kPatienceNs) return;
    if (!first) ptx::store_release_sys(theirs, number);
  }
}

__global__ void cluster_kernel() {}

int all_ctas() {
  int device = 0, sms = 0;
  TILEPOST_BENCH_CUDA(cudaGetDevice(&device));
  TILEPOST_BENCH_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  return 2 * sms;
}

}  // namespace

void preload_kernels() {
  cudaFuncAttributes attributes;
  for (const void* kernel :
       {reinterpret_cast<const void*>(clock_kernel), reinterpret_cast<const void*>(read_kernel),
        reinterpret_cast<const void*>(copy_kernel), reinterpret_cast<const void*>(pass_kernel)})
    TILEPOST_BENCH_CUDA(cudaFuncGetAttributes(&attributes, kernel));
}

void count_clock(uint64_t* times, uint64_t ns, cudaStream_t stream) {
  clock_kernel<<<1, 1, 0, stream>>>(times, ns);
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void read_all(const void* from, int64_t bytes, uint32_t* sink, cudaStream_t stream) {
  read_kernel<<<all_ctas(), kThreads, 0, stream>>>(static_cast<const uint4*>(from),
                                                   bytes / int64_t{sizeof(uint4)}, sink);
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void copy_by_kernel(const void* from, void* to, int64_t bytes, int ctas, cudaStream_t stream) {
  const int grid = ctas > 0 ? ctas : all_ctas();
  copy_kernel<<<grid, kThreads, 0, stream>>>(
      static_cast<const uint4*>(from), static_cast<uint4*>(to), bytes / int64_t{sizeof(uint4)});
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

void pass_number(uint32_t* own, uint32_t* theirs, uint32_t before, int rounds, bool first,
                 cudaStream_t stream) {
  pass_kernel<<<1, 1, 0, stream>>>(own, theirs, before, rounds, first);
  TILEPOST_BENCH_CUDA(cudaGetLastError());
}

int resident_clusters(int ctas, int shared_bytes) {
  const void* const kernel = reinterpret_cast<const void*>(cluster_kernel);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(ctas);
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(128);
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes) !=
          cudaSuccess ||
      cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return clusters;
}

}  // namespace tilepost::profile
