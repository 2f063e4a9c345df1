// The CUDA templates as they stand, un-woven: right on ragged shapes, and how fast beside cuBLAS.
//
// Build:
//   nvcc -O3 -std=c++20 -I include -I . -gencode $ARCH tests/gpu/plain_gemm.cu -o plain_gemm
//   -lcublas
// ARCH is arch=compute_90a,code=sm_90a, which runs both templates (not -arch=sm_90a: that makes
// code for compute_90 too, which has no wgmma). Elsewhere only gemm_sm80:
// arch=compute_80,code=sm_80, say, with -DTILEPOST_TEST_SM90=0. Run: ./plain_gemm [check|time]…;
// both without an argument. Every launch has a deadline. Exit code: 0 right, 1 wrong, 77 no GPU of
// the kind it was built for.
#include <cublas_v2.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/gpu/plain_kernels.cuh"

using plain::Kernel, plain::Launch, plain::Operands;

namespace {

constexpr int kDeadlineSeconds = 60;

#define CUBLAS(call) plain::check((call) == CUBLAS_STATUS_SUCCESS, #call, "cuBLAS")

// ---- Data and reference

__device__ uint32_t mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return static_cast<uint32_t>(x ^ (x >> 33));
}

template <class T>
__device__ T make(float value);
template <>
__device__ __nv_bfloat16 make(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ __half make(float value) {
  return __float2half_rn(value);
}
__device__ float widen(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ float widen(__half value) {
  return __half2float(value);
}

// Integers from -4 to 4, whose products sum exactly in fp32, or uniform numbers in [-1, 1).
template <class T>
__global__ void fill(T* p, size_t count, uint64_t seed, bool integers) {
  for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < count; i += gridDim.x * size_t{256}) {
    const uint32_t h = mix(i * 2 + seed * 0x9e3779b97f4a7c15ull);
    p[i] = make<T>(integers ? static_cast<float>(static_cast<int>(h % 9) - 4)
                            : static_cast<float>(h >> 8) * 0x1p-23f - 1.0f);
  }
}

// Counts the elements of C that are wrong: different bits for integers, else further from the fp32
// sum than the result's rounding and that of k additions allow. Columns n and up must be poison.
template <class T>
__global__ void compare(const T* a, const T* b, const T* c, tilepost_shape_t s, bool integers,
                        float rounding, unsigned long long* wrong) {
  const int col = blockIdx.x * 32 + threadIdx.x;
  for (int row = blockIdx.y * 8 + threadIdx.y; row < s.m; row += gridDim.y * 8) {
    if (col >= s.ldc) return;
    const T got = c[static_cast<size_t>(row) * s.ldc + col];
    bool ok;
    if (col >= s.n) {
      ok = reinterpret_cast<const uint16_t&>(got) == 0xffff;
    } else {
      float sum = 0, magnitude = 0;
      for (int k = 0; k < s.k; ++k) {
        const float product = widen(a[static_cast<size_t>(row) * s.lda + k]) *
                              widen(b[static_cast<size_t>(col) * s.ldb + k]);
        sum += product;
        magnitude += fabsf(product);
      }
      const float bound = rounding * fabsf(sum) + s.k * 0x1p-24f * magnitude;
      ok = integers ? widen(got) == widen(make<T>(sum)) : fabsf(widen(got) - sum) <= bound;
    }
    if (!ok) atomicAdd(wrong, 1ull);
  }
}

__global__ void count_touched(const uint8_t* p, size_t count, unsigned long long* touched) {
  for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < count; i += gridDim.x * size_t{256})
    if (p[i] != 0xff) atomicAdd(touched, 1ull);
}

// ---- Right?

struct Size {
  int m, n, k;
};
constexpr Size kSizes[] = {
    {1, 8, 8},          {7, 16, 8},         {16, 8, 16},       {63, 72, 64},
    {64, 64, 64},       {65, 120, 72},      {127, 128, 56},    {128, 256, 64},
    {129, 264, 128},    {130, 72, 8},       {255, 248, 120},   {256, 512, 192},
    {257, 520, 200},    {512, 768, 256},    {1000, 1000, 520}, {900, 2056, 4096},
    {2048, 2048, 1024}, {2176, 1032, 8200}, {4224, 4104, 520}, {2056, 4104, 1000},
    {1, 1, 1},          {3, 5, 7},          {65, 33, 17},      {127, 129, 65},
    {200, 300, 101},    {129, 130, 66},     {250, 252, 100},   {1023, 1025, 333},
};

bool serves(const Kernel& k, const Size& s) {
  return s.k % k.load_vector == 0 && s.n % k.store_vector == 0;
}

// Runs one kernel on one size; returns the number of wrong elements and of touched bytes around C.
template <class T>
unsigned long long run_once(const Kernel& kernel, const Size& size, int ctas, bool integers,
                            bool padded) {
  constexpr size_t kGuard = 1 << 16;
  const int pad_k = padded ? 2 * kernel.load_vector : 0, pad_n = padded ? kernel.store_vector : 0;
  const tilepost_shape_t s{size.m, size.n, size.k, size.k + pad_k, size.k + pad_k, size.n + pad_n};
  const size_t count_a = size_t(s.m) * s.lda, count_b = size_t(s.n) * s.ldb;
  const size_t bytes_c = size_t(s.m) * s.ldc * 2;
  uint8_t* guarded;
  T *a, *b;
  unsigned long long *wrong, result;
  CUDA(cudaMalloc(&a, count_a * 2));
  CUDA(cudaMalloc(&b, count_b * 2));
  CUDA(cudaMalloc(&guarded, bytes_c + 2 * kGuard));
  CUDA(cudaMalloc(&wrong, sizeof(*wrong)));
  CUDA(cudaMemset(wrong, 0, sizeof(*wrong)));
  CUDA(cudaMemset(guarded, 0xff, bytes_c + 2 * kGuard));  // NaN in both types
  T* c = reinterpret_cast<T*>(guarded + kGuard);
  static uint64_t seed = 1;
  fill<<<256, 256>>>(a, count_a, seed++, integers);
  fill<<<256, 256>>>(b, count_b, seed++, integers);
  alarm(kDeadlineSeconds);
  Launch(kernel, s, {a, b, c}, ctas)(nullptr);
  CUDA(cudaDeviceSynchronize());
  const dim3 blocks((s.ldc + 31) / 32, std::min((s.m + 7) / 8, 65535));
  compare<<<blocks, dim3(32, 8)>>>(a, b, c, s, integers, kernel.f16 ? 0x1p-11f : 0x1p-8f, wrong);
  count_touched<<<16, 256>>>(guarded, kGuard, wrong);
  count_touched<<<16, 256>>>(guarded + kGuard + bytes_c, kGuard, wrong);
  CUDA(cudaMemcpy(&result, wrong, sizeof(result), cudaMemcpyDeviceToHost));
  alarm(0);
  for (void* p : {(void*)a, (void*)b, (void*)guarded, (void*)wrong}) CUDA(cudaFree(p));
  return result;
}

bool check_kernel(const Kernel& kernel, int sms) {
  int runs = 0, failures = 0;
  for (const Size& size : kSizes) {
    if (!serves(kernel, size)) continue;
    for (int ctas : {sms * kernel.ctas_per_sm, 6}) {
      const bool integers = runs % 3 != 2, padded = runs / 2 % 2;
      const auto wrong = kernel.f16 ? run_once<__half>(kernel, size, ctas, integers, padded)
                                    : run_once<__nv_bfloat16>(kernel, size, ctas, integers, padded);
      ++runs;
      if (!wrong) continue;
      ++failures;
      std::printf("  %s %dx%dx%d, %d CTAs, %s, %s: %llu wrong\n", kernel.name, size.m, size.n,
                  size.k, ctas, integers ? "integers" : "random", padded ? "padded" : "dense",
                  wrong);
    }
  }
  std::printf("%-4s %-28s %3d runs, %d wrong\n", failures ? "FAIL" : "ok", kernel.name, runs,
              failures);
  std::fflush(stdout);
  return failures == 0;
}

// ---- How fast?

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

// Every round runs cuBLAS and every kernel in a new random order, each in a burst of about 3 ms
// after 8 ms of idling: what ran just before changes the chip's clock. Three sets of operands in
// turn, so that L2 does not hold them.
void time_size(const Size& size, int sms) {
  constexpr int kSets = 3, kRounds = 11;
  const tilepost_shape_t s{size.m, size.n, size.k, size.k, size.k, size.n};
  std::vector<Operands> sets(kSets);
  for (int i = 0; i < kSets; ++i) {
    Operands& o = sets[i];
    CUDA(cudaMalloc(&o.a, size_t(s.m) * s.k * 2));
    CUDA(cudaMalloc(&o.b, size_t(s.n) * s.k * 2));
    CUDA(cudaMalloc(&o.c, size_t(s.m) * s.n * 2));
    fill<<<1024, 256>>>(static_cast<__nv_bfloat16*>(o.a), size_t(s.m) * s.k, 2 * i, false);
    fill<<<1024, 256>>>(static_cast<__nv_bfloat16*>(o.b), size_t(s.n) * s.k, 2 * i + 1, false);
  }
  cublasHandle_t cublas;
  void* workspace;
  CUBLAS(cublasCreate(&cublas));
  CUDA(cudaMalloc(&workspace, 64 << 20));
  CUBLAS(cublasSetWorkspace(cublas, workspace, 64 << 20));
  struct Variant {
    std::string name;
    std::function<void(int)> run;
    std::vector<double> ms;
  };
  std::vector<Variant> variants{
      {"cuBLAS",
       [&](int set) {
         const float one = 1, zero = 0;
         CUBLAS(cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, s.n, s.m, s.k, &one, sets[set].b,
                             CUDA_R_16BF, s.k, sets[set].a, CUDA_R_16BF, s.k, &zero, sets[set].c,
                             CUDA_R_16BF, s.n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
       },
       {}}};
  std::vector<std::vector<Launch>> launches;
  launches.reserve(64);
  for (const Kernel& kernel : kKernels) {
    if (!kernel.timed || kernel.f16) continue;
    for (int ctas : {sms, sms / 8 * 8}) {
      launches.emplace_back();
      for (const Operands& o : sets)
        launches.back().emplace_back(kernel, s, o, ctas * kernel.ctas_per_sm);
      auto* l = &launches.back();
      variants.push_back(
          {std::string(kernel.name) + ", " + std::to_string(l->front().grid) + " CTAs",
           [l](int set) { (*l)[set](nullptr); },
           {}});
      if (sms % 8 == 0) break;
    }
  }
  cudaEvent_t begin, end;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  const double flop = 2.0 * s.m * s.n * s.k;
  const int repeats = std::max(3, static_cast<int>(3.0 / (flop / 7e11)));
  std::mt19937 random(7);
  std::vector<size_t> order(variants.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round <= kRounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) {
      alarm(kDeadlineSeconds);
      CUDA(cudaDeviceSynchronize());
      usleep(8000);
      variants[i].run(0);
      CUDA(cudaEventRecord(begin));
      for (int r = 0; r < repeats; ++r) variants[i].run(r % kSets);
      CUDA(cudaEventRecord(end));
      CUDA(cudaEventSynchronize(end));
      float ms;
      CUDA(cudaEventElapsedTime(&ms, begin, end));
      if (round) variants[i].ms.push_back(ms / repeats);
    }
  }
  alarm(0);
  std::printf("%dx%dx%d\n  %-38s %9s %8s %8s\n", s.m, s.n, s.k, "bf16", "us", "TFLOP/s",
              "cuBLAS/x");
  for (const Variant& v : variants) {
    std::vector<double> ratios;
    for (size_t r = 0; r < v.ms.size(); ++r) ratios.push_back(variants[0].ms[r] / v.ms[r]);
    std::printf("  %-38s %9.1f %8.0f %8.3f\n", v.name.c_str(), median(v.ms) * 1e3,
                flop / median(v.ms) / 1e9, median(ratios));
  }
  std::fflush(stdout);
  for (const Operands& o : sets)
    for (void* p : {o.a, o.b, o.c}) CUDA(cudaFree(p));
  CUDA(cudaFree(workspace));
  CUBLAS(cublasDestroy(cublas));
}

}  // namespace

int main(int argc, char** argv) {
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess ||
      (TILEPOST_TEST_SM90 && device.major != 9)) {
    std::printf("skipped: no GPU, or not of the kind this was built for\n");
    return 77;
  }
  const auto wanted = [&](const char* what) {
    return argc < 2 ||
           std::any_of(argv + 1, argv + argc, [&](const char* a) { return !std::strcmp(a, what); });
  };
  const int sms = device.multiProcessorCount;
  std::printf("# %s, %d SMs\n", device.name, sms);
  bool ok = true;
  if (wanted("check"))
    for (const Kernel& kernel : kKernels) ok &= check_kernel(kernel, sms);
  if (ok && wanted("time")) {
    time_size({8192, 8192, 2048}, sms);
    time_size({8192, 8192, 8192}, sms);
  }
  return ok ? 0 : 1;
}
